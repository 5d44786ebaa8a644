"""`navigator exam` and `navigator backtest`: how far the reviewer's verdict can be trusted."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from navigator.actions.conducting import PrepareExam, RunExam
from navigator.cli import output, session
from navigator.cli.command import AtLeast1, Commands, Day, ProjectNames, command
from navigator.engine.following import ConductorClient
from navigator.engine.wire import NoConductor, Result
from navigator.figures.page import PageQuestion, brief, since_utc
from navigator.figures.reviewer import exam_tables, read_backtest
from navigator.model.records import PreparedProject
from navigator.model.states import PAST
from navigator.model.text import safe_line

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths

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

    made = prepare_items({"projects": projects, "limit": limit, "synthetic": synthetic})
    nothing = bool(made) and all(one.problem for one in made)
    output.show(
        {"projects": made}, lambda _: output.tables(map(prepared_table, made), _NO_PROJECTS), code=3 * nothing
    )


def prepare_items(document: dict[str, Any]) -> list[PreparedProject]:
    """Have the conductor prepare exam items, or prepare them here if none is running."""
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
    made = prepare_items({"projects": projects, "limit": limit, "past": True, "since": max(0, int(moment))})
    with session.reading() as store:
        ids = {store.project(name).id for name in projects}
        found, reviewer = read_backtest(store, ids)
        items = [
            item for item in store.exam_items() if item.source in PAST and (not ids or item.project_id in ids)
        ]

    shown = [*map(traced_table, made), backtest_table(found, reviewer, len(items))]
    output.show({"projects": made} | backtest_document(found, reviewer), lambda _: output.tables(shown, ""))
