"""`navigator finding`: what a finding is worth, and the precedents that wrong ones leave."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from navigator.actions.notes import MOST_PRECEDENTS, TOLD, WORDS, JudgeFinding
from navigator.cli import output
from navigator.cli.session import carry_out, complete_projects, complete_proposals, reading
from navigator.model.errors import NavigatorError, UsageError
from navigator.store.reads.exam import Precedent

_CHOICES = {words.replace(" ", "-"): one for one, words in WORDS.items()}

FILE = ".navigator-precedents.jsonl"
"""In the repository, for a team: one precedent a line."""


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
        return _listed(listing, as_json) if listing else _write_precedents(str(write))
    if read:
        return carry_out(JudgeFinding(project=read, precedents=_read_precedents(read)), as_json=as_json)
    if withdraw == bool(note.strip() if precedent else judgement):
        raise UsageError(
            "Say right, wrong or not-worth-it, or --withdraw; of a --precedent, --note or --withdraw."
        )
    about = {"proposal": proposal or "", "number": number or 0, "precedent": precedent or 0}
    verb = JudgeFinding(**about, judgement=_CHOICES.get(judgement or ""), note=note)
    return carry_out(verb, as_json=as_json)


def _held(name: str) -> tuple[Path, list[dict[str, Any]]]:
    """A project's folder, and its precedents."""
    with reading() as store:
        project = store.project(name)
        found = store.precedents(project.id)
    return Path(project.path), [one.model_dump(mode="json", include={"id", *TOLD}) for one in found]


def _listed(name: str, as_json: bool) -> None:
    _, held = _held(name)
    if as_json:
        output.print_json({"precedents": held})
    elif not held:
        output.say(f"{name} has no precedents. `navigator finding P… N wrong --note TEXT` makes one.")
    for one in [] if as_json else held:
        output.prose(f"{one['criterion']} {one['path']}: {one['message']}", "    ", first=f"{one['id']:>3} ")
        output.prose(one["note"], "    you: ")


def _write_precedents(name: str) -> None:
    """Everything that holds, without secrets, in place of what the file had."""
    from navigator.config.guarded import write_file
    from navigator.model.secrets import Redactor, environment_values

    redact = Redactor(environment_values(os.environ))
    folder, held = _held(name)
    text = "".join(f"{json.dumps({key: redact.outgoing(one[key]) for key in TOLD})}\n" for one in held)
    try:
        write_file(folder, FILE, text.encode())
    except OSError as error:
        raise NavigatorError(f"{FILE} of {name}: {error.strerror}.") from error
    output.say(f"{len(held)} in {folder / FILE}. Commit it; others take it in with --read.")


def _read_precedents(name: str) -> tuple[Precedent, ...]:
    """What the file has: somebody else may have written it.

    Raises:
        UsageError: it is not there, is something else, too large, or has a line that is no precedent.
    """
    from navigator.config.guarded import read_file
    from navigator.model.json_text import read_json

    try:
        lines = read_file(_held(name)[0], FILE, 1_000_000).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{FILE} of {name} cannot be read: {error}.") from error
    if len(lines) > MOST_PRECEDENTS:
        raise UsageError(f"{FILE} has {len(lines)} lines; {MOST_PRECEDENTS} are the most.")
    try:
        return tuple(Precedent.model_validate(read_json(line)) for line in lines)
    except ValueError as error:
        raise UsageError(f"A line of {FILE} is no precedent: it has {', '.join(TOLD)}.") from error
