"""A conductor that stays says when the next review starts and why, and knows its swaps as it measured them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from navigator.actions.wire import Result
from navigator.cli.session import locked_dependencies
from navigator.engine.conductor import Conductor, RunOptions
from navigator.model.states import TaskState
from navigator.schedule.forecast import PUBLISHED, Figures
from tests.journey.support import REHEARSAL, Desk, make_repository


def test_the_next_review_is_told_and_swaps_are_known_as_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk.make(tmp_path, REHEARSAL + "\n[batch]\nquiet_minutes = 10\n")
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(desk.config))
    desk.json(
        "project",
        "add",
        str(make_repository(tmp_path / "code", {"app.py": b"def load(path, found=[]):\n    return found\n"})),
    )
    desk.json("task", "add", "code", "Remove mutable default arguments from app.py")
    told: list[Result] = []

    async def run() -> Figures:
        with locked_dependencies(desk.paths, time_scale=0.0) as world:
            conductor = Conductor(world, RunOptions())
            running = asyncio.create_task(conductor.run())
            try:
                while world.reader.task("T1").state is not TaskState.AWAITING_REVIEW:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.2)
                told.append(conductor._status()["next_review"])
                assert conductor._live.figures.swap_in == PUBLISHED.swap_in  # nothing was swapped yet
                conductor.review_now()
                conductor._wake.set()
                while world.reader.task("T1").state in (TaskState.AWAITING_REVIEW, TaskState.REVIEWING):
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.2)
                return conductor._live.figures
            finally:
                conductor.stop("the test is over")
                await running

    figures = asyncio.run(asyncio.wait_for(run(), 120))
    (ahead,) = told
    assert ahead["why"] == "when no task came for 10 min"
    assert 590 <= ahead["seconds"] <= 600
    assert figures.swap_in < PUBLISHED.swap_in
