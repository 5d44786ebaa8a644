"""`navigator report`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from navigator.cli import output
from navigator.cli.housekeeping import moment_of
from navigator.cli.session import reading, state_paths
from navigator.model.errors import Conflict, UsageError


@click.command()
@click.argument(
    "file", type=click.Path(path_type=Path, dir_okay=False), metavar="[FILE.html]", required=False
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--since",
    default="",
    metavar="D",
    help="Since this day, e.g. 2026-11-03, or the last 12h, 7d, 8w. Without it: the 24 hours before the newest run ended.",
)
@output.JSON
def report(file: Path | None, overwrite: bool, since: str, as_json: bool) -> None:
    """Say what happened: what was done, what waits, what went wrong and what to do about it, what it cost.

    With FILE.html, write it to one page, with what waits and the three answers, that needs no other file and no network.
    """
    from navigator.sheet.account import account, folded, lines
    from navigator.sheet.statistics.page import utc_text

    moment = utc_text(moment_of(since) or since) if since else ""
    if file is not None:
        _write_page(file, moment, overwrite=overwrite)
        return
    with reading() as store, store.snapshot():
        found, rehearsal = account(store, moment), store.rehearsal
    if as_json:
        output.print_json(found.document() | {"rehearsal": rehearsal})
        return
    title, *rest = lines(folded(found))
    output.say(title, bold=True)
    output.say("\n".join(rest))


def _write_page(file: Path, moment: str, *, overwrite: bool) -> None:
    from navigator.config.paths import write_new
    from navigator.engine.acting import report_page

    if os.path.lexists(file) and not overwrite:
        raise Conflict(f"{file} exists.", hint="Choose another name, or replace it with --overwrite.")
    with reading() as store:
        page = report_page(state_paths(), store, moment, output.note)
    try:
        write_new(file, page.encode())
    except OSError as error:
        missing = not file.parent.exists()
        hint = f"Make its folder first: `mkdir -p {file.parent}`." if missing else "Choose another place."
        raise UsageError(f"{file} cannot be written: {error.strerror}.", hint=hint) from error
    output.say(f"Wrote {file}.")
