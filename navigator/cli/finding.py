"""`navigator finding`: what a finding is worth, and the precedents that wrong ones leave."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from navigator.actions.judging import MOST_PRECEDENTS, TOLD, WORDS, JudgeArgs, JudgeFinding
from navigator.cli import output
from navigator.cli.session import act, complete_projects, complete_proposals, reading, report
from navigator.model.errors import NavigatorError, UsageError
from navigator.store.reads.precedents import Precedent

if TYPE_CHECKING:
    from navigator.model.models import Project

_CHOICES = {words.replace(" ", "-"): one for one, words in WORDS.items()}

FILE = ".navigator-precedents.jsonl"
"""In the repository, for a team: one precedent a line."""

_LARGEST = 1_000_000


@click.command()
@click.argument("proposal", required=False, metavar="[P…", shell_complete=complete_proposals)
@click.argument("number", required=False, metavar="N", type=click.IntRange(min=1))
@click.argument(
    "judgement", required=False, metavar="right|wrong|not-worth-it]", type=click.Choice(list(_CHOICES))
)
@click.option("--note", default="", metavar="TEXT", help="Why; of a wrong finding it makes a precedent.")
@click.option("--withdraw", is_flag=True, help="Take back what you said of it, or drop the precedent.")
@click.option(
    "--list", "listing", metavar="PROJECT", shell_complete=complete_projects, help="Show precedents."
)
@click.option(
    "--precedent", type=click.IntRange(min=1), metavar="N", help="Change (--note) or drop (--withdraw) one."
)
@click.option(
    "--write", metavar="PROJECT", shell_complete=complete_projects, help=f"Write them to {FILE} there."
)
@click.option(
    "--read", metavar="PROJECT", shell_complete=complete_projects, help="Take in what that file has."
)
@output.JSON
def finding(
    proposal: str | None,
    number: int | None,
    judgement: str | None,
    note: str,
    withdraw: bool,
    listing: str | None,
    precedent: int | None,
    write: str | None,
    read: str | None,
    as_json: bool,
) -> None:
    """Say whether finding N of a proposal is right, wrong, or true but not worth a change.

    `navigator diff P…` numbers the findings. This changes no verdict and blocks nothing; it is the reviewer's record. What you
    judge wrong does not count when the reviewer says it again of the same task; with a note it becomes a precedent, which
    later reviews in the project are shown where it is near.
    """
    if sum(one is not None for one in (proposal, listing, precedent, write, read)) != 1:
        raise UsageError("Name a finding, or one of --list, --precedent, --write and --read.")
    if listing or write:
        (_listed if listing else _written)(str(listing or write), as_json)
        return
    if read:
        args = JudgeArgs(project=read, precedents=_read(_project(read)))
    elif withdraw == bool(note.strip() if precedent else judgement):
        choices = "--note TEXT" if precedent else "right, wrong or not-worth-it,"
        raise UsageError(f"Say {choices} or --withdraw.")
    elif precedent:
        args = JudgeArgs(precedent=precedent, note=note)
    else:
        chosen = _CHOICES[judgement] if judgement else None
        args = JudgeArgs(proposal=str(proposal), number=number or 0, judgement=chosen, note=note)
    verb = JudgeFinding()
    result = act(verb, args)
    report(verb.tell(result), result.model_dump(mode="json") if as_json else None)


def _project(name: str) -> Project:
    with reading() as store:
        return store.project(name)


def _held(name: str) -> list[dict[str, Any]]:
    with reading() as store:
        found = store.precedents(store.project(name).id)
    return [one.model_dump(mode="json", include={"id", *TOLD}) for one in found]


def _listed(name: str, as_json: bool) -> None:
    held = _held(name)
    if as_json:
        output.print_json({"precedents": held})
    elif not held:
        output.say(f"{name} has no precedents. `navigator finding P… N wrong --note TEXT` makes one.")
    for one in [] if as_json else held:
        where = f"{one['criterion']}, {one['path'] or 'any file'}"
        output.prose(f"{where}: {one['message']}", "    ", first=f"{one['id']:>3} ")
        output.prose(one["note"], "    you: ")


def _written(name: str, as_json: bool) -> None:
    """Everything that holds, without secrets, in place of what the file had."""
    from navigator.config.guarded import write_file
    from navigator.model.secrets import Redactor, environment_values

    project, redact = _project(name), Redactor(environment_values(os.environ))
    rows = [{key: redact.outgoing(one[key]) for key in TOLD} for one in _held(name)]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    try:
        write_file(Path(project.path), FILE, text.encode())
    except OSError as error:
        raise NavigatorError(f"{FILE} of {name}: {error.strerror}.") from error
    if as_json:
        output.print_json({"precedents": rows})
    else:
        output.say(f"{len(rows)} in {Path(project.path, FILE)}. Commit it; others take it in with --read.")


def _read(project: Project) -> tuple[Precedent, ...]:
    """What the file has: somebody else may have written it.

    Raises:
        UsageError: it is not there, is something else, too large, or has a line that is no precedent.
    """
    from navigator.config.guarded import read_file
    from navigator.model.json_text import read_json

    try:
        lines = read_file(Path(project.path), FILE, _LARGEST).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{FILE} of {project.name} cannot be read: {error}.") from error
    if len(lines) > MOST_PRECEDENTS:
        raise UsageError(f"{FILE} has {len(lines)} lines; {MOST_PRECEDENTS} are the most.")
    found = []
    for number, line in enumerate(lines, 1):
        try:
            values = read_json(line)
            found.append(Precedent.model_validate({name: values.get(name, "") for name in TOLD}))
        except (ValueError, AttributeError) as error:
            raise UsageError(f"Line {number} of {FILE} is no precedent: it has {', '.join(TOLD)}.") from error
    return tuple(found)
