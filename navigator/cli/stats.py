"""`navigator stats` and `navigator report`: what happened, counted and told; a rehearsal's figures say so."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click

from navigator.cli import output, session
from navigator.cli.command import Value, command, given
from navigator.cli.housekeeping import moment_of
from navigator.engine import acting
from navigator.model.errors import Conflict, UsageError
from navigator.model.text import SIMULATED, safe_line
from navigator.sheet.statistics.page import (
    PageQuestion,
    Table,
    document,
    drawn,
    exported,
    utc_text,
)
from navigator.sheet.statistics.pages import PAGES
from navigator.sheet.statistics.revise_rate import comparison
from navigator.store.reads.statistics import ALIASES, GROUPINGS

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader

_WIDTH = 80
"""Cells of a sentence."""


Day = Annotated[str, Value("D")]
_Page = Annotated[str, Value("[PAGE]", type=click.Choice([page.name for page in PAGES]))]
_Grouping = Annotated[str, Value(type=click.Choice((*GROUPINGS, *ALIASES)))]


@command()
def stats(
    name: _Page = PAGES[0].name,
    *,
    by: _Grouping | None = None,
    compare: Annotated[tuple[str, str] | None, Value("A B")] = None,
    look: bool = False,
    since: Day = "",
    format_: Literal["text", "json", "jsonl", "csv"] | None = None,
) -> None:
    """Answer three questions: is the reviewer worth it, is it getting better, what does it cost. PAGE has the rest.

    Pages: summary, reviewer, outcomes, cost, writing.

    Args:
        by: Group the revise rate by this property; prompt and model are the reviewer's.
        compare: Instead, compare the revise rates of two prompt versions, models, projects or kinds.
        look: First look for landed commits that were reverted.
        since: Only since this day, e.g. 2026-11-03, or the last 12h, 7d, 8w.
        format_: Text, one JSON document, or one figure per row as JSON lines or CSV.
    """
    if given("--json") and format_ not in (None, "json"):
        raise UsageError(f"--json and --format {format_} contradict each other.", hint="Use one of them.")
    form = "json" if given("--json") else format_ or "text"
    if compare and form not in ("text", "json"):
        raise UsageError(f"A comparison cannot be printed as {form}.", hint="Use --json.")
    if look:
        _look_for_reverts()
    page = next(page for page in PAGES if page.name == name)
    question = PageQuestion(ALIASES.get(by or "", by or ""), since_utc(since))
    with acting.reading(session.state_paths()) as store, store.snapshot():
        found = (
            [comparison(store, *compare, question.by, question.since)]
            if compare
            else page.read(store, question)
        )
        beside = {"rehearsal": store.rehearsal}
    if form != "text":
        figures = found[0].data if compare else document(found)
        output.emit(exported(page.name, figures | beside, form).rstrip("\n"))
        return
    if beside["rehearsal"]:
        output.say(SIMULATED, bold=True)
    tell(found, page.missing)


def _look_for_reverts() -> None:
    from navigator.actions.undo import LookForReverts

    for one in session.act(LookForReverts()).told:
        output.note(str(one))


def since_utc(text: str) -> str:
    """A day, a moment, or an age such as 7d as the UTC time that it began; "" for none.

    Raises:
        UsageError: it is none of these.
    """
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
    output.table(rows, *heads)


@command()
def report(
    file: Annotated[Path | None, Value("[FILE.html]")] = None, *, overwrite: bool = False, since: Day = ""
) -> None:
    """Say what happened: what was done, what waits, what went wrong and what to do about it, what it cost.

    With FILE.html, write it to one page, with what waits and the three answers, that needs no other file and no network.

    Args:
        overwrite: Replace FILE if it exists.
        since: Since this day, e.g. 2026-11-03, or the last 12h, 7d, 8w. Without it: the 24 hours before the newest run ended.
    """
    from navigator.sheet.account import account

    moment = since_utc(since)
    if file is not None:
        _write_page(file, moment, overwrite=overwrite)
        return
    with session.reading() as store, store.snapshot():
        if given("--json"):
            output.print_json(account(store, moment).document() | {"rehearsal": store.rehearsal})
        else:
            tell_account(store, moment)


def tell_account(store: Reader, since: str) -> None:
    """Print what happened since a UTC time; "": in the newest night."""
    from navigator.sheet.account import account, folded, lines

    title, *rest = lines(folded(account(store, since)))
    output.say(title, bold=True)
    output.say("\n".join(rest))


def _write_page(file: Path, moment: str, *, overwrite: bool) -> None:
    from navigator.config.paths import write_new
    from navigator.engine.acting import report_page

    if os.path.lexists(file) and not overwrite:
        raise Conflict(f"{file} exists.", hint="Choose another name, or replace it with --overwrite.")
    with session.reading() as store:
        page = report_page(session.state_paths(), store, moment, output.note)
    try:
        write_new(file, page.encode())
    except OSError as error:
        missing = not file.parent.exists()
        hint = f"Make its folder first: `mkdir -p {file.parent}`." if missing else "Choose another place."
        raise UsageError(f"{file} cannot be written: {error.strerror}.", hint=hint) from error
    output.say(f"Wrote {file}.")
