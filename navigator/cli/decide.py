"""`navigator approve | reject | send-back | undo | escalate | split | merge | finding`: what you decide."""

from __future__ import annotations

from typing import Annotated

import click

from navigator.actions.approve import Approve
from navigator.actions.deciding import Pinned, Reject, SendBack, Undo, decided
from navigator.actions.escalate import Escalate
from navigator.actions.notes import WORDS, JudgeFinding
from navigator.actions.split import Split
from navigator.cli import output, session
from navigator.cli.command import (
    AtLeast1,
    Note,
    ProjectName,
    ProjectNames,
    ProposalId,
    ProposalIds,
    Value,
    command,
    switch_given,
)
from navigator.git.facts import RepoFacts, read_facts
from navigator.journey.repositories import at_home
from navigator.landing import land as landing
from navigator.landing.plan import LandingRefused
from navigator.model.errors import UsageError
from navigator.model.text import safe_line
from navigator.sheet.marks import batch_choice


@command(yes=True)
def approve(
    ids: ProposalIds = (),
    *,
    all_reviewed: bool = False,
    include_unseen: bool = False,
    confirm: Annotated[tuple[str, ...], Value("[P…:]RULE:PATH")] = (),
    note: Note = "",
    tree: Annotated[str, Value("HASH")] = "",
) -> None:
    """Approve proposals and land them.

    Approving a proposal again that could not land tries the landing again.

    Args:
        all_reviewed: Every open proposal that you have seen, with verdict APPROVE, no failed check, no overlap and nothing to
            confirm.
        include_unseen: With --all-reviewed: also what you have not looked at.
        confirm: An item you have looked at, or `unseen`. Name the proposal where several have the same item.
        note: A note to record with the decision.
        tree: Refuse unless the proposal is this tree (at least 12 digits).
    """
    if include_unseen and not all_reviewed:
        raise UsageError("--include-unseen goes with --all-reviewed.")
    chosen, left_out = _chosen(ids, all_reviewed, confirm, unseen=include_unseen)
    if tree and len(chosen) != 1:
        raise UsageError("--tree needs exactly one proposal.")
    for row in left_out:
        output.note(f"Left out: {row['id']}, {row['reason']}")
    verb = Approve.read(
        {
            "proposals": [{"id": one.id, "tree": tree or one.tree} for one in chosen],
            "note": note,
            "confirm": confirm,
            "unasked": bool(switch_given("--yes")) and not all_reviewed,
        }
    )
    done = session.act(session.ask(verb)) if chosen else Approve.outcome([])
    rows = decided(done)
    if not rows and not switch_given("--json"):
        named = "Approve what is left out by its id: `navigator approve P…`."
        output.say(f"Nothing was approved. {named}" if left_out else "Nothing waits for your approval.")
    session.report(done.told, {"decisions": rows} | ({"left_out": left_out} if all_reviewed else {}))


def _chosen(
    ids: tuple[str, ...], all_reviewed: bool, confirm: tuple[str, ...], *, unseen: bool
) -> tuple[list[Pinned], list[dict[str, str]]]:
    """The proposals meant, with the trees they have now; and what --all-reviewed leaves out, and why.

    Those that it takes although their tests show nothing good are named on stderr.
    """
    if bool(ids) == all_reviewed:
        raise UsageError("Name proposals, or use --all-reviewed.", hint="`navigator proposals` lists them.")
    with session.reading() as store:
        if ids:
            return [Pinned(id=one.id, tree=one.tree) for one in map(store.proposal, ids)], []
        choice = batch_choice(store, confirm, unseen=unseen)
    for outcome, words in _UNTOLD.items():
        if named := [one.id for one in choice.taken if one.tests == outcome]:
            output.note(f"Note: {len(named)} {words}: {', '.join(named)}")
    left_out = [
        {"id": one.id, "mark": mark.kind.value, "reason": mark.words} for one, mark in choice.left_out
    ]
    return [Pinned(id=one.id, tree=one.tree) for one in choice.taken], left_out


_UNTOLD = {"untested": "untested", "failed_before": "whose tests also fail on the base"}
"""Outcomes of tests that a batch approval names, and in which words."""


@command(yes=True)
def reject(ids: ProposalIds, *, note: Note = "") -> None:
    """Reject proposals; their tasks end.

    Args:
        note: A note to record with the decision.
    """
    session.carry_out(Reject(proposals=_pinned(ids), note=note))


@command()
def send_back(ids: Annotated[ProposalIds, Value("P…|T…")], *, note: Note = "") -> None:
    """Send back proposals, or tasks with a report or an answer without a change: a new attempt starts with your note.

    Args:
        note: A note to record with the decision.
    """
    tasks = tuple(one for one in ids if one[:1] in "Tt")
    proposals = _pinned(tuple(one for one in ids if one not in tasks))
    session.carry_out(SendBack(proposals=proposals, tasks=tasks, note=note))


def _pinned(ids: tuple[str, ...]) -> tuple[Pinned, ...]:
    return tuple(Pinned(id=one) for one in ids)


@command(yes=True)
def undo(ids: ProposalIds) -> None:
    """Undo landings, or withdraw approvals that have not landed.

    The branch returns to where it was; if it has moved on, a revert commit is made on a new branch.
    """
    session.carry_out(Undo(ids=ids))


@command(yes=True)
def escalate(ids: ProposalIds, *, final: bool = False) -> None:
    """Have the reviewer read proposals next, which may cost a swap, or have the final model read them too.

    A proposal that waits for your decision gets a second verdict beside the first.

    Args:
        final: By the final model: shows first what leaves this machine.
    """
    with session.reading() as store:
        pinned = tuple(Pinned(id=one.id, tree=one.tree) for one in map(store.proposal, ids))
    session.carry_out(Escalate(proposals=pinned, final=final))


@command()
def split(
    proposal: ProposalId,
    hunks: Annotated[tuple[str, ...], Value("H…")],
) -> None:
    """Make a separate proposal from some hunks (H1 H3, or H1,H3).

    The other hunks become another one. The checks run on both, and you approve each by its own id. Both keep the review of
    the whole; `navigator escalate P…` has one reviewed on its own.
    """
    labels = [label for word in hunks for label in word.split(",") if label]
    verb = Split.read({"proposal": proposal, "hunks": labels})
    with session.reading() as store:
        verb.require(store)
        tests = store.project(store.proposal(proposal).project_id).check.strip()
    if tests:  # they may take minutes
        output.note(
            f"Running the tests on the new proposal, and on its base if needed: `{safe_line(tests)}` …"
        )
    session.carry_out(verb)


@command(yes=True)
def merge(projects: ProjectNames = ()) -> None:
    """Merge what landed on Navigator's branches into the branches that are checked out.

    Without PROJECT, in every project. A branch that git cannot merge cleanly is left alone; the command to merge it is printed.
    """
    with session.reading() as store:
        chosen = [store.project(name) for name in projects] or store.projects()
        landed = {project.name: store.landed_commits(project.id) for project in chosen}
    waiting: list[tuple[str, RepoFacts, str]] = []
    for project in chosen:
        with at_home(project):
            facts = read_facts(project.path)
        waiting += [(project.name, facts, branch) for branch in landing.unmerged(facts, landed[project.name])]
    for name, facts, branch in () if switch_given("--json") else waiting:
        output.say(f"{name}: {branch} into {facts.branch or 'no branch'}")
        for line in landing.subjects(facts, branch):
            output.say(f"  {safe_line(line)}")
    if waiting:
        session.confirmed("Merge them?" if len(waiting) > 1 else "Merge it?")
    rows = [{"project": name} | _merge_row(facts, branch) for name, facts, branch in waiting]
    refused = any(row["reason"] for row in rows)
    output.show({"merges": rows}, lambda found: _say_merged(found["merges"]), code=refused)


def _merge_row(facts: RepoFacts, branch: str) -> dict[str, str]:
    """The commit that a branch of Navigator's was merged as, or why it could not be."""
    try:
        # Read again: the branch before it may have moved HEAD.
        return {"branch": branch, "commit": landing.merge(read_facts(facts.path), branch), "reason": ""}
    except LandingRefused as error:
        return {"branch": branch, "commit": "", "reason": f"{error.message} {error.hint}"}


def _say_merged(rows: list[dict[str, str]]) -> None:
    if not rows:
        output.say("Nothing waits to be merged.")
    for row in rows:
        said = f"merged, {row['commit'][:12]}" if row["commit"] else row["reason"]
        output.say(f"{'✓' if row['commit'] else '✗'} {row['project']}: {row['branch']}: {said}")


# What a finding is worth, and the precedents that wrong ones leave

_CHOICES = {words.replace(" ", "-"): one for one, words in WORDS.items()}


@command()
def finding(
    proposal: Annotated[str | None, Value("P…")] = None,
    number: AtLeast1 | None = None,
    judgement: Annotated[
        str | None, Value("right|wrong|not-worth-it", type=click.Choice(list(_CHOICES)))
    ] = None,
    *,
    note: Note = "",
    withdraw: bool = False,
    list_: ProjectName | None = None,
    precedent: AtLeast1 | None = None,
) -> None:
    """Say whether finding N of a proposal is right, wrong, or true but not worth a change.

    `navigator diff P…` numbers the findings. This changes no verdict and blocks nothing; it is the reviewer's record. What you
    judge wrong does not count when the reviewer says it again of the same task; with a note it becomes a precedent, which
    later reviews in the project are shown where it is near.

    Args:
        note: Why; of a wrong finding it makes a precedent.
        withdraw: Take back what you said of it, or drop the precedent.
        list_: Show the precedents of a project.
        precedent: Drop (--withdraw) this one.
    """
    if sum(one is not None for one in (proposal, list_, precedent)) != 1:
        raise UsageError("Name a finding, or one of --list and --precedent.")
    if list_:
        _list_precedents(list_)
    elif withdraw == bool(judgement) or (precedent and not withdraw):
        raise UsageError("Say right, wrong or not-worth-it, or --withdraw.")
    else:
        verb = JudgeFinding(
            proposal=proposal or "",
            number=number or 0,
            precedent=precedent or 0,
            judgement=_CHOICES.get(judgement or ""),
            note=note,
        )
        session.carry_out(verb)


def _list_precedents(name: str) -> None:
    with session.reading() as store:
        held = store.precedents(store.project(name).id)

    def text(_: object) -> None:
        if not held:
            output.say(f"{name} has no precedents. `navigator finding P… N wrong --note TEXT` makes one.")
        for one in held:
            about = f"{one.criterion.value} {one.path}: {one.message}"
            output.prose(about, "    ", first=f"{one.id:>3} ")
            output.prose(one.note, "    you: ")

    shown = {"id", "criterion", "path", "quote", "message", "note"}
    output.show({"precedents": [one.model_dump(mode="json", include=shown) for one in held]}, text)
