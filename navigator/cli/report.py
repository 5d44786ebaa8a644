"""`navigator report`."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import click

from navigator.cli import output
from navigator.cli.housekeeping import moment_of
from navigator.cli.session import reading
from navigator.model.errors import Conflict, UsageError


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.html")
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--since", default="", metavar="D", help="Only since this day, e.g. 2026-11-03, or the last 12h, 7d, 8w."
)
def report(file: Path, overwrite: bool, since: str) -> None:
    """Write the three answers and every statistic, with plots, to one HTML page that needs no other file and no network."""
    from navigator.config.paths import write_new
    from navigator.sheet.report import report as written
    from navigator.sheet.statistics.page import Question, utc_text

    if os.path.lexists(file) and not overwrite:
        raise Conflict(f"{file} exists.", hint="Choose another name, or replace it with --overwrite.")
    moment = utc_text(moment_of(since) or since) if since else ""
    with reading() as store:
        page = written(
            store,
            Question("kind", moment),
            written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            period=f"from {moment[:16].replace('T', ' ')} UTC on" if moment else "all time",
        )
    try:
        write_new(file, page.encode())
    except OSError as error:
        missing = not file.parent.exists()
        hint = f"Make its folder first: `mkdir -p {file.parent}`." if missing else "Choose another place."
        raise UsageError(f"{file} cannot be written: {error.strerror}.", hint=hint) from error
    output.say(f"Wrote {file}.")
