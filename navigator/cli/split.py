"""`navigator split`: some hunks of a proposal become one of their own."""

from __future__ import annotations

import time
from contextlib import suppress

import click

from navigator.actions.split import Split, SplitArgs
from navigator.cli import output
from navigator.cli.decide import TREE
from navigator.cli.proposals import checks_words
from navigator.cli.session import act, complete_proposals, reading, report, state_paths
from navigator.model.models import Proposal, Task
from navigator.model.states import TaskState
from navigator.model.text import safe_line

_PAUSE = 0.1
_SPARE = 60.0
"""Seconds beyond the tests' limit that a busy conductor is given to get to the checks."""


@click.command()
@click.argument("proposal", metavar="P…", shell_complete=complete_proposals)
@click.argument("hunks", nargs=-1, required=True, metavar="H…")
@click.option("--note", default="", metavar="TEXT", help="Have the rest written again, with this note.")
@click.option("--drop-rest", is_flag=True, help="Drop the other hunks.")
@TREE
@output.JSON
def split(
    proposal: str, hunks: tuple[str, ...], note: str, drop_rest: bool, tree: str, as_json: bool
) -> None:
    """Make a separate proposal from some hunks (H1 H3, or H1,H3).

    The other hunks become another one. The checks run on both, and you approve each by its own id. Both keep the review of
    the whole; `navigator escalate P…` has one reviewed by itself.
    """
    labels = tuple(label for word in hunks for label in word.split(",") if label)
    verb = Split()
    args = SplitArgs(proposal=proposal, hunks=labels, tree=tree, note=note, drop_rest=drop_rest)
    args, tests = _looked_at(verb, args)
    if tests:
        # They may take minutes.
        output.note(
            f"Running the tests on the new proposal, and on its base if needed: `{safe_line(tests)}` …"
        )
    result = act(verb, args)
    part, task = _checked(result.part.id)
    result = result.model_copy(update={"part": part, "task": task})
    if not as_json:
        _show_part(part, task)
    document = {"proposals": [part.model_dump(mode="json")], "rest": result.rest.model_dump(mode="json")}
    report(verb.tell(result), document if as_json else None)


def _looked_at(verb: Split, args: SplitArgs) -> tuple[SplitArgs, str]:
    """The arguments, pinned to the tree as it is now, once they are found to fit; and the project's test command.

    Raises:
        NavigatorError: the proposal cannot be split, or has no such hunks.
    """
    from navigator.git.hunks import choose
    from navigator.git.private import PrivateRepo

    paths = state_paths()
    with reading(paths) as store:
        verb.require(store, args)
        whole = store.proposal(args.proposal)
        project = store.project(whole.project_id)
        private = PrivateRepo.open(paths.private, project)
        choose(private.diff(whole.base_commit, whole.tree), args.hunks)
    return args.model_copy(update={"tree": args.tree or whole.tree}), project.check.strip()


def _checked(identifier: str) -> tuple[Proposal, Task]:
    """The new proposal once its checks have run; waits, within bounds, for a conductor that is busy with other checks."""
    from navigator.config.settings import load_settings

    until = time.monotonic() + load_settings().checks.timeout_seconds + _SPARE
    paths = state_paths()
    while True:
        with reading(paths) as store:
            part = store.proposal(identifier)
            task = store.task(part.task_id)
        gone = True
        with suppress(OSError):
            gone = not paths.socket.exists()
        if task.state is not TaskState.CHECKING or gone or time.monotonic() > until:
            return part, task
        time.sleep(_PAUSE)


def _show_part(part: Proposal, task: Task) -> None:
    output.say(f"{part.id}  {part.title}", bold=True)
    if task.state is TaskState.CHECKING:
        output.say("  its checks have not run yet; `navigator run` runs them")
    else:
        output.say(f"  checks: {checks_words(part)}")
    for check in part.failed_checks:
        output.say(f"  ✗ {check.name}: {check.detail}", fg="red")
