"""Everything about one proposal that is not its diff: the task, the checks' output, policy, the reviewer's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from navigator.model.models import Proposal, Review
from navigator.model.states import PolicyAction
from navigator.model.text import safe_text
from navigator.sheet.marks import marks
from navigator.sheet.variants import standing_lines
from navigator.sheet.waiting import about, reading_seconds, reading_words
from navigator.sheet.writing import look_lines, looks_words, uncertainty_words
from navigator.tui.keys.registry import bindings_of
from navigator.tui.review.context import ReviewContext
from navigator.tui.review.words import why_it_waits

Section = tuple[str, str]


class DetailsDialog(ModalScreen[None]):
    """Sections of text to read."""

    CSS_PATH = "details.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("reading")

    def __init__(self, context: ReviewContext, shown: Proposal, overlaps: Sequence[str]) -> None:
        super().__init__()
        self._sections = list(sections(context, shown, overlaps))

    def compose(self) -> ComposeResult:
        """Title and body of each section."""
        with VerticalScroll():
            for title, body in self._sections:
                yield Static(Content(safe_text(title)), classes="title")
                yield Static(Content(safe_text(body)), classes="body")

    def on_mount(self) -> None:
        """Keys scroll."""
        self.query_one(VerticalScroll).focus()

    def action_leave(self) -> None:
        """Back."""
        self.dismiss()

    action_details = action_leave

    def action_down(self) -> None:
        """A line down."""
        self.query_one(VerticalScroll).scroll_relative(y=1, animate=False)

    def action_up(self) -> None:
        """A line up."""
        self.query_one(VerticalScroll).scroll_relative(y=-1, animate=False)


def sections(context: ReviewContext, shown: Proposal, overlaps: Sequence[str]) -> Iterator[Section]:
    """The details, as titles and bodies."""
    task = context.task
    files = f"\nfiles: {', '.join(task.files)}" if task.files else ""
    what = f"review of {task.ref}" if shown.existing else f"{task.kind.value} · {task.complexity.value}"
    yield f"{task.id}  {what}", f"{task.text.strip()}{files}"
    if context.variants:
        yield "variants, the best first", "\n".join(standing_lines(context.variants))
    if why := why_it_waits(context, shown):
        yield "why the change is kept", why
    if task.note:
        yield "your note to this attempt", task.note
    if shown.policy:
        yield (
            "path policy",
            "\n".join(
                f"{'refused' if item.action is PolicyAction.REFUSE else 'to confirm'}: {item.path}  {item.detail or item.rule}"
                for item in shown.policy
            ),
        )
    for check in shown.checks:
        detail = check.detail.strip()
        was = f"; on the base: {check.before.value.replace('_', ' ')}" if check.before else ""
        body = f"{check.outcome.value.replace('_', ' ')} in {check.seconds:.1f} s{was}"
        yield f"check {check.name}", f"{body}\n{detail}" if detail else body
    for review in (shown.review, shown.first_review, shown.final_review):
        if review is not None:
            yield _review_section(review, first=review is shown.first_review)
            yield from _proving_tests(review)
    if worth := context.worth.get(shown.id):
        yield "the exam of this reviewer", worth
    if looks := context.looks.get(shown.id, ()):
        yield f"before it wrote: {looks_words(looks)}", "\n".join(look_lines(looks))
    if shown.own_review is not None:
        yield _own_review(shown.own_review)
    of = context.known(shown, overlaps)
    if found := marks(of):
        yield "marks", "\n".join(mark.words for mark in found)
    yield "effort", f"{about(reading_seconds(of))} to read and decide, estimated from: {reading_words(of)}"
    written = (
        ""
        if shown.existing
        else f"\n{shown.usage.completion_tokens:,} tokens written by {shown.model} with {shown.prompt_version}"
        f" in {shown.usage.seconds:.1f} s"
    )
    yield (
        "origin",
        f"base {shown.base_commit}\ntree {shown.tree}\nbatch {shown.batch or '–'}{written}"
        + (f"\n{words}" if (words := uncertainty_words(shown)) else ""),
    )


def _own_review(review: Review) -> Section:
    """What the writer says of its own change, with its findings, which are shown nowhere else."""
    lines = [review.summary or "no summary"]
    for finding in review.findings:
        where = f"{finding.path}:{finding.line}" if finding.line else finding.path or "nowhere in the diff"
        loose = "" if finding.anchored else f", {finding.why_unanchored}"
        lines.append(f"{finding.severity.value} at {where}{loose}: {finding.message}")
    return f"writer's own review (does not count) {review.model}  {review.verdict.value}", "\n".join(lines)


def _proving_tests(review: Review) -> Iterator[Section]:
    """The tests that were to prove findings, with what they said when they failed."""
    from navigator.sheet.writing import reproduction_words

    for number, finding in enumerate(review.findings, 1):
        made = finding.reproduction
        if made is not None and made.text:
            failure = f"\n\n{made.failure}" if made.failure else ""
            yield (
                f"test of finding {number}  {made.path}",
                f"{reproduction_words(finding)}\n\n{made.text.strip()}{failure}",
            )


def _review_section(review: Review, *, first: bool) -> Section:
    lines = [review.summary or "no summary"]
    if review.stated_verdict is not None and review.stated_verdict is not review.verdict:
        which = "reproduced" if review.block_on == "reproduced" else "anchored"
        lines.append(
            f"The reviewer stated {review.stated_verdict.value}; its {which} findings make it {review.verdict.value}."
        )
    for entry in review.addressed:
        word = "met" if entry.get("met") else "not met"
        lines.append(f"finding {entry.get('finding')} of the round before: {word}. {entry.get('why', '')}")
    name = "first reading: " if first else ""
    title = f"{name}{review.role.value} {review.model}  {review.prompt_version}  {review.verdict.value}"
    return title, "\n".join(lines)
