"""`navigator stats` and `navigator report`: what happened, counted and told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click

from navigator.cli import output, session
from navigator.cli.command import Day, Value, command, switch_given
from navigator.config.paths import write_new
from navigator.engine import acting
from navigator.figures.page import PageQuestion, document, exported, since_utc
from navigator.figures.pages import PAGES
from navigator.figures.queries import GROUPINGS
from navigator.figures.reviewer import comparison
from navigator.model.errors import Conflict, UsageError
from navigator.model.text import SIMULATED
from navigator.sheet.account import account, folded, lines

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader

_Page = Annotated[str, Value("[PAGE]", type=click.Choice([page.name for page in PAGES]))]
_Grouping = Annotated[str, Value(type=click.Choice(GROUPINGS))]


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
    """Answer two questions: is the reviewer worth it, and what does it cost? PAGE has the rest.

    Pages: summary, reviewer, outcomes, cost, writing.

    Args:
        by: Group the revise rate by this property; prompt and model are the reviewer's.
        compare: Instead, compare the revise rates of two prompt versions, models, projects or kinds.
        look: First look for landed commits that were reverted.
        since: Only since this day, e.g. 2026-11-03, or the last 12h, 7d, 8w.
        format_: Text, one JSON document, or one figure per row as JSON lines or CSV.
    """
    form = output.form(format_)
    if compare and form not in ("text", "json"):
        raise UsageError(f"A comparison cannot be printed as {form}.", hint="Use --json.")
    if look:
        from navigator.actions.deciding import LookForReverts

        for one in session.act(LookForReverts()).told:
            output.note(str(one))
    page = next(page for page in PAGES if page.name == name)
    question = PageQuestion(by or "", since_utc(since))
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
    output.tables(found, page.missing)


@command()
def report(file: Annotated[Path | None, Value("[FILE.html]")] = None, *, since: Day = "") -> None:
    """Say what happened: what was done, what waits, what went wrong and what to do about it, what it cost.

    With FILE.html, write it to one page, with what waits and the three answers, that needs no other file and no network.

    Args:
        since: Since this day, e.g. 2026-11-03, or the last 12h, 7d, 8w. Without it: the 24 hours before the newest run ended.
    """
    moment = since_utc(since)
    if file is not None:
        _write_page(file, moment)
        return
    with session.reading() as store, store.snapshot():
        if switch_given("--json"):
            output.print_json(account(store, moment).document() | {"rehearsal": store.rehearsal})
        else:
            tell_account(store, moment)


def tell_account(store: Reader, since: str) -> None:
    """Print what happened since a UTC time; "": since 24 hours before the newest run ended."""
    title, *rest = lines(folded(account(store, since)))
    output.say(title, bold=True)
    output.say("\n".join(rest))


def _write_page(file: Path, moment: str) -> None:
    if os.path.lexists(file):
        raise Conflict(f"{file} exists.", hint="Choose another name.")
    with session.reading() as store:
        page = acting.report_page(session.state_paths(), store, moment, output.note)
    try:
        write_new(file, page.encode())
    except OSError as error:
        hint = "Choose a folder that exists and that you may write to."
        raise UsageError(f"{file} cannot be written: {error.strerror}.", hint=hint) from error
    output.say(f"Wrote {file}.")
