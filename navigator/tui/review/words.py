"""The lines above the diff, and the details: what is proposed, what the reviewer says, what was checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.cells import cell_len
from textual.app import ComposeResult

from navigator.model.models import CheckResult, Proposal, Review
from navigator.model.states import (
    CheckOutcome,
    DecisionKind,
    LandingState,
    PolicyAction,
    ProposalState,
    TaskState,
    Verdict,
)
from navigator.model.text import plural, safe_line, safe_text, short_model
from navigator.sheet.marks import Kind, head, marks, read_words
from navigator.sheet.variants import standing_lines
from navigator.sheet.writing import look_lines, looks_words
from navigator.tui.review.context import ReviewContext
from navigator.tui.widgets.cells import Piece, clip, cropped, justified, length
from navigator.tui.widgets.markdown import wrapped
from navigator.tui.widgets.page import Line, Page
from navigator.tui.widgets.screen import NavScreen

WIDE = 100
"""Cells from which names are spelled out."""

_CHECKS: dict[CheckOutcome, tuple[str, str]] = {
    CheckOutcome.PASSED: ("✓", "good"),
    CheckOutcome.FAILED: ("✗", "bad"),
    CheckOutcome.SKIPPED: ("–", "muted"),
    CheckOutcome.FAILED_BEFORE: ("≈", "muted"),
    CheckOutcome.UNTESTED: ("–", "muted"),
}
_SAID = {CheckOutcome.UNTESTED: "untested", CheckOutcome.FAILED_BEFORE: "fail as before"}
"""Outcomes that a check's name alone does not say."""
_QUIET_CHECKS = frozenset({"apply", "policy", "edits apply", "path policy"})
"""Checks that are only named when they failed: without them there is no proposal."""


def title_line(context: ReviewContext, shown: Proposal, width: int) -> list[Piece]:
    """Id, project and title; the verdict and the checks at the right."""
    verdict = head(context.known(shown))
    used = f" ({plural(shown.round, 'round')} used)" if shown.round else ""
    end = [
        (verdict.word, verdict.tone),
        (used, "muted"),
        ("   ", ""),
        *checks_pieces(shown.checks, width >= WIDE),
    ]
    if length(end) > width * 2 // 3:
        end = cropped(end, width * 2 // 3)
    about: list[Piece] = [
        (shown.id, "accent"),
        (f" {clip(shown.project, 24)}", "muted"),
        (" · ", "faint"),
        (safe_line(shown.title), "strong"),
    ]
    return justified(about, end, width)


def checks_pieces(checks: Sequence[CheckResult], wide: bool) -> list[Piece]:
    """`✓ syntax  ✓ tests 214 passed`, failures first."""
    shown = [
        check for check in checks if check.name not in _QUIET_CHECKS or check.outcome is CheckOutcome.FAILED
    ]
    shown.sort(key=lambda check: check.outcome is not CheckOutcome.FAILED)
    pieces: list[Piece] = []
    for check in shown:
        glyph, style = _CHECKS[check.outcome]
        word = check.name
        if check.name == "tests" and check.outcome in (CheckOutcome.SKIPPED, CheckOutcome.UNTESTED):
            word = "untested"
        elif check.outcome in _SAID:
            word = f"{check.name} {_SAID[check.outcome]}"
        detail = check.detail.strip().partition("\n")[0] if wide and check.name == "tests" else ""
        if pieces:
            pieces.append(("  ", ""))
        pieces += [(f"{glyph} ", style), (word, style if check.outcome is CheckOutcome.FAILED else "")]
        if detail and cell_len(detail) <= 24:
            pieces.append((f" {detail}", "muted"))
    return pieces or [("no checks", "muted")]


def rounds_line(
    context: ReviewContext, shown: Proposal, width: int, *, place: str, between: bool, chosen: int
) -> list[Piece]:
    """The tabs of rounds and attempts where there are several, what the diff is against, and who wrote and reviewed it.

    Args:
        place: where it is in the queue: `2 of 7`, or "".
        between: the diff is against the round before.
        chosen: how many hunks are chosen.
    """
    end: list[Piece] = [(f"◉ {plural(chosen, 'hunk')} chosen  ", "accent")] if chosen else []
    end.append(("seen" if shown.seen else "not seen", "muted" if shown.seen else "warn"))
    end.append((f"  {place}" if place else "", "muted"))
    tabs = [*tab_pieces(context, shown), ("   ", "")] if len(context.versions) > 1 else []
    if between:
        tabs += [("since ", "muted"), (_before_name(context, shown), "accent"), ("   ", "")]
    return justified([*tabs, *makers(shown, wide=width >= WIDE)], end, width)


def task_lines(context: ReviewContext, shown: Proposal, width: int) -> list[list[Piece]]:
    """What the task asks for, without the line that is the title where that has room."""
    first, _, rest = context.task.text.strip().partition("\n")
    said = rest if first.strip() == shown.title and width >= WIDE else f"{first}\n{rest}"
    return [[(line, "muted")] for line in wrap(said, max(20, width))]


def tab_pieces(context: ReviewContext, shown: Proposal) -> list[Piece]:
    """`r0 ─ r1 ─ [r2]`, attempts apart: `attempt 1 r0 ─ r1  attempt 2 [r0]`."""
    attempts = sorted({version.attempt for version in context.versions})
    pieces: list[Piece] = []
    for attempt in attempts:
        if pieces:
            pieces.append(("  ", ""))
        if len(attempts) > 1:
            pieces.append((f"attempt {attempt + 1} ", "muted"))
        rounds = [version for version in context.versions if version.attempt == attempt]
        for number, version in enumerate(rounds):
            if number:
                pieces.append((" ─ ", "faint"))
            name = f"r{version.round}"
            pieces.append((f"[{name}]", "accent") if version.id == shown.id else (name, "muted"))
    return pieces


def _before_name(context: ReviewContext, shown: Proposal) -> str:
    place = context.index(shown.id)
    if place <= 0:
        return "base"
    before = context.versions[place - 1]
    name = f"r{before.round}"
    return name if before.attempt == shown.attempt else f"attempt {before.attempt + 1} {name}"


def makers(shown: Proposal, *, wide: bool) -> list[Piece]:
    """Who wrote it and who reviewed it."""
    name = _model_name if wide else short_model
    said = [("by ", shown.model)]
    said += [("reviewed by ", one.model) for one in (shown.review, shown.final_review) if one is not None]
    pieces: list[Piece] = []
    for words, model in said:
        if model:
            pieces += [(f"{', ' if pieces else ''}{words}", "muted"), (name(model), "")]
    return pieces


def _model_name(model: str) -> str:
    return model.removeprefix("rehearsal/").rpartition("/")[2]


def warning_lines(
    context: ReviewContext, shown: Proposal, overlaps: Sequence[str], width: int
) -> list[list[Piece]]:
    """What to know before deciding, one line each, the most serious first."""
    refused = [item for item in shown.policy if item.action is PolicyAction.REFUSE]
    asked = [item for item in shown.policy if item.action is PolicyAction.CONFIRM]
    lines: list[list[Piece]] = [
        *([("⚠ refused: ", "bad"), (f"{item.path}  {item.detail}", "bad")] for item in refused),
        *([("⚠ to confirm: ", "bad"), (f"{item.path}  {item.detail or item.rule}", "bad")] for item in asked),
    ]
    lines += _state_lines(context, shown)
    if why := why_it_waits(context, shown):
        lines.append([("≡ ", "accent"), (_first_line(why), "")])
    lines += [
        [("✗ ", "bad"), (f"{check.name}: ", "bad"), (_first_line(check.detail), "")]
        for check in shown.failed_checks
    ]
    lines += _review_lines(shown.review, context.worth.get(shown.id, ""))
    notes: list[Piece] = [
        (mark.words, mark.tone)
        for mark in marks(context.known(shown, overlaps))
        if mark.kind not in _SHOWN_OTHERWISE
    ]
    notes += [(words, "muted") for words in _others(shown)]
    notes += [(words, "muted") for words in context.written.get(shown.id, ())]
    if shown.review is not None and shown.review.parts > 1:
        notes.append((f"reviewed in {shown.review.parts} parts", "muted"))
    if notes:
        joined: list[Piece] = []
        for note in notes:
            joined += [("   ", ""), note] if joined else [note]
        lines.append(joined)
    return [cropped([(safe_line(text), style) for text, style in line], width) for line in lines]


_SHOWN_OTHERWISE = frozenset(
    {Kind.REFUSED, Kind.CONFIRM, Kind.FAILED, Kind.REVISE, Kind.UNREVIEWED, Kind.UNTESTED, Kind.ADVICE}
    | {Kind.EXISTING, Kind.VARIANT, Kind.UNSEEN}
)
"""Marks that the title, the line of rounds or a line of their own shows with more words."""


def _review_lines(review: Review | None, worth: str = "") -> list[list[Piece]]:
    """Why there is no verdict, what a REVISE is worth, and where a later review contradicts an earlier one."""
    if review is None:
        return []
    lines: list[list[Piece]] = []
    if review.verdict is Verdict.UNREVIEWED and review.summary:
        lines.append([("? unreviewed: ", "warn"), (_first_line(review.summary), "")])
    if said := read_words(review.hunks, len(review.unread)):
        lines.append([("! ", "warn"), (f"{said}; not {', '.join(review.unread)}", "")])
    if review.advice:
        lines.append([("! advice: ", "warn"), (review.advice, "")])
    elif worth:
        lines.append([(worth, "muted")])
    return lines


def _others(shown: Proposal) -> list[str]:
    """The readings beside the reviewer's newest one: `final review: REVISE, 2 findings`."""
    readings = {
        "first reading": shown.first_review,
        "final review": shown.final_review,
    }
    return [
        f"{name}: {review.verdict.value}"
        + (f", {plural(len(review.findings), 'finding')}" if review.findings else "")
        for name, review in readings.items()
        if review is not None
    ]


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]


def why_it_waits(context: ReviewContext, shown: Proposal) -> str:
    """The task's reason, such as that its writer keeps the change; "" for none, and for another round."""
    return context.task.reason if context.waiting and shown.id == context.current.id else ""


def _state_lines(context: ReviewContext, shown: Proposal) -> list[list[Piece]]:
    """The state of a proposal that does not simply wait for a decision."""
    landing, decision = shown.landing, shown.decision
    if landing is not None and landing.state is LandingState.LANDED:
        where = landing.ref.removeprefix("refs/heads/")
        moved = "  transplanted onto the branch's tip" if landing.transplanted else ""
        return [[("✓ landed ", "good"), (f"{landing.commit[:10]} on {where}", ""), (moved, "muted")]]
    if landing is not None and landing.state is LandingState.REFUSED:
        return [[("⚠ approved, not landed: ", "bad"), (landing.reason, "")]]
    if landing is not None and landing.state is LandingState.UNDONE:
        return [[("↶ landing undone", "warn"), (f": {landing.reason}" if landing.reason else "", "muted")]]
    if shown.existing:
        task = context.task
        rest = (
            "nothing to land" if context.waiting else f"{task.reason or task.state.value.replace('_', ' ')}"
        )
        about = " · ".join(filter(None, (shown.summary, rest)))
        return [[("existing change ", "accent"), (task.ref, ""), (f" · {about}", "muted")]]
    if decision is not None:
        word = {
            DecisionKind.APPROVE: "✓ approved, not landed yet",
            DecisionKind.REJECT: "✗ rejected",
            DecisionKind.SEND_BACK: "↺ sent back",
        }[decision.kind]
        note = _first_line(decision.note)
        return [
            [
                (word, "good" if decision.kind is DecisionKind.APPROVE else "warn"),
                (f": {note}" if note else "", "muted"),
            ]
        ]
    if shown.state is ProposalState.SUPERSEDED:
        return [[(f"superseded by {context.current.id}; decide on that one", "muted")]]
    if context.task.state is not TaskState.AWAITING_APPROVAL:
        state = context.task.state.value.replace("_", " ")
        return [[(f"{context.task.id} is {state}; it is not waiting for your decision", "muted")]]
    return []


# Everything about one proposal that is not its diff: the task, the checks' output, policy, the reviewer's words.


Section = tuple[str, str]

_MOST = 110
"""Cells of a line at most, so that it is easy to read."""


class DetailsScreen(NavScreen):
    """Sections of text to read; esc leaves it."""

    SCOPE = "help"
    TITLE = "details"
    AUTO_FOCUS = "#details"

    def __init__(self, context: ReviewContext, shown: Proposal, overlaps: Sequence[str]) -> None:
        super().__init__()
        self._sections = list(sections(context, shown, overlaps))

    def compose_body(self) -> ComposeResult:
        """One page."""
        yield Page(self._lines, id="details")

    def _lines(self, width: int) -> list[Line]:
        lines: list[Line] = []
        for title, body in self._sections:
            lines += [[], *wrapped([(safe_line(title), "accent")], min(width, _MOST))]
            for line in safe_text(body).split("\n"):
                lines += wrapped([(line.expandtabs(4), "")], min(width, _MOST))
        return lines


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
    if looks := context.looks.get(shown.id, ()):
        yield f"before it wrote: {looks_words(looks)}", "\n".join(look_lines(looks))
    if found := marks(context.known(shown, overlaps)):
        yield "marks", "\n".join(mark.words for mark in found)
    written = (
        ""
        if shown.existing
        else f"\n{shown.usage.completion_tokens:,} tokens written by {shown.model} with {shown.prompt_version}"
        f" in {shown.usage.seconds:.1f} s"
    )
    yield (
        "origin",
        f"base {shown.base_commit}\ntree {shown.tree}\nbatch {shown.batch or '–'}{written}",
    )


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
