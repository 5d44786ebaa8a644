"""`navigator backtest`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from navigator.actions.conducting import PrepareExam
from navigator.cli import output
from navigator.cli.exam import prepared
from navigator.cli.housekeeping import moment_of
from navigator.cli.session import complete_projects, reading, take_config_projects
from navigator.model.states import PAST
from navigator.model.text import plural

if TYPE_CHECKING:
    from navigator.figures.exam import Backtest
    from navigator.model.records import PreparedProject


@click.command()
@click.argument("projects", nargs=-1, shell_complete=complete_projects, metavar="[PROJECT]...")
@click.option(
    "--since", default="", metavar="D", help="Only fixes since this day, e.g. 2026-11-03, or the last 7d, 8w."
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Bugs per project, at most; else 40.")
@output.JSON
def backtest(projects: tuple[str, ...], since: str, limit: int | None, as_json: bool) -> None:
    """Find the commits that brought in the bugs you fixed, and say how many of them the reviewer catches.

    It reads each as it was, mixed with innocent ones, in slots that no review needs; `navigator exam run` asks now.
    Run this again for the result so far.
    """
    from navigator.exam.backtest import document
    from navigator.sheet.statistics.page import utc_text
    from navigator.sheet.statistics.reviewer import read_backtest

    take_config_projects()
    moment = datetime.fromisoformat(utc_text(moment_of(since) or since)).timestamp() if since else 0
    args = {"projects": projects, "limit": limit, "past": True, "since": max(0, int(moment))}
    made = prepared(PrepareExam.read(args))
    with reading() as store:
        ids = {store.project(name).id for name in projects}
        found, reviewer = read_backtest(store, ids)
        items = [
            item for item in store.exam_items() if item.source in PAST and (not ids or item.project_id in ids)
        ]
    if as_json:
        history = [one.model_dump(mode="json") for one in made]
        output.print_json({"projects": history} | document(found, reviewer))
        return
    for one in made:
        _history(one)
    _result(found, reviewer, len(items))


def _history(one: PreparedProject) -> None:
    output.say(one.project, bold=True)
    if one.problem:
        output.say(f"  {one.problem} {one.hint}")
    for count in one.sources.values():
        output.say(f"  Of {count.found:,} fixes {count.kept:,} lead to a commit each.")
        for reason, number in sorted(count.rejected.items(), key=lambda held: (-held[1], held[0])):
            output.say(f"  {number:,} left out: {reason}")
        output.say(f"  Asked about: {plural(one.faulty, 'bug')}, {plural(one.clean, 'innocent commit')}.")
    if one.ended:
        output.say(f"  Not proved by tests: {one.ended}")


def _result(found: Backtest, reviewer: str, items: int) -> None:
    from navigator.cli.stats import print_table
    from navigator.exam.backtest import by_size, how_sure, worth_reading
    from navigator.sheet.statistics.page import share_table
    from navigator.sheet.statistics.reviewer import backtest_words

    output.say()
    output.prose(backtest_words(found), bold=True)
    if left := items - len(found.bugs) - len(found.innocent) - found.unread:
        output.prose(f"{plural(left, 'commit')} to ask: `navigator exam run --items {left}` asks now.")
    if not found.bugs:
        return
    rows = [("caught", found.caught), *((f"  {name} lines", one) for name, one in by_size(found))]
    print_table(share_table("BUGS", [*rows, ("innocent, with a finding", found.flagged)], reviewer))
    output.prose(how_sure(found))
    for title, cases in zip(("Caught", "Missed"), worth_reading(found), strict=True):
        for case in cases:
            item = case.item
            fix = f"{item.evidence['fix'][:12]} {item.evidence['fix_subject']}"
            output.prose(f"{title}: {item.origin.rpartition(':')[2][:12]} {item.title}")
            output.prose(f"{item.path}:{item.line}, fixed by {fix}", "  ")
