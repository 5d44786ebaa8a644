"""`navigator stats`: every page of statistics as a command; a rehearsal's figures come separately and say so."""

from __future__ import annotations

from typing import Any

import click

from navigator.cascade.views.statistics.page import (
    REHEARSAL,
    Question,
    StatisticsPage,
    Table,
    utc_text,
)
from navigator.cascade.views.statistics.pages import PAGES
from navigator.cli import output
from navigator.cli.housekeeping import moment_of
from navigator.cli.session import reading
from navigator.store.reads.verdicts import ALIASES, GROUPINGS


@click.group()
def stats() -> None:
    """Revise rate, outcomes, swaps, throughput, edits."""


def _add(page: StatisticsPage[Any]) -> None:
    @click.option(
        "--since",
        default="",
        metavar="D",
        help="From this day on, e.g. 2026-11-03, or of the last 12h, 7d, 8w.",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    def show(since: str, as_json: bool, by: str | None = None) -> None:
        question = Question(
            ALIASES.get(by or "", by or ""), utc_text(moment_of(since) or since) if since else ""
        )
        with reading() as store:
            found = page.read(store, question)
        if as_json:
            output.print_json(page.document(found))
        else:
            _tell(page, found)

    show.__doc__ = page.help
    if page.name == "revise-rate":
        show = click.option(
            "--by",
            type=click.Choice((*GROUPINGS, *ALIASES)),
            help="Group by this property; prompt and model are the reviewer's.",
        )(show)
    stats.command(page.name)(show)


for _page in PAGES:
    _add(_page)


def _tell(page: StatisticsPage[Any], found: Any) -> None:
    real, rehearsed = (page.tables(found, rehearsal) for rehearsal in (False, True))
    if not real and not rehearsed:
        output.say(page.missing)
    for table in real:
        _table(table)
    if rehearsed:
        output.say(f"REHEARSAL: {REHEARSAL}", bold=True)
    for table in rehearsed:
        _table(table)


def _table(table: Table) -> None:
    if table.columns or not table.rows:
        names = [column.name for column in table.columns]
        rows = [(row.label, *(row.cells or [""] * len(names)), row.note) for row in table.rows]
        heads = [table.title.lower(), *names, ""]
    else:
        heads, rows = [table.title.lower(), "n"], [(row.label, f"{row.count:,}") for row in table.rows]
    output.emit(output.table(heads, rows, right=range(1, len(heads) - bool(table.columns))))
    if not table.rows:
        output.say(f"  {table.empty}")
    for line in (*(f"{name}: {text}" for name, text in table.facts), *table.notes):
        output.say(f"  {line}")
    output.say()
