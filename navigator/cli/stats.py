"""`navigator stats`: the pages of statistics; a rehearsal's figures say so."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

import click

from navigator.cli import output
from navigator.cli.housekeeping import moment_of
from navigator.cli.session import act, state_paths
from navigator.engine import acting
from navigator.model.errors import UsageError
from navigator.model.text import SIMULATED, safe_line
from navigator.sheet.statistics.page import (
    PageQuestion,
    StatisticsPage,
    Table,
    document,
    drawn,
    exported,
    utc_text,
)
from navigator.sheet.statistics.pages import PAGES
from navigator.store.reads.statistics import ALIASES, GROUPINGS

_WIDTH = 80
"""Cells of a sentence."""


FORMATS = ("text", "json", "jsonl", "csv")


@click.command()
@click.argument(
    "name", metavar="[PAGE]", type=click.Choice([page.name for page in PAGES]), default=PAGES[0].name
)
@click.option(
    "--by",
    type=click.Choice((*GROUPINGS, *ALIASES)),
    help="Group the revise rate by this property; prompt and model are the reviewer's.",
)
@click.option(
    "--compare",
    "pair",
    nargs=2,
    metavar="A B",
    help="Instead, compare the revise rates of two prompt versions, models, projects or kinds.",
)
@click.option("--look", is_flag=True, help="First look for landed commits that were reverted.")
@click.option(
    "--since",
    default="",
    metavar="D",
    help="Only since this day, e.g. 2026-11-03, or the last 12h, 7d, 8w.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Text, one JSON document, or one figure per row as JSON lines or CSV.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def stats(
    name: str,
    by: str | None,
    pair: tuple[str, str] | None,
    look: bool,
    since: str,
    form: str | None,
    as_json: bool,
) -> None:
    """Answer three questions: is the reviewer worth it, is it getting better, what does it cost. PAGE has the rest.

    Pages: summary, reviewer, outcomes, cost, writing.
    """
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} contradict each other.", hint="Use one of them.")
    form = "json" if as_json else form or "text"
    if look:
        _look_for_reverts()
    grouped = ALIASES.get(by or "", by or "")
    if pair:
        if form not in ("text", "json"):
            raise UsageError(f"A comparison cannot be printed as {form}.", hint="Use --json.")
        _compare_groups(pair, grouped, since, as_json=form == "json")
    else:
        _show_page(next(page for page in PAGES if page.name == name), since, form, grouped)


def _look_for_reverts() -> None:
    from navigator.actions.undo import LookForReverts

    for one in act(LookForReverts()).told:
        output.note(str(one))


def _show_page(page: StatisticsPage, since: str, form: str, by: str) -> None:
    question = PageQuestion(by, _since(since))
    with acting.reading(state_paths()) as store, store.snapshot():
        found, rehearsal = page.read(store, question), store.rehearsal
    figures = {**document(found), "rehearsal": rehearsal}
    if form != "text":
        output.emit(exported(page.name, figures, form).rstrip("\n"))
        return
    if rehearsal:
        output.say(SIMULATED, bold=True)
    tell(found, page.missing)


def _compare_groups(pair: tuple[str, str], by: str, since: str, *, as_json: bool) -> None:
    from navigator.sheet.statistics.revise_rate import comparison

    with acting.reading(state_paths()) as store, store.snapshot():
        found = comparison(store, *pair, by, _since(since))
        rehearsal = store.rehearsal
    if as_json:
        output.print_json({**found.data, "rehearsal": rehearsal})
        return
    if rehearsal:
        output.say(SIMULATED, bold=True)
    print_table(found)


def _since(text: str) -> str:
    return utc_text(moment_of(text) or text) if text else ""


def tell(found: Iterable[Table], missing: str) -> None:
    """Print a page's tables; `missing` where none has anything to say."""
    tables = drawn(found)
    if not tables:
        output.say(missing)
    for table in tables:
        print_table(table)


def print_table(table: Table) -> None:
    """One table of a page, with its facts and notes."""
    if table.answer:
        output.say(table.title, bold=True)
        for line in textwrap.wrap(safe_line(table.answer), _WIDTH):
            output.say(line)
    if table.rows or not table.answer:
        _print_rows(table)
    if table.empty and not table.rows:
        output.say(f"  {table.empty}")
    about = (table.about,) if table.about else ()
    for line in (*about, *(f"{name}: {text}" for name, text in table.facts), *table.notes):
        output.say(f"  {line}")
    output.say()


def _print_rows(table: Table) -> None:
    title = "" if table.answer else table.title.lower()
    if table.columns or not table.rows:
        names = [column.name for column in table.columns]
        rows = [(row.label, *(row.cells or [""] * len(names)), row.note) for row in table.rows]
        heads = [title, *names, ""]
    else:
        heads, rows = [title, "n"], [(row.label, f"{row.count:,}") for row in table.rows]
    output.emit(output.table(heads, rows, right=range(1, len(heads) - bool(table.columns))))
