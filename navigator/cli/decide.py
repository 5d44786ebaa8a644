"""`navigator approve | reject | send-back | undo`: the developer's word."""

from __future__ import annotations

import sys
from typing import Any

import click

from navigator.cli import output
from navigator.cli.session import act, reading
from navigator.domain.errors import UsageError

_NOTE = click.option("--note", default="", metavar="TEXT", help="Goes along with the decision.")
_TREE = click.option("--tree", default="", metavar="HASH", help="Refuse unless the proposal is this tree.")
_YES = click.option("--yes", is_flag=True, help="Do not ask.")
_JSON = click.option("--json", "as_json", is_flag=True)
_REHEARSAL = click.option(
    "--allow-rehearsal-landing",
    is_flag=True,
    help="Let a rehearsal's proposals land outside the demo's repositories.",
)


@click.command()
@click.argument("ids", nargs=-1, metavar="P…")
@click.option(
    "--all-reviewed",
    is_flag=True,
    help="Every open proposal with verdict APPROVE, no failed check, no unconfirmed policy item, no overlap.",
)
@click.option("--confirm", multiple=True, metavar="RULE:PATH", help="A policy item you have looked at.")
@_NOTE
@_TREE
@_YES
@_REHEARSAL
@_JSON
def approve(
    ids: tuple[str, ...],
    all_reviewed: bool,
    confirm: tuple[str, ...],
    note: str,
    tree: str,
    yes: bool,
    allow_rehearsal_landing: bool,
    as_json: bool,
) -> None:
    """Approve proposals and land them."""
    chosen, left_out, untold = _chosen(ids, all_reviewed, confirm)
    if tree and len(chosen) != 1:
        raise UsageError("--tree goes with exactly one proposal.")
    for row in left_out:
        output.note(f"Left out: {row['id']} {row['reason']}")
    if chosen and not yes and sys.stdin.isatty():
        warned = f" ({_untold_words(untold)})" if any(untold.values()) else ""
        click.confirm(f"Approve {', '.join(row['id'] for row in chosen)}?{warned}", abort=True, err=True)
    if tree:
        chosen = [chosen[0] | {"tree": tree}]
    args: dict[str, Any] = {"kind": "approve", "proposals": chosen, "note": note, "confirm": list(confirm)}
    if allow_rehearsal_landing:
        args["allow_rehearsal_landing"] = True
    result = act("decide", args) if chosen else {"decisions": []}
    if all_reviewed:
        result["left_out"] = left_out
        approved = {row["id"] for row in result["decisions"] if row["recorded"]}
        result |= {why: [one for one in ids if one in approved] for why, ids in untold.items()}
    _tell(result, as_json)


def _chosen(
    ids: tuple[str, ...], all_reviewed: bool, confirm: tuple[str, ...]
) -> tuple[list[dict[str, str]], list[dict[str, str]], dict[str, list[str]]]:
    """The proposals meant, with the trees they have now; what --all-reviewed leaves out and why; and of what it takes,
    by outcome, those of which tests say nothing good: untested, or failed before.
    """
    if bool(ids) == all_reviewed:
        raise UsageError("Name proposals, or use --all-reviewed.", hint="`navigator proposals` lists them.")
    with reading() as store:
        if ids:
            return (
                [{"id": proposal.id, "tree": proposal.tree} for proposal in map(store.proposal, ids)],
                [],
                {},
            )
        from navigator.cascade.views.inbox import batch_choice, waiting_proposals

        choice = batch_choice(waiting_proposals(store), confirmed=frozenset(confirm))
    taken = [{"id": proposal.id, "tree": proposal.tree} for proposal in choice.taken]
    untold = {
        outcome: [
            proposal.id
            for proposal in choice.taken
            if any(check.name == "tests" and check.outcome.value == outcome for check in proposal.checks)
        ]
        for outcome in _UNTOLD
    }
    return taken, [{"id": proposal.id, "reason": reason} for proposal, reason in choice.left_out], untold


_UNTOLD = {"untested": "untested", "failed_before": "with tests that failed before"}
"""Outcomes of tests that a batch approval names, and in which words."""


def _untold_words(untold: dict[str, list[str]]) -> str:
    """`1 untested: P3; 2 with tests that failed before: P4, P5`."""
    return "; ".join(f"{len(ids)} {_UNTOLD[why]}: {', '.join(ids)}" for why, ids in untold.items() if ids)


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="P…")
@_NOTE
@_YES
@_JSON
def reject(ids: tuple[str, ...], note: str, yes: bool, as_json: bool) -> None:
    """Reject proposals; their tasks end."""
    if not yes and sys.stdin.isatty():
        click.confirm(f"Reject {', '.join(ids)}?", abort=True, err=True)
    _tell(act("decide", {"kind": "reject", "proposals": [{"id": one} for one in ids], "note": note}), as_json)


@click.command("send-back")
@click.argument("ids", nargs=-1, required=True, metavar="P…")
@_NOTE
@_JSON
def send_back(ids: tuple[str, ...], note: str, as_json: bool) -> None:
    """Have proposals written anew: a new attempt that opens with your note."""
    _tell(
        act("decide", {"kind": "send_back", "proposals": [{"id": one} for one in ids], "note": note}), as_json
    )


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="P…")
@_JSON
def undo(ids: tuple[str, ...], as_json: bool) -> None:
    """Take landings back: the branch returns to where it was, or a revert commit stands on a new branch."""
    result = act("undo", {"ids": list(ids)})
    if as_json:
        output.print_json(result)
    else:
        for row in result["undone"]:
            done = f"undone: {row['reason']}" if row["undone"] else f"not undone: {row['reason']}"
            output.say(f"{row['id']}  {done}")
    if not all(row["undone"] for row in result["undone"]):
        sys.exit(1)


def _tell(result: dict[str, Any], as_json: bool) -> None:
    rows = result["decisions"]
    if as_json:
        output.print_json(result)
    else:
        for row in rows:
            output.say(_sentence(row))
        untold = {why: result.get(why, []) for why in _UNTOLD}
        if any(untold.values()):
            output.say(f"Of {sum(bool(row['recorded']) for row in rows)} approved: {_untold_words(untold)}")
        if not rows:
            left = (
                " What is left out can be approved by its id: `navigator approve P…`."
                if result.get("left_out")
                else ""
            )
            output.say(f"Nothing to decide.{left}")
    if not all(row["recorded"] and row["landing"] != "refused" for row in rows):
        sys.exit(1)


_WORDS = {"approve": "approved", "reject": "rejected", "send_back": "sent back: a new attempt is queued"}


def _sentence(row: dict[str, Any]) -> str:
    if not row["recorded"]:
        return f"{row['id']}  not recorded: {row['reason']}"
    if row["landing"] == "landed":
        moved = ", transplanted onto the branch's tip" if row.get("transplanted") else ""
        return (
            f"{row['id']}  landed on {row['ref'].removeprefix('refs/heads/')} as {row['commit'][:12]}{moved}"
        )
    if row["landing"]:
        return f"{row['id']}  approved; landing {row['landing']}: {row['reason']}"
    return f"{row['id']}  {_WORDS[row['kind']]}"
