"""`navigator approve | reject | send-back | undo | escalate`."""

from __future__ import annotations

import sys
from typing import Any

import click

from navigator.actions.approve import Approve
from navigator.actions.base import Done, plural
from navigator.actions.deciding import (
    TREE_DIGITS,
    DecisionRow,
    Pinned,
    Reject,
    SendBack,
    decided,
    tree_pin,
)
from navigator.actions.escalate import Escalate
from navigator.actions.split import Split
from navigator.actions.undo import Undo
from navigator.cli import output
from navigator.cli.session import (
    act,
    ask,
    carry_out,
    complete_projects,
    complete_proposals,
    confirmed,
    reading,
    report,
)
from navigator.git.facts import read_facts
from navigator.journey.dependencies import at_home
from navigator.landing import land as landing
from navigator.landing.plan import LandingRefused
from navigator.model.errors import NavigatorError, UsageError
from navigator.model.states import DecisionKind
from navigator.model.text import safe_line
from navigator.sheet.marks import Kind, batch_choice


def whole_pin(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The value of --tree.

    Raises:
        UsageError: too short, or no hash.
    """
    try:
        return tree_pin(value)
    except ValueError as error:
        raise UsageError(f"--tree: {error}.", hint=_TREES) from error


_TREES = "`navigator proposals --json` shows each proposal's tree."
IDS = click.argument("ids", nargs=-1, metavar="P…", shell_complete=complete_proposals)
TREE = click.option(
    "--tree",
    default="",
    metavar="HASH",
    callback=whole_pin,
    help=f"Refuse unless the proposal is this tree (at least {TREE_DIGITS} digits).",
)
NOTE = click.option("--note", default="", metavar="TEXT", help="A note to record with the decision.")
YES = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")


@click.command()
@IDS
@click.option(
    "--all-reviewed",
    is_flag=True,
    help="Every open proposal that you have seen, with verdict APPROVE, no failed check, no overlap and nothing to confirm.",
)
@click.option("--include-unseen", is_flag=True, help="With --all-reviewed: also what you have not looked at.")
@click.option(
    "--confirm",
    multiple=True,
    metavar="[P…:]RULE:PATH",
    help="An item you have looked at, or `unseen`. Name the proposal where several have the same item.",
)
@NOTE
@TREE
@YES
@output.JSON
def approve(
    ids: tuple[str, ...],
    all_reviewed: bool,
    include_unseen: bool,
    confirm: tuple[str, ...],
    note: str,
    tree: str,
    yes: bool,
    as_json: bool,
) -> None:
    """Approve proposals and land them.

    Approving a proposal again that could not land tries the landing again.
    """
    if include_unseen and not all_reviewed:
        raise UsageError("--include-unseen goes with --all-reviewed.")
    chosen, left_out, untold = _chosen(ids, all_reviewed, confirm, unseen=include_unseen)
    if tree and len(chosen) != 1:
        raise UsageError("--tree needs exactly one proposal.")
    for row in left_out:
        output.note(f"Left out: {row['id']}, {row['reason']}")
    if any(untold.values()):
        output.note(f"Note: {_untold_words(untold)}")
    if tree:
        chosen = [Pinned(id=chosen[0].id, tree=tree)]
    unasked = yes and not all_reviewed
    verb = Approve(proposals=tuple(chosen), note=note, confirm=confirm, unasked=unasked)
    done = _approve_each(ask(verb, yes=yes)) if chosen else Approve.outcome([])
    rows = decided(done)
    document: dict[str, Any] = {"decisions": [row.model_dump(mode="json") for row in rows]}
    approved = [row.id for row in rows if row.recorded]
    if all_reviewed:
        taken = {why: [one for one in named if one in approved] for why, named in untold.items()}
        document |= {"left_out": left_out} | taken
        if any(taken.values()) and not as_json:
            output.say(f"Of {len(approved)} approved: {_untold_words(taken)}")
    if not rows and not as_json:
        output.say(_nothing_taken(left_out))
    report(done.told, document if as_json else None)


def _approve_each(verb: Approve) -> Done:
    """One after the other: what follows a refused one is done all the same."""
    with reading() as store:
        each = verb.one_by_one(store)
    rows: list[DecisionRow] = []
    for one in each:
        try:
            rows += decided(act(one))
        except NavigatorError as error:
            if not rows:
                raise  # nothing was done
            rows.append(DecisionRow(id=one.proposals[0].id, kind=DecisionKind.APPROVE, reason=str(error)))
    return Approve.outcome(rows)


def _nothing_taken(left_out: list[dict[str, str]]) -> str:
    """Why --all-reviewed approves nothing, and what to do."""
    unseen = [row["id"] for row in left_out if row["mark"] == Kind.UNSEEN]
    if unseen:
        wait = f"{plural(len(unseen), 'proposal')} {'waits' if len(unseen) == 1 else 'wait'}"
        return (
            f"Nothing was approved: {wait}, only not looked at yet. `navigator diff {' '.join(unseen[:3])}` shows "
            f"{'it' if len(unseen) == 1 else 'them'}; --include-unseen approves without looking."
        )
    if left_out:
        return "Nothing was approved. Approve what is left out by its id: `navigator approve P…`."
    return "Nothing waits for your approval."


def _chosen(
    ids: tuple[str, ...], all_reviewed: bool, confirm: tuple[str, ...], *, unseen: bool
) -> tuple[list[Pinned], list[dict[str, str]], dict[str, list[str]]]:
    """The proposals meant, with the trees they have now; what --all-reviewed leaves out and why; and of what it takes,
    by outcome, those whose tests show nothing good: untested, or failed before.
    """
    if bool(ids) == all_reviewed:
        raise UsageError("Name proposals, or use --all-reviewed.", hint="`navigator proposals` lists them.")
    with reading() as store:
        if ids:
            return [Pinned(id=one.id, tree=one.tree) for one in map(store.proposal, ids)], [], {}
        choice = batch_choice(store, confirm, unseen=unseen)
    untold = {outcome: [one.id for one in choice.taken if one.tests == outcome] for outcome in _UNTOLD}
    left_out = [
        {"id": one.id, "mark": mark.kind.value, "reason": mark.words} for one, mark in choice.left_out
    ]
    return [Pinned(id=one.id, tree=one.tree) for one in choice.taken], left_out, untold


_UNTOLD = {"untested": "untested", "failed_before": "whose tests also fail on the base"}
"""Outcomes of tests that a batch approval names, and in which words."""


def _untold_words(untold: dict[str, list[str]]) -> str:
    """`1 untested: P3; 2 whose tests also fail on the base: P4, P5`."""
    return "; ".join(f"{len(ids)} {_UNTOLD[why]}: {', '.join(ids)}" for why, ids in untold.items() if ids)


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="P…", shell_complete=complete_proposals)
@NOTE
@YES
@output.JSON
def reject(ids: tuple[str, ...], note: str, yes: bool, as_json: bool) -> None:
    """Reject proposals; their tasks end."""
    carry_out(Reject(proposals=_pinned(ids), note=note), as_json=as_json, yes=yes)


@click.command("send-back")
@click.argument("ids", nargs=-1, required=True, metavar="P…|T…", shell_complete=complete_proposals)
@NOTE
@output.JSON
def send_back(ids: tuple[str, ...], note: str, as_json: bool) -> None:
    """Send back proposals, or tasks with a report or an answer without a change: a new attempt starts with your note."""
    tasks = tuple(one for one in ids if one[:1] in "Tt")
    proposals = _pinned(tuple(one for one in ids if one not in tasks))
    carry_out(SendBack(proposals=proposals, tasks=tasks, note=note), as_json=as_json)


def _pinned(ids: tuple[str, ...]) -> tuple[Pinned, ...]:
    return tuple(Pinned(id=one) for one in ids)


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="P…", shell_complete=complete_proposals)
@YES
@output.JSON
def undo(ids: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Undo landings, or withdraw approvals that have not landed.

    The branch returns to where it was; if it has moved on, a revert commit is made on a new branch.
    """
    carry_out(Undo(ids=ids), as_json=as_json, yes=yes)


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="P…", shell_complete=complete_proposals)
@click.option("--final", is_flag=True, help="By the final model: shows first what leaves this machine.")
@click.option("--withdraw", is_flag=True, help="Take back what was asked for and has not begun.")
@YES
@output.JSON
def escalate(ids: tuple[str, ...], final: bool, withdraw: bool, yes: bool, as_json: bool) -> None:
    """Have the reviewer read proposals next, which may cost a swap, or have the final model read them too.

    A proposal that waits for your decision gets a second verdict beside the first.
    """
    with reading() as store:
        pinned = tuple(Pinned(id=one.id, tree=one.tree) for one in map(store.proposal, ids))
    if final and not withdraw and not yes and not sys.stdin.isatty():
        raise UsageError(
            "Nothing is sent to another machine before you confirm.",
            hint="Run it in a terminal to see what would leave, or add --yes.",
        )
    carry_out(Escalate(proposals=pinned, final=final, withdraw=withdraw), as_json=as_json, yes=yes)


@click.command()
@click.argument("proposal", metavar="P…", shell_complete=complete_proposals)
@click.argument("hunks", nargs=-1, required=True, metavar="H…")
@TREE
@output.JSON
def split(proposal: str, hunks: tuple[str, ...], tree: str, as_json: bool) -> None:
    """Make a separate proposal from some hunks (H1 H3, or H1,H3).

    The other hunks become another one. The checks run on both, and you approve each by its own id. Both keep the review of
    the whole; `navigator escalate P…` has one reviewed by itself.
    """
    labels = tuple(label for word in hunks for label in word.split(",") if label)
    verb = Split(proposal=proposal, hunks=labels, tree=tree)
    with reading() as store:
        verb.require(store)
        tests = store.project(store.proposal(proposal).project_id).check.strip()
    if tests:
        # They may take minutes.
        output.note(
            f"Running the tests on the new proposal, and on its base if needed: `{safe_line(tests)}` …"
        )
    carry_out(verb, as_json=as_json)


@click.command()
@click.argument("projects", nargs=-1, metavar="[PROJECT]…", shell_complete=complete_projects)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@output.JSON
def merge(projects: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Merge what landed on Navigator's branches into the branches that are checked out.

    Without PROJECT: of all projects. What git cannot merge cleanly is left as it was, with the command to do it by hand.
    """
    with reading() as store:
        chosen = [store.project(name) for name in projects] or store.projects()
        landed = {project.name: store.landed_commits(project.id) for project in chosen}
    waiting: list[tuple[str, Any, str]] = []
    for project in chosen:
        with at_home(project):
            facts = read_facts(project.path)
        waiting += [(project.name, facts, branch) for branch in landing.unmerged(facts, landed[project.name])]
    if not as_json:
        for name, facts, branch in waiting:
            output.say(f"{name}: {branch} into {facts.branch or 'no branch'}")
            for line in landing.subjects(facts, branch):
                output.say(f"  {safe_line(line)}")
    if waiting:
        confirmed("Merge them?" if len(waiting) > 1 else "Merge it?", yes=yes)
    rows: list[dict[str, str]] = []
    for name, facts, branch in waiting:
        row = {"project": name, "branch": branch, "commit": "", "reason": ""}
        try:
            # Read again: the branch before it may have moved HEAD.
            row["commit"] = landing.merge(read_facts(facts.path), branch)
        except LandingRefused as error:
            row["reason"] = f"{error.message} {error.hint}"
        rows.append(row)
    if as_json:
        output.print_json({"merges": rows})
    elif not rows:
        output.say("Nothing waits to be merged.")
    for row in () if as_json else rows:
        said = f"merged, {row['commit'][:12]}" if row["commit"] else row["reason"]
        output.say(f"{'✓' if row['commit'] else '✗'} {row['project']}: {row['branch']}: {said}")
    sys.exit(int(any(row["reason"] for row in rows)))
