"""Servers that are healthy and answer garbage: found after a load and in mid-residency, through the conductor."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from navigator.cli.doctor.command import _look
from navigator.cli.session import locked_dependencies
from navigator.client.body import ChatRequest
from navigator.config.settings import CanarySettings, load_settings
from navigator.engine import conductor as conducting
from navigator.engine.conductor import Conductor, RunOptions
from navigator.figures.swaps import swap_stats
from navigator.model.models import Canary, Event
from navigator.model.states import CanaryMoment, CanaryOutcome, Role, TaskState
from navigator.sheet.measured import measured_figures
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from navigator.tui.data.deck_snapshot import SwapProgress
from navigator.tui.data.meter import swap_bar
from tests.journey.room import Room
from tests.journey.scripted_models import READER
from tests.journey.support import PATIENCE, REHEARSAL, Desk, hurry
from tests.journey.swaps import asked, settings

GARBAGE = "!" * 40


def outcomes(reader: Reader) -> list[tuple[str, str, str]]:
    events = reader.events(0, limit=100_000)
    return [
        (event.data["role"], event.data["moment"], event.data["outcome"])
        for event in events
        if event.kind == "canary"
    ]


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
    first = ("generator", "load", "reference")  # it was loaded before the session
    assert outcomes(room.read()) == [first, *[("reviewer", "load", "garbage")] * 3]
    (warning,) = [check for check in _look(room.paths) if check.name == "reviewer canary"]
    assert (warning.state, "repeats one or two tokens" in warning.found) == ("warn", True)
    # Off, it asks nothing, and what the model writes is judged by its form alone.
    room.config.write_text(settings(tmp_path, models.url) + "[canary]\nenabled = false\n")
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert len(outcomes(room.read())) == 4


def test_a_swap_lasts_until_the_first_answer_wherever_it_is_shown(swapped: Room) -> None:
    swapped.done()
    reader = swapped.read()
    made = [swap for swap in reader.swaps() if swap.to_role is Role.REVIEWER]
    (answer,) = [one.seconds for one in reader.last_canaries() if one.role is Role.REVIEWER]
    (swap,) = made
    assert swap.phases[-1].name == "canary"
    assert swap.seconds >= sum(phase.seconds for phase in swap.phases) - 0.01
    assert swap.phases[-1].seconds >= round(answer, 3)  # it holds the question, and what it takes to ask
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
    monkeypatch.setattr(CanarySettings, "kv_usage", 1e-9)
    monkeypatch.setattr(conducting, "_HEARTBEAT", 3600.0)  # the test looks itself
    hurry(monkeypatch)
    return desk


def conducted(
    desk: Desk,
    spoilt: Path,
    session: Callable[[Any, Conductor], Awaitable[None]],
    on_event: Callable[[Event], None] | None = None,
) -> None:
    """A conductor with the rehearsal's servers, which answer garbage while `spoilt` exists."""

    async def run() -> None:
        with locked_dependencies(desk.paths, time_scale=0.0) as world:
            world.strategy._options += ("--garbage-while", str(spoilt))
            conductor = Conductor(world, RunOptions(), on_event)
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


def test_a_server_that_goes_bad_is_found_when_its_memory_fills_and_is_loaded_anew(
    desk: Desk, tmp_path: Path
) -> None:
    spoilt = tmp_path / "spoilt"

    def cured(event: Event) -> None:
        if event.kind == "swap_begun":
            spoilt.unlink(missing_ok=True)  # what a new process does for a server that went bad

    async def session(world: Any, conductor: Conductor) -> None:
        await loaded(conductor, Role.REVIEWER)
        await conductor._residency.examine()
        assert outcomes(world.reader) == [("reviewer", "load", "reference")]  # its memory is empty
        long = {"role": "user", "content": "a line of a long prompt\n" * 100}
        async with world.lent_client(Role.REVIEWER) as client:
            await client.chat(ChatRequest(messages=(long,), max_tokens=64, temperature=0, top_p=1))
        spoilt.touch()
        async with world.lent_client(Role.REVIEWER) as client:
            assert await client.health(), "it is bad, and its health is well"
        await conductor._residency.examine()
        status = conductor._status()
        assert status["resident"] == "generator"
        assert "nothing in common with the reference" in status["problems"]["reviewer"]
        assert status["canary"]["reviewer"]["outcome"] == "garbage"
        await loaded(conductor, Role.REVIEWER)
        assert conductor._status()["problems"] == {}
        assert outcomes(world.reader) == [
            ("reviewer", "load", "reference"),
            ("reviewer", "kv_full", "garbage"),
            ("generator", "load", "reference"),
            ("reviewer", "load", "same"),
        ]

    conducted(desk, spoilt, session, cured)
    kept: list[Canary] = Reader(open_reader(desk.paths.database)).last_canaries()
    assert {(one.role, one.moment, one.outcome) for one in kept} == {
        (Role.GENERATOR, CanaryMoment.LOAD, CanaryOutcome.REFERENCE),
        (Role.REVIEWER, CanaryMoment.LOAD, CanaryOutcome.SAME),
    }
    assert all(0 < one.tokens < 200 for one in kept)


def test_a_server_that_keeps_going_bad_is_given_up() -> None:
    memory = conducting.ConductorState()
    for _ in range(2):
        memory.went_bad(Role.REVIEWER, "garbage")
        memory.loaded(Role.REVIEWER)
        assert not memory.given_up
    memory.went_bad(Role.REVIEWER, "garbage")
    assert "went bad 3 times" in memory.given_up[Role.REVIEWER]
    memory.pardon(Role.REVIEWER)
    memory.went_bad(Role.REVIEWER, "garbage")
    assert not memory.given_up
