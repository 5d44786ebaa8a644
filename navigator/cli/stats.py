"""`navigator stats`, `report`, `exam` and `backtest`: what happened, counted and told, and what the reviewer is worth."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from navigator.actions.conducting import PrepareExam, RunExam
from navigator.cli import output, session
from navigator.cli.command import AtLeast1, Commands, Day, ProjectNames, Value, command, given
from navigator.engine import acting
from navigator.engine.following import ConductorClient
from navigator.engine.wire import NoConductor
from navigator.figures.page import PageQuestion, document, exported, since_utc
from navigator.figures.pages import PAGES
from navigator.figures.queries import GROUPINGS
from navigator.figures.reviewer import comparison, exam_tables, read_backtest
from navigator.model.errors import Conflict, UsageError
from navigator.model.records import PreparedProject
from navigator.model.states import PAST
from navigator.model.text import SIMULATED, safe_line
from navigator.sheet.account import account, folded, lines

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths
    from navigator.engine.wire import Result
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
        if given("--json"):
            output.print_json(account(store, moment).document() | {"rehearsal": store.rehearsal})
        else:
            tell_account(store, moment)


def tell_account(store: Reader, since: str) -> None:
    """Print what happened since a UTC time; "": since 24 hours before the newest run ended."""
    title, *rest = lines(folded(account(store, since)))
    output.say(title, bold=True)
    output.say("\n".join(rest))


def _write_page(file: Path, moment: str) -> None:
    from navigator.config.paths import write_new
    from navigator.engine.acting import report_page

    if os.path.lexists(file):
        raise Conflict(f"{file} exists.", hint="Choose another name.")
    with session.reading() as store:
        page = report_page(session.state_paths(), store, moment, output.note)
    try:
        write_new(file, page.encode())
    except OSError as error:
        hint = "Choose a folder that exists and that you may write to."
        raise UsageError(f"{file} cannot be written: {error.strerror}.", hint=hint) from error
    output.say(f"Wrote {file}.")


# `navigator exam` and `navigator backtest`


_NO_PROJECTS = "No projects. `navigator project add PATH` adds one."


@click.group(cls=Commands)
def exam() -> None:
    """Find out how far the reviewer's verdict can be trusted."""


@command(exam)
def prepare(projects: ProjectNames = (), *, limit: AtLeast1 | None = None, synthetic: bool = False) -> None:
    """Make the exam's items from PROJECTs, all if none is named: changes whose right verdict is known.

    Each is proved by the project's own tests in the sandbox. What was tried is remembered; interrupt it at any time.
    Exit code 3: nothing could be prepared for any project.

    Args:
        limit: Faulty items per project, at most.
        synthetic: Instead, keep the 24 cases that come with Navigator.
    """
    from navigator.figures.caught import prepared_table

    made = prepared({"projects": projects, "limit": limit, "synthetic": synthetic})
    nothing = bool(made) and all(one.problem for one in made)
    output.show(
        {"projects": made}, lambda _: output.tables(map(prepared_table, made), _NO_PROJECTS), code=3 * nothing
    )


def prepared(document: dict[str, Any]) -> list[PreparedProject]:
    """Have the conductor prepare items, or do it here where none runs; progress goes to stderr."""
    from navigator.engine.alone import act_alone

    session.take_config_projects()
    paths, args = session.state_paths(), PrepareExam.read(document).model_dump(mode="json")
    try:
        found = asyncio.run(_through_conductor(paths, args))
    except NoConductor:
        found = act_alone(paths, PrepareExam.op, args, on_live=_progress)
    return [PreparedProject.model_validate(one) for one in found["projects"]]


async def _through_conductor(paths: StatePaths, args: dict[str, Any]) -> Result:
    """Have the conductor do it, and show its progress.

    Raises:
        NoConductor: none answers.
    """
    async with ConductorClient(paths.socket, lambda message: _progress(message.get("live"))) as client:
        return await client.request(PrepareExam.op, args)


def _progress(live: Any) -> None:
    said = live.get("exam") if isinstance(live, dict) else None
    if isinstance(said, dict):
        output.note(f"{safe_line(str(said.get('project')))}  {safe_line(str(said.get('said')))}")


@command(exam, yes=True)
def run(*, items: AtLeast1 = 20, writer: bool = False) -> None:
    """Have the reviewer answer items now; a conductor has to run.

    Otherwise a few items are asked whenever the reviewer is loaded, within `[exam] share`. Reviews of proposals always go first.

    Args:
        items: Items to ask.
        writer: Ask the writer's model, loaded now, to compare the two.
    """
    session.carry_out(RunExam(items=items, writer=writer))


@command(exam)
def show() -> None:
    """Show what the reviewer caught and missed, and how often its REVISE is right."""
    from navigator.figures.page import PageQuestion, brief

    with session.reading() as store:
        found = [brief(table) for table in exam_tables(store, PageQuestion())]

    def text(figures: dict[str, Any]) -> None:
        output.tables(found, "No exam item answered yet. `navigator exam prepare` makes items.")
        if any(figures["prepared"].values()):
            output.say("Items prepared: {faulty} faulty, {clean} clean.".format(**figures["prepared"]))

    output.show(found[0].data, text)


@command()
def backtest(
    projects: ProjectNames = (),
    *,
    since: Day = "",
    limit: AtLeast1 | None = None,
) -> None:
    """Find the commits that introduced the bugs you fixed, and say how many of them the reviewer catches.

    It sees each as it was, mixed with innocent ones, when no review is waiting; `navigator exam run` asks now.
    Run this again for the result so far.

    Args:
        since: Only fixes since this day, e.g. 2026-11-03, or the last 7d, 8w.
        limit: Bugs per project at most; 40 if not given.
    """
    from navigator.figures.caught import backtest_document, backtest_table, traced_table

    moment = datetime.fromisoformat(since_utc(since)).timestamp() if since else 0
    made = prepared({"projects": projects, "limit": limit, "past": True, "since": max(0, int(moment))})
    with session.reading() as store:
        ids = {store.project(name).id for name in projects}
        found, reviewer = read_backtest(store, ids)
        items = [
            item for item in store.exam_items() if item.source in PAST and (not ids or item.project_id in ids)
        ]

    shown = [*map(traced_table, made), backtest_table(found, reviewer, len(items))]
    output.show({"projects": made} | backtest_document(found, reviewer), lambda _: output.tables(shown, ""))
