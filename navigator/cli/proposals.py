"""`navigator proposals` and `navigator diff`: what the models proposed and what the reviewer said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from navigator.actions.base import (
    Subject,
    plural,
)
from navigator.actions.notes import MarkSeen
from navigator.cli import output
from navigator.cli.session import (
    act,
    complete_projects,
    complete_proposals,
    known_project,
    reading,
    state_paths,
)
from navigator.model.diff import FileDiff, choices, what_happens
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.models import CheckResult, Finding, Proposal, Review
from navigator.model.records import JudgementCount
from navigator.model.states import CheckOutcome, ProposalState, Role, Verdict
from navigator.model.text import safe_line
from navigator.sheet.marks import Kind, facts_of, head, labels, marks, waiting_proposals
from navigator.sheet.waiting import mark_document, row_head, tips, waiting_document, what_to_do
from navigator.sheet.waiting import waiting as waits_for_you
from navigator.sheet.writing import uncertainty_words
from navigator.store.reads.cards import Card

_COLOURS = {"APPROVE": "green", "REVISE": "yellow", "UNREVIEWED": "magenta"} | {
    "bad": "red",
    "warn": "yellow",
    "accent": "cyan",
    "muted": "bright_black",
}


@click.command()
@click.option(
    "--state",
    type=click.Choice([state.value for state in ProposalState]),
    default=None,
    help="Only those in one state.",
)
@click.option("--all", "everything", is_flag=True, help="List all proposals.")
@click.option(
    "--waiting", is_flag=True, help="Only those waiting for your decision (the default without --json)."
)
@click.option(
    "--project", "name", default=None, shell_complete=complete_projects, help="Only those of one project."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: all proposals, unless --state or --waiting is given."
)
def proposals(state: str | None, everything: bool, waiting: bool, name: str | None, as_json: bool) -> None:
    """List what waits for you: proposals, and tasks to read, to try again or to put away."""
    if bool(state) + everything + waiting > 1:
        raise UsageError("Use only one of --state, --all and --waiting.")
    states = {ProposalState(state)} if state else None
    only_waiting = waiting or not (state or everything or as_json)
    with reading() as store:
        known_project(store, name)
        items = waits_for_you(store, name, tips(store))
        found = (
            waiting_proposals(store, name) if only_waiting else store.proposals(states=states, project=name)
        )
        pairs = list(zip(found, facts_of(store, [one.id for one in found], tips(store)), strict=True))
        said = {"rehearsal": store.rehearsal}
    if as_json:
        documents = [_marked(*pair) | said for pair in pairs]
        output.print_json({"proposals": documents, "waiting": [waiting_document(card) for card in items]})
    elif only_waiting:
        _show_waiting(items)
    elif not pairs:
        output.say("No proposals. `navigator run` makes them from queued tasks.")
    else:
        output.emit(output.table(_HEADS, [_proposal_row(*pair) for pair in pairs], right=(5, 6)))


_HEADS = ("proposal", "project", "says", "round", "batch", "", "", "title", "")


def _marked(proposal: Proposal, of: Card) -> dict[str, Any]:
    """A proposal as JSON has it, with its marks."""
    beside = {"overlaps": list(of.overlaps), "marks": [mark_document(mark) for mark in marks(of)]}
    return proposal.model_dump(mode="json") | beside


def _show_waiting(items: Sequence[Card]) -> None:
    if not items:
        output.say(
            "Nothing waits for you. `navigator proposals --all` lists all; `navigator run` makes more."
        )
        return
    rows = []
    for card in items:
        notes = [f"variant {card.variant}/{card.variants}"] if card.variants > 1 else []
        notes += [words for words, _ in labels(card)]
        notes += ["not seen"] if card.open and not card.seen else []
        size = (f"+{card.added}", f"−{card.removed}") if card.proposal else ("", "")
        round_ = f"r{card.proposal_round}" if card.proposal else ""
        about_it = (card.id, card.project, row_head(card).word, round_, card.batch)
        rows.append((*about_it, *size, card.title, ", ".join(notes)))
    output.emit(output.table(_HEADS, rows, right=(5, 6)))
    for card in items:
        if not card.open or card.existing:
            why = f"{safe_line(card.reason).rstrip('.')}. " if card.reason else ""
            output.say(f"{card.id}: {why}{what_to_do(card)}")


def _proposal_row(proposal: Proposal, of: Card) -> tuple[object, ...]:
    state = proposal.landing.state.value if proposal.landing else proposal.state.value
    notes = ", ".join([state, *(words for words, _ in labels(of))])
    size = (f"+{proposal.added}", f"−{proposal.removed}")
    about_it = (proposal.id, proposal.project, head(of).word, f"r{proposal.round}", proposal.batch)
    return (*about_it, *size, proposal.title, notes)


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="P…", shell_complete=complete_proposals)
@click.option(
    "--against",
    default=None,
    metavar="P…",
    shell_complete=complete_proposals,
    help="Compare with another proposal instead of the base.",
)
@output.JSON
def diff(ids: tuple[str, ...], against: str | None, as_json: bool) -> None:
    """Show a proposal's change against its base, with the findings below the lines they quote."""
    from navigator.git.private import PrivateRepo
    from navigator.sheet.statistics.reviewer import worth_of
    from navigator.sheet.writing import agent_words, looks_of, looks_words, mended_words, turns_of

    paths = state_paths()
    documents: list[dict[str, Any]] = []
    looked: list[str] = []
    with reading(paths) as store:
        other = store.proposal(against) if against else None
        for identifier in ids:
            proposal = store.proposal(identifier)
            if other is not None and other.project_id != proposal.project_id:
                raise Conflict(f"{proposal.id} and {other.id} are of different projects.")
            private = PrivateRepo.open(paths.private, store.project(proposal.project_id))
            (known,) = facts_of(store, [proposal.id], tips(store, {proposal.project_id}))
            files = private.diff(other.tree if other else proposal.base_commit, proposal.tree)
            if as_json:
                against_id = other.id if other else None
                told = {
                    "against": against_id,
                    "files": [_file_json(file, n) for n, file in enumerate(files, 1)],
                }
                documents.append(
                    {"proposal": _marked(proposal, known) | {"rehearsal": store.rehearsal}} | told
                )
                continue
            worth = worth_of(store, proposal.review) if proposal.review else ""
            made = (
                looks_words(looks_of(store, proposal)),
                agent_words(turns_of(store, proposal)),
                mended_words(store, proposal),
            )
            if store.rehearsal:
                output.say("REHEARSAL", bold=True)
            said = [words for words in made if words]
            newer = Subject.of(store, proposal).newer
            _show_diff(proposal, files, other, known, said, worth, store.judgement_counts(), newer)
            if other is None and not proposal.seen:
                looked.append(proposal.id)
    if as_json:
        output.print_json({"diffs": documents})
    elif looked:
        _note_seen(looked)


def _note_seen(looked: Sequence[str]) -> None:
    """All of it was shown: that is looking, as on the screens. Where it cannot be kept, that is said."""
    try:
        act(MarkSeen(ids=tuple(looked)))
    except NavigatorError as error:
        output.note(f"Not marked as seen: {error}")


def _file_json(file: FileDiff, place: int) -> dict[str, Any]:
    """One file of a diff; `labels` are what `navigator split` can choose, in order."""
    counts = {"path": file.path, "added": file.added, "removed": file.removed}
    return asdict(file) | counts | {"labels": list(choices(file, place))}


def _show_diff(
    proposal: Proposal,
    files: Sequence[FileDiff],
    other: Proposal | None,
    known: Card,
    made: Sequence[str],
    worth: str,
    judged: Sequence[JudgementCount],
    newer: str,
) -> None:
    output.say(f"{proposal.id}  {proposal.project}  {proposal.title}", bold=True)
    _show_review(proposal, known, made, worth, newer)
    from navigator.sheet.writing import record_words

    findings = [
        (number, finding, record_words(judged, proposal.project, finding))
        for number, (_, _, finding) in enumerate(proposal.findings if other is None else (), 1)
    ]
    for number, finding, record in findings:
        if not finding.anchored:
            output.say(f"  does not count, {finding.why_unanchored}:", fg="magenta")
            _say_finding(number, finding, record)
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
                at = line.old if line.kind == "-" else line.new
                colour = {"+": "green", "-": "red"}.get(line.kind)
                output.say(
                    f"{at:>6} {line.kind} {safe_line(line.text)}", **({"fg": colour} if colour else {})
                )
                side = "old" if line.kind == "-" else "new"
                for number, finding, record in findings:
                    at_line = finding.path == file.path and finding.line == at
                    if finding.anchored and at_line and (finding.side == "old") == (side == "old"):
                        _say_finding(number, finding, record)
    shown = {
        (file.path, line.old if line.kind == "-" else line.new)
        for file in files
        for hunk in file.hunks
        for line in hunk.lines
    }
    for number, finding, record in findings:
        if finding.anchored and (finding.path, finding.line) not in shown:
            output.say(f"\n{finding.path}:{finding.line}  {finding.quote}")
            _say_finding(number, finding, record)


def checks_words(proposal: Proposal) -> str:
    """The checks' outcomes in one line."""
    return "  ".join(f"{check.name} {_check_words(check)}" for check in proposal.checks) or "none"


def _check_words(check: CheckResult) -> str:
    if check.outcome is not CheckOutcome.FAILED_BEFORE:
        return check.outcome.value
    if check.name != "tests":
        return "failed before"
    from navigator.sandbox.suite import tests_words

    return tests_words(check)


def _show_review(proposal: Proposal, known: Card, made: Sequence[str], worth: str, newer: str) -> None:
    state = proposal.landing.state.value if proposal.landing else proposal.state.value
    state += f" by {newer}" if newer else ""
    batch = f", batch {proposal.batch}" if proposal.batch else ""
    output.say(f"  round {proposal.round}, {state}{batch}; checks: {checks_words(proposal)}")
    for words in filter(None, (uncertainty_words(proposal), *made)):
        output.say(f"  {words}")
    for mark in marks(known):
        if mark.kind not in (Kind.REVISE, Kind.UNSEEN):
            output.say(f"  {_SIGNS[mark.tone]} {safe_line(mark.words)}", fg=_COLOURS[mark.tone])
    readings = (proposal.final_review, proposal.review, proposal.first_review, proposal.own_review)
    found = [review for review in readings if review is not None]
    for review in sorted(found, key=lambda one: one.verdict is not Verdict.REVISE):
        _show_reading(review, first=review is proposal.first_review)
    last = proposal.review
    if last is not None and last.verdict is Verdict.UNREVIEWED:
        output.say("  Not reviewed: read it as you would read a patch from a stranger.")
    elif last is not None and worth and not last.advice and last.verdict is Verdict.REVISE:
        output.say(f"  {worth}")


_SIGNS = {"bad": "✗", "warn": "!", "accent": "·", "muted": "·"}
_READERS = {Role.REVIEWER: "", Role.FINAL: "final model: ", Role.GENERATOR: "writer's own review: "}


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
    if review.read_words:
        output.say(f"  {review.read_words}; not {', '.join(review.unread)}", fg="yellow")
    if review.summary:
        output.say(f"  {review.summary}")


def _say_finding(number: int, finding: Finding, record: str) -> None:
    from navigator.sheet.writing import lines_below

    head = f"       ┃ {number}. {finding.severity.value} · {finding.criterion.value} · {finding.kind.value}"
    head += " · remark (does not count)" if finding.remark else ""
    output.say(head, fg="yellow", bold=True)
    output.say(f"       ┃ {safe_line(finding.message)}")
    if finding.trigger:
        output.say(f"       ┃ when: {safe_line(finding.trigger)}")
    for line in filter(None, (*lines_below(finding), record)):
        output.say(f"       ┃ {safe_line(line)}", fg="cyan")
