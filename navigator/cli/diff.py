"""`navigator diff`: a proposal's change, with what the reviewer said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from navigator.cli import output, session
from navigator.cli.command import ProposalId, ProposalIds, command, switch_given
from navigator.cli.proposals import marked_document
from navigator.git.private import PrivateRepo
from navigator.model.diff import FileDiff, choices, what_happens
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.states import ProposalState, Role, Verdict
from navigator.model.text import plural, safe_line
from navigator.sandbox.names import check_words
from navigator.sheet.marks import Kind, facts_of, marks, read_words
from navigator.sheet.waiting import tips
from navigator.sheet.writing import (
    agent_words,
    lines_below,
    looks_of,
    looks_words,
    numbered,
    record_words,
    turns_of,
)
from navigator.store.reads.proposals import ProposalReads

if TYPE_CHECKING:
    from navigator.model.models import Finding, Proposal, Review
    from navigator.store.reads.cards import Card

_COLOURS = {"APPROVE": "green", "REVISE": "yellow", "UNREVIEWED": "magenta"} | {
    "bad": "red",
    "warn": "yellow",
    "accent": "cyan",
    "muted": "bright_black",
}


@command()
def diff(ids: ProposalIds, *, against: ProposalId | None = None) -> None:
    """Show a proposal's change against its base, with the findings below the lines they quote.

    Args:
        against: Compare with another proposal instead of the base.
    """
    paths = session.state_paths()
    documents: list[dict[str, Any]] = []
    with session.glancing(ProposalReads) as store:
        other = store.proposal(against) if against else None
        shown = [store.proposal(identifier) for identifier in ids]
        for proposal in shown:
            if other is not None and other.project_id != proposal.project_id:
                raise Conflict(f"{proposal.id} and {other.id} are of different projects.")
            private = PrivateRepo.to_read(paths.private, store.project_of(proposal))
            (known,) = facts_of(store, [proposal.id], tips(store, {proposal.project_id}))
            files = private.diff(other.tree if other else proposal.base_commit, proposal.tree)
            if switch_given("--json"):
                with session.reading() as models:  # a document has every field
                    found = marked_document(models.proposal(proposal.id), known)
                documents.append(
                    {
                        "proposal": found | {"rehearsal": store.rehearsal},
                        "against": other.id if other else None,
                        "files": [_file_json(file, number) for number, file in enumerate(files, 1)],
                    }
                )
            else:
                _show_diff(store, proposal, known, files, other)
    if switch_given("--json"):
        output.print_json({"diffs": documents})
    elif other is None and (looked := [one.id for one in shown if not one.seen]):
        _note_seen(looked)


def _note_seen(looked: Sequence[str]) -> None:
    """All of it was shown: that is looking, as on the screens. Where it cannot be kept, that is said."""
    from navigator.actions.notes import MarkSeen

    try:
        session.act(MarkSeen(ids=tuple(looked)))
    except NavigatorError as error:
        output.note(f"Not marked as seen: {error}")


def _file_json(file: FileDiff, place: int) -> dict[str, Any]:
    """One file of a diff; `labels` are what `navigator split` can choose, in order."""
    counts = {"path": file.path, "added": file.added, "removed": file.removed}
    return asdict(file) | counts | {"labels": list(choices(file, place))}


def _show_diff(
    store: ProposalReads, proposal: Proposal, known: Card, files: Sequence[FileDiff], other: Proposal | None
) -> None:
    """A proposal against its base, with what was said of it; or against another proposal."""
    if store.rehearsal:
        output.say("REHEARSAL", bold=True)
    output.say(f"{proposal.id}  {proposal.project}  {proposal.title}", bold=True)
    _show_review(store, proposal, known)
    judged = store.judgement_counts()
    findings = [
        (number, finding, record_words(judged, proposal.project, finding))
        for number, (_, _, finding) in enumerate(numbered(proposal) if other is None else (), 1)
    ]
    for number, finding, record in findings:
        if not finding.anchored:
            output.say(f"  does not count, {finding.unanchored}:", fg="magenta")
            _say_finding(number, finding, record)
    left = [each for each in findings if each[1].anchored]
    if other is not None and not files:
        output.say(f"\nNo difference from {other.id}.")
    for place, file in enumerate(files, 1):
        title = f"{file.old_path} => {file.new_path}" if file.status.startswith("R") else file.path
        output.say(f"\n{safe_line(title)}  +{file.added} −{file.removed}", bold=True)
        if file.binary:
            output.say("  (binary)")
        if not file.hunks:
            output.say(f"  F{place} @@ {what_happens(file)}", fg="cyan")
        for hunk in file.hunks:
            output.say(f"  {hunk.label} @@ {safe_line(hunk.section)}", fg="cyan")
            for line in hunk.lines:
                old = line.kind == "-"
                at = line.old if old else line.new
                colour = {"+": {"fg": "green"}, "-": {"fg": "red"}}.get(line.kind, {})
                output.say(f"{at:>6} {line.kind} {safe_line(line.text)}", **colour)
                here = (file.path, at, old)
                for each in [one for one in left if _place(one[1]) == here]:
                    _say_finding(*each)
                    left.remove(each)
    for number, finding, record in left:
        output.say(f"\n{finding.path}:{finding.line}  {finding.quote}")
        _say_finding(number, finding, record)


def _place(finding: Finding) -> tuple[str, int | None, bool]:
    return finding.path, finding.line, finding.side == "old"


def _show_review(store: ProposalReads, proposal: Proposal, known: Card) -> None:
    """How it was made, its checks and marks, and what every reader said."""
    state = proposal.landing.state.value if proposal.landing else proposal.state.value
    if proposal.state is ProposalState.SUPERSEDED and (newer := store.replaced_by(proposal)):
        state += f" by {newer}"
    batch = f", batch {proposal.batch}" if proposal.batch else ""
    checks = "  ".join(f"{check.name} {check_words(check)}" for check in proposal.checks) or "none"
    output.say(f"  round {proposal.round}, {state}{batch}; checks: {checks}")
    made = (
        looks_words(looks_of(store, proposal)),
        agent_words(turns_of(store, proposal)),
    )
    for words in filter(None, made):
        output.say(f"  {words}")
    for mark in marks(known):
        if mark.kind not in (Kind.REVISE, Kind.UNSEEN):
            output.say(f"  {_SIGNS[mark.tone]} {safe_line(mark.words)}", fg=_COLOURS[mark.tone])
    readings = (proposal.final_review, proposal.review, proposal.first_review)
    found = [review for review in readings if review is not None]
    for review in sorted(found, key=lambda one: one.verdict is not Verdict.REVISE):
        _show_reading(review, first=review is proposal.first_review)
    last = proposal.review
    if last is not None and last.verdict is Verdict.UNREVIEWED:
        output.say("  Not reviewed: read it as you would read a patch from a stranger.")
    elif last is not None and not last.advice and last.verdict is Verdict.REVISE:
        output.say(f"  {_worth(store, last)}".rstrip())


def _worth(store: ProposalReads, review: Review) -> str:
    """What a REVISE of its reviewer is worth; "" where that was not examined."""
    if not store.is_examined(review.model):
        return ""
    from navigator.figures.reviewer import scores, worth_of

    with session.reading() as models:
        return worth_of(scores(models), review)


_SIGNS = {"bad": "✗", "warn": "!", "accent": "·", "muted": "·"}
_READERS = {Role.REVIEWER: "", Role.FINAL: "final model: "}


def _show_reading(review: Review, *, first: bool) -> None:
    """One reader's verdict, with what it said itself, and its summary."""
    stated = review.stated_verdict
    differs = f" (it said {stated.value})" if stated and stated is not review.verdict else ""
    word = output.style(review.verdict.value, fg=_COLOURS[review.verdict.value], bold=True)
    parts = f", in {review.parts} parts" if review.parts > 1 else ""
    count = f", {plural(len(review.findings), 'finding')}" if review.role is not Role.REVIEWER else ""
    who = "first reading: " if first else _READERS[review.role]
    output.emit(f"  {who}{word}{differs} by {safe_line(review.model)}, {review.prompt_version}{parts}{count}")
    if review.advice:
        output.say(f"  advice: {review.advice}", fg="yellow")
    if said := read_words(review.hunks, len(review.unread)):
        output.say(f"  {said}; not {', '.join(review.unread)}", fg="yellow")
    if review.summary:
        output.say(f"  {review.summary}")


def _say_finding(number: int, finding: Finding, record: str) -> None:
    head = f"       ┃ {number}. {finding.severity.value} · {finding.criterion.value} · {finding.kind.value}"
    head += " · remark (does not count)" if finding.remark else ""
    output.say(head, fg="yellow", bold=True)
    output.say(f"       ┃ {safe_line(finding.message)}")
    if finding.trigger:
        output.say(f"       ┃ when: {safe_line(finding.trigger)}")
    for line in filter(None, (*lines_below(finding), record)):
        output.say(f"       ┃ {safe_line(line)}", fg="cyan")
