"""`navigator exam`: the reviewer's exam."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from navigator.actions.conducting import PrepareExam, RunExam
from navigator.actions.wire import NoConductor
from navigator.cli import output
from navigator.cli.lazy import Commands
from navigator.cli.session import (
    carry_out,
    complete_projects,
    reading,
    state_paths,
    take_config_projects,
)
from navigator.engine.following import ConductorClient
from navigator.model.records import PreparedProject
from navigator.model.text import safe_line

if TYPE_CHECKING:
    from navigator.actions.wire import Result
    from navigator.config.paths import StatePaths


@click.group(cls=Commands)
def exam() -> None:
    """Find out how far the reviewer's verdict can be trusted."""


@exam.command("prepare")
@click.argument("projects", nargs=-1, shell_complete=complete_projects, metavar="[PROJECT]...")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Faulty items per project, at most.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    type=click.Choice(["reversed-fix", "mutant", "synthetic"]),
    help="Make only these; may be repeated. `synthetic` are 24 cases that come with Navigator.",
)
@output.JSON
def prepare(
    projects: tuple[str, ...],
    limit: int | None,
    sources: tuple[str, ...],
    as_json: bool,
) -> None:
    """Make the exam's items from PROJECTs, all if none is named: changes whose right verdict is known.

    Each is proved by the project's own tests in the sandbox. What was tried is remembered; interrupt it at any time.
    Exit code 3: nothing could be prepared for any project.
    """
    take_config_projects()
    made = prepared(
        PrepareExam.read(
            {
                "projects": projects,
                "limit": limit,
                "sources": [source.replace("-", "_") for source in sources],
            }
        )
    )
    if as_json:
        output.print_json({"projects": [one.model_dump(mode="json") for one in made]})
    else:
        _show_prepared(made)
    if made and all(one.problem for one in made):
        sys.exit(3)


def prepared(verb: PrepareExam) -> list[PreparedProject]:
    """Have the conductor prepare items, or do it here where none runs; progress goes to stderr."""
    from navigator.actions.alone import act_alone

    paths, args = state_paths(), verb.model_dump(mode="json")
    try:
        found = asyncio.run(_through_conductor(paths, args))
    except NoConductor:
        found = act_alone(paths, verb.op, args, on_live=_progress)
    return [PreparedProject.model_validate(one) for one in found["projects"]]


async def _through_conductor(paths: StatePaths, args: dict[str, Any]) -> Result:
    """Have the conductor do it, and show its progress.

    Raises:
        NoConductor: none answers.
    """
    client = ConductorClient(paths.socket, lambda message: _progress(message.get("live")))
    await client.connect()
    try:
        return await client.request(PrepareExam.op, args)
    finally:
        with suppress(NoConductor):
            await client.close()


def _progress(live: Any) -> None:
    said = live.get("exam") if isinstance(live, dict) else None
    if isinstance(said, dict):
        output.note(f"{safe_line(str(said.get('project')))}  {safe_line(str(said.get('said')))}")


def _show_prepared(made: Sequence[PreparedProject]) -> None:
    if not made:
        output.say("No projects. `navigator project add PATH` adds one.")
    for one in made:
        output.say(one.project, bold=True)
        if one.problem:
            output.say(f"  Nothing was prepared: {one.problem}")
            if one.hint:
                output.say(f"  {one.hint}")
        else:
            _counts(one)


def _counts(one: PreparedProject) -> None:
    rows = [
        (f"  {source.replace('_', ' ')}", count.found, count.known, count.tried, count.kept)
        for source, count in one.sources.items()
    ]
    output.emit(output.table(("  made from", "found", "known", "tried", "kept"), rows, right=range(1, 5)))
    for source, count in one.sources.items():
        for reason, number in sorted(count.rejected.items(), key=lambda held: (-held[1], held[0])):
            output.say(f"  {source.replace('_', ' ')}: {number} not kept: {reason}")
    output.say(
        f"  Items now: {one.faulty} faulty, {one.clean} clean. {one.runs} test runs in {output.duration(one.seconds)}; "
        f"{one.ended}."
    )


@exam.command("run")
@click.option(
    "--items", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="Items to ask."
)
@click.option("--writer", is_flag=True, help="Ask the writer's model, loaded now, to compare the two.")
@click.option("--yes", is_flag=True, help="Do not ask before a swap.")
@output.JSON
def run(items: int, writer: bool, yes: bool, as_json: bool) -> None:
    """Have the reviewer answer items now; a conductor has to run.

    Otherwise a few items are asked whenever the reviewer is loaded, within `[exam] share`. Reviews of proposals always go first.
    """
    carry_out(RunExam(items=items, writer=writer), as_json=as_json, yes=yes)


@exam.command("show")
@output.JSON
def show(as_json: bool) -> None:
    """Show what the reviewer caught and missed, and how often its REVISE is right."""
    from navigator.cli.stats import tell
    from navigator.sheet.statistics.page import PageQuestion, brief
    from navigator.sheet.statistics.reviewer import exam_tables

    with reading() as store:
        found = [brief(table) for table in exam_tables(store, PageQuestion())]
    figures = found[0].data
    if as_json:
        output.print_json(figures)
        return
    tell(found, "No exam item answered yet. `navigator exam prepare` makes items.")
    if any(figures["prepared"].values()):
        output.say("Items prepared: {faulty} faulty, {clean} clean.".format(**figures["prepared"]))
