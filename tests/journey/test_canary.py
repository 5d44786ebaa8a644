"""Servers that are healthy and answer garbage: found after a load and in mid-residency, through the conductor."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from navigator.cli.session import locked_dependencies
from navigator.config.settings import load_settings
from navigator.engine import conductor as conducting
from navigator.engine.conductor import Conductor, RunOptions
from navigator.figures.swaps import swap_stats
from navigator.model.states import Role, TaskState
from navigator.sheet.finish import measured_figures
from navigator.store.reads.reader import Reader
from navigator.tui.data.deck_snapshot import SwapProgress, swap_bar
from tests.journey.room import Room
from tests.journey.scripted_models import READER
from tests.journey.support import PATIENCE, REHEARSAL, Desk, hurry
from tests.journey.swaps import asked, settings

GARBAGE = "!" * 40


def outcomes(reader: Reader) -> list[tuple[str, str]]:
    events = reader.events(0, limit=100_000)
    return [(event.data["role"], event.data["outcome"]) for event in events if event.kind == "canary"]


def test_a_load_that_answers_garbage_is_a_failed_load(swapped: Room, tmp_path: Path) -> None:
    """Its health and its model's name are right: three loads, each undone, and no task is given to it."""
    room, models = swapped, swapped.models
    models.canary = lambda model: GARBAGE if model == READER else "1, 2, 3, 4, 5"
    task = room.queue()
    session = room.work()
    assert asked(tmp_path) == ["reviewer", "generator"] * 3
    assert (models.read_by, session["swaps"]) == ([], 0)
    assert "garbage" in session["problems"]["reviewer"]
    assert room.task(task).state is TaskState.AWAITING_REVIEW
    tries = room.read().swaps()
    assert [(swap.outcome, swap.failure) for swap in tries] == [("went_back", "garbage")] * 3
    first = ("generator", "well")  # it was loaded before the session
    assert outcomes(room.read()) == [first, *[("reviewer", "garbage")] * 3]
    assert "repeats one or two tokens" in tries[-1].reason
    # Off, it asks nothing, and what the model writes is judged by its form alone.
    room.config.write_text(settings(tmp_path, models.url) + "[canary]\nenabled = false\n")
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert len(outcomes(room.read())) == 4


def test_a_swap_lasts_until_the_first_answer_wherever_it_is_shown(swapped: Room) -> None:
    swapped.done()
    reader = swapped.read()
    made = [swap for swap in reader.swaps() if swap.to_role is Role.REVIEWER]
    (swap,) = made
    assert swap.phases[-1].name == "canary"
    assert swap.seconds >= sum(phase.seconds for phase in swap.phases) - 0.01
    figures, _ = measured_figures(reader, load_settings(swapped.config).swap)
    shown = swap_bar(SwapProgress("generator", "reviewer", 0.0), made, 1.0)
    (row,) = swap_stats(made)
    assert row.seconds is not None
    assert {figures.swap_in, shown.expected, row.seconds.median} == {swap.seconds}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk.make(tmp_path, REHEARSAL)
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(desk.config))
    monkeypatch.setenv("NAVIGATOR_STATE", str(desk.root))
    monkeypatch.setattr(conducting, "_HEARTBEAT", 3600.0)  # the test looks itself
    hurry(monkeypatch)
    return desk


def conducted(
    desk: Desk,
    spoilt: Path,
    session: Callable[[Any, Conductor], Awaitable[None]],
) -> None:
    """A conductor with the rehearsal's servers, which answer garbage while `spoilt` exists."""

    async def run() -> None:
        with locked_dependencies(desk.paths, time_scale=0.0) as world:
            world.strategy._options += ("--garbage-while", str(spoilt))
            conductor = Conductor(world, RunOptions())
            running = asyncio.create_task(conductor.run())
            while not desk.paths.socket.exists():
                await asyncio.sleep(0.005)
            try:
                await session(world, conductor)
            finally:
                conductor.stop("the test is over")
                await running

    asyncio.run(run())


async def loaded(conductor: Conductor, role: Role) -> None:
    deadline = time.monotonic() + PATIENCE
    conductor.swap_to(role)
    conductor._wake.set()
    while conductor._status()["resident"] != role.value or conductor._status()["swapping_to"]:
        assert time.monotonic() < deadline, f"the {role.value} was never loaded"
        await asyncio.sleep(0.01)


def test_a_later_load_that_went_bad_is_undone_and_tried_again(desk: Desk, tmp_path: Path) -> None:
    spoilt = tmp_path / "spoilt"

    async def session(world: Any, conductor: Conductor) -> None:
        await loaded(conductor, Role.REVIEWER)
        await loaded(conductor, Role.GENERATOR)
        spoilt.touch()
        async with world.lent_client(Role.GENERATOR) as client:
            assert await client.health(), "it is bad, and its health is well"
        deadline = time.monotonic() + PATIENCE
        conductor.swap_to(Role.REVIEWER)
        conductor._wake.set()
        while world.reader.swaps(1)[0].failure != "garbage" or conductor._status()["swapping_to"]:
            assert time.monotonic() < deadline, "the swap was never made"
            await asyncio.sleep(0.01)
        assert "answers garbage" in conductor._status()["problems"]["reviewer"]
        assert conductor._status()["canary"]["reviewer"]["outcome"] == "garbage"
        spoilt.unlink()
        await loaded(conductor, Role.REVIEWER)
        assert conductor._status()["problems"] == {}
        assert outcomes(world.reader)[-1] == ("reviewer", "well")

    conducted(desk, spoilt, session)
