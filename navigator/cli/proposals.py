"""`navigator proposals` and `navigator diff`: what the models proposed and what the reviewer said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from navigator.cascade.views.uncertainty import uncertainty_words
from navigator.cli import output
from navigator.cli.session import complete_projects, complete_proposals, known_project, reading, state_paths
from navigator.model.diff import FileDiff, choices, what_happens
from navigator.model.errors import Conflict, UsageError
from navigator.model.models import CheckResult, Finding, Proposal
from navigator.model.states import CheckOutcome, ProposalState, Verdict
from navigator.model.text import safe_line

_COLOURS = {"APPROVE": "green", "REVISE": "yellow", "UNREVIEWED": "magenta"}


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
    "--sort",
    type=click.Choice(["oldest", "effort"]),
    default="oldest",
    show_default=True,
    help="The order; effort: what is expected to be read and decided fastest comes first.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON: all proposals, unless --state or --waiting is given."
)
def proposals(
    state: str | None, everything: bool, waiting: bool, name: str | None, sort: str, as_json: bool
) -> None:
    """List the proposals that wait for your decision."""
    from navigator.cascade.views.effort import by_proposal_effort
    from navigator.cascade.views.inbox import waiting_proposals, with_overlaps

    if bool(state) + everything + waiting > 1:
        raise UsageError("Use only one of --state, --all and --waiting.")
    states = {ProposalState(state)} if state else None
    only_waiting = waiting or not (state or everything or as_json)
    with reading() as store:
        known_project(store, name)
        found = (
            waiting_proposals(store, name)
            if only_waiting
            else with_overlaps(store.proposals(states=states, project=name))
        )
        rehearsal = store.rehearsal
    if sort == "effort":
        found = by_proposal_effort(found)
    if as_json:
        said = {"rehearsal": rehearsal}
        output.print_json({"proposals": [proposal.model_dump(mode="json") | said for proposal in found]})
        return
    if not found and only_waiting:
        output.say(
            "No proposals are waiting for you. `navigator proposals --all` lists all; `navigator run` makes more."
        )
        return
    if not found:
        output.say("No proposals. `navigator run` makes them from queued tasks.")
        return
    heads = ("proposal", "project", "verdict", "round", "state", "", "", "title", "")
    output.emit(
        output.table(heads, [_row(proposal, timed=sort == "effort") for proposal in found], right=(5, 6))
    )


def _row(proposal: Proposal, *, timed: bool = False) -> tuple[object, ...]:
    from navigator.cascade.views.effort import about, effort_of

    notes = [about(effort_of(proposal).seconds)] if timed else []
    notes += ["existing change"] if proposal.existing else []
    notes += [f"variant {proposal.variant} of {proposal.variant_of}"] if proposal.variant_of else []
    notes += [f"part of {proposal.parent}"] if proposal.parent else []
    notes += [
        f"{check.name} {_outcome(check)}"
        for check in proposal.checks
        if check.outcome is CheckOutcome.FAILED_BEFORE
    ]
    notes += [f"overlaps {', '.join(proposal.overlaps)}"] if proposal.overlaps else []
    notes += [f"! {item.rule}" for item in proposal.policy]
    notes += ["advice only"] if proposal.review and proposal.review.advice else []
    return (
        proposal.id,
        proposal.project,
        verdict_word(proposal),
        f"r{proposal.round}",
        proposal.landing.state.value if proposal.landing else proposal.state.value,
        f"+{proposal.added}",
        f"−{proposal.removed}",
        proposal.title,
        " ".join(notes),
    )


def verdict_word(proposal: Proposal) -> str:
    """APPROVE, REVISE, UNREVIEWED, or a dash before the first review."""
    return proposal.review.verdict.value if proposal.review else "–"


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
    from navigator.cascade.exam.worth import worth_of
    from navigator.cascade.views.agents import agent_words, turns_of
    from navigator.cascade.views.looks import looks_of, looks_words
    from navigator.cascade.views.repairs import mended_words
    from navigator.git.private import PrivateRepo

    paths = state_paths()
    documents: list[dict[str, Any]] = []
    with reading(paths) as store:
        other = store.proposal(against) if against else None
        for identifier in ids:
            proposal = store.proposal(identifier)
            if other is not None and other.project_id != proposal.project_id:
                raise Conflict(f"{proposal.id} and {other.id} are of different projects.")
            private = PrivateRepo.open(paths.private, store.project(proposal.project_id))
            files = private.diff(other.tree if other else proposal.base_commit, proposal.tree)
            if as_json:
                against_id = other.id if other else None
                told = {
                    "against": against_id,
                    "files": [_document(file, n) for n, file in enumerate(files, 1)],
                }
                shown = proposal.model_dump(mode="json") | {"rehearsal": store.rehearsal}
                documents.append({"proposal": shown} | told)
                continue
            whole = store.proposal(proposal.parent) if proposal.parent else None
            worth = worth_of(store, proposal.review) if proposal.review else ""
            made = (
                looks_words(looks_of(store, proposal)),
                agent_words(turns_of(store, proposal)),
                mended_words(store, proposal),
            )
            if store.rehearsal:
                output.say("REHEARSAL", bold=True)
            _show(proposal, files, other, whole, [words for words in made if words], worth)
    if as_json:
        output.print_json({"diffs": documents})


def _document(file: FileDiff, place: int) -> dict[str, Any]:
    """One file of a diff; `labels` are what `navigator split` can choose, in order."""
    counts = {"path": file.path, "added": file.added, "removed": file.removed}
    return asdict(file) | counts | {"labels": list(choices(file, place))}


def _show(
    proposal: Proposal,
    files: Sequence[FileDiff],
    other: Proposal | None,
    whole: Proposal | None,
    made: Sequence[str],
    worth: str,
) -> None:
    output.say(f"{proposal.id}  {proposal.project}  {proposal.title}", bold=True)
    _show_review(proposal, whole, made, worth)
    findings = list(proposal.review.findings) if proposal.review and other is None else []
    for finding in findings:
        if not finding.anchored:
            output.say(f"  does not count, {finding.why_unanchored}:", fg="magenta")
            _say_finding(finding)
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
                number = line.old if line.kind == "-" else line.new
                colour = {"+": "green", "-": "red"}.get(line.kind)
                output.say(
                    f"{number:>6} {line.kind} {safe_line(line.text)}", **({"fg": colour} if colour else {})
                )
                side = "old" if line.kind == "-" else "new"
                for finding in findings:
                    at_line = finding.path == file.path and finding.line == number
                    if finding.anchored and at_line and (finding.side == "old") == (side == "old"):
                        _say_finding(finding)
    shown = {
        (file.path, line.old if line.kind == "-" else line.new)
        for file in files
        for hunk in file.hunks
        for line in hunk.lines
    }
    for finding in findings:
        if finding.anchored and (finding.path, finding.line) not in shown:
            output.say(f"\n{finding.path}:{finding.line}  {finding.quote}")
            _say_finding(finding)


def checks_words(proposal: Proposal) -> str:
    """The checks' outcomes in one line."""
    return "  ".join(f"{check.name} {_outcome(check)}" for check in proposal.checks) or "none"


def _outcome(check: CheckResult) -> str:
    if check.outcome is not CheckOutcome.FAILED_BEFORE:
        return check.outcome.value
    if check.name != "tests":
        return "failed before"
    from navigator.sandbox.compare import tests_words

    return tests_words(check)


def _show_review(proposal: Proposal, whole: Proposal | None, made: Sequence[str], worth: str) -> None:
    output.say(f"  round {proposal.round}, {proposal.state.value}; checks: {checks_words(proposal)}")
    if said := uncertainty_words(proposal):
        output.say(f"  {said}")
    for words in made:
        output.say(f"  {words}")
    for item in proposal.policy:
        output.say(f"  ! {item.path}: {item.detail or item.rule}", fg="red")
    review = proposal.review
    if whole is not None:
        there = f"{verdict_word(whole)} there" if whole.review else "not reviewed there either"
        output.say(f"  {', '.join(proposal.hunks)} of {whole.id}, reviewed as a whole ({there})")
        return
    if review is None:
        output.say("  not reviewed yet")
        return
    stated = review.stated_verdict
    differs = f" (it said {stated.value})" if stated and stated is not review.verdict else ""
    own = "  self-review: by the model that wrote it" if review.self_review else ""
    word = output.style(review.verdict.value, fg=_COLOURS[review.verdict.value], bold=True)
    parts = f", in {review.parts} parts" if review.parts > 1 else ""
    output.emit(f"  {word}{differs} by {safe_line(review.model)}, {review.prompt_version}{parts}{own}")
    if review.advice:
        output.say(f"  advice: {review.advice}", fg="yellow")
    elif worth and review.verdict is Verdict.REVISE:
        output.say(f"  {worth}")
    if review.summary:
        output.say(f"  {review.summary}")
    if proposal.own_review is not None:
        own_said = proposal.own_review
        output.say(
            f"  writer's own review by {own_said.model}: {own_said.verdict.value}, {len(own_said.findings)} findings"
        )
    for said in review.reversals:
        output.say(f"  ↔ reversal: {safe_line(said)}", fg="yellow")
    if review.verdict is Verdict.UNREVIEWED:
        output.say("  Not reviewed: read it as you would read a patch from a stranger.")


def _say_finding(finding: Finding) -> None:
    from navigator.cascade.views.reproductions import reproduction_lines

    head = f"       ┃ {finding.severity.value} · {finding.criterion.value} · {finding.kind.value}"
    head += " · remark (does not count)" if finding.remark else ""
    output.say(head, fg="yellow", bold=True)
    output.say(f"       ┃ {safe_line(finding.message)}")
    if finding.trigger:
        output.say(f"       ┃ when: {safe_line(finding.trigger)}")
    for line in reproduction_lines(finding):
        output.say(f"       ┃ {safe_line(line)}", fg="cyan")
