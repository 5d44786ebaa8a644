"""`navigator split`: some hunks of a proposal become one of their own."""

from __future__ import annotations

import sys
import time
from contextlib import suppress

import click

from navigator.cli import output
from navigator.cli.proposals import checks_words
from navigator.cli.session import act, reading, state_paths
from navigator.domain.models import Proposal, Task
from navigator.domain.states import TaskState
from navigator.domain.text import safe_line

_PAUSE = 0.1
_SPARE = 60.0
"""Seconds beside the time that tests may take in which a conductor should have come to the checks."""


@click.command()
@click.argument("proposal", metavar="P…")
@click.argument("hunks", nargs=-1, required=True, metavar="H…")
@click.option("--note", default="", metavar="TEXT", help="For the attempt that writes the rest.")
@click.option("--drop-rest", is_flag=True, help="Do not have the rest written anew: it ends here.")
@click.option("--tree", default="", metavar="HASH", help="Refuse unless the proposal is this tree.")
@click.option("--json", "as_json", is_flag=True)
def split(
    proposal: str, hunks: tuple[str, ...], note: str, drop_rest: bool, tree: str, as_json: bool
) -> None:
    """Make a proposal of some hunks of another one (H1 H3, or H1,H3).

    It goes through every check again and is then approved by its own id; the rest is written anew on top of it.
    """
    labels = [label for word in hunks for label in word.split(",") if label]
    with reading() as store:
        whole = store.proposal(proposal)
        pinned = tree or whole.tree
        tests = store.project(whole.project_id).check.strip()
    if tests:
        # They may take minutes.
        output.note(f"Running the tests on the part, and on its base if need be: `{safe_line(tests)}` …")
    args = {"proposal": proposal, "hunks": labels, "tree": pinned, "note": note, "drop_rest": drop_rest}
    result = act("split", args)
    part, task = _checked(result["part"]["id"])
    if as_json:
        output.print_json({"proposals": [part.model_dump(mode="json")], "rest": result["rest"]})
    else:
        _tell(part, task, result["rest"])
    if task.state is TaskState.FAILED or part.failed_checks:
        sys.exit(1)


def _checked(identifier: str) -> tuple[Proposal, Task]:
    """The part once its checks have run. A conductor that is busy with others' checks is waited for, in bounds."""
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


def _tell(part: Proposal, task: Task, rest: dict[str, object]) -> None:
    output.say(f"{part.id}  {', '.join(part.hunks)} of {part.parent}  {part.title}", bold=True)
    if task.state is TaskState.CHECKING:
        output.say("  its checks are still to run; `navigator run` does it")
    else:
        output.say(f"  checks: {checks_words(part)}")
    for check in part.failed_checks:
        output.say(f"  ✗ {check.name}: {check.detail}", fg="red")
    left = ", ".join(str(label) for label in rest["hunks"]) if isinstance(rest["hunks"], list) else ""
    if rest["state"] == TaskState.REJECTED.value:
        output.say(f"  {left}: dropped.")
    else:
        output.say(f"  {left}: {rest['task']} writes the rest anew on top of it.")
    output.say(f"  `navigator approve {part.id}` lands it; `navigator diff {part.id}` shows it.")
