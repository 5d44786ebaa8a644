"""How much of a span had work going on: overlaps count once, and work that still runs counts."""

from __future__ import annotations

import asyncio
import time

import pytest

from navigator.figures.swaps import swap_stats
from navigator.journey.dependencies import CpuWork
from navigator.model.models import Swap
from navigator.model.states import Role


async def test_overlaps_count_once_and_running_work_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    work, release = CpuWork(), [asyncio.Event() for _ in range(3)]
    jobs = [
        asyncio.create_task(work.during(kind, gate.wait))
        for kind, gate in zip(("checks", "checks", "landings"), release, strict=True)
    ]
    await asyncio.sleep(0)
    for number, moment in ((0, 104.0), (1, 106.0)):
        clock = moment
        release[number].set()
        await jobs[number]
    assert work.between(102.0, 106.0) == (4.0, {"checks": 6.0, "landings": 4.0})
    clock = 108.0
    release[2].set()
    await jobs[2]
    assert work.between(107.0, 110.0) == (1.0, {"landings": 1.0})
    assert work.between(108.0, 110.0) == (0.0, {})
    work.forget()
    assert work.between(100.0, 110.0) == (0.0, {})


async def test_work_that_fails_is_noted_and_raises() -> None:
    async def breaks() -> None:
        raise ValueError("no")

    work, began = CpuWork(), time.monotonic()
    with pytest.raises(ValueError, match="no"):
        await work.during("checks", breaks)
    assert list(work.between(began - 1, time.monotonic() + 1)[1]) == ["checks"]


def test_the_share_is_of_the_seconds_of_swaps_where_somebody_looked() -> None:
    swaps = [
        Swap(
            from_role=Role.GENERATOR, to_role=Role.REVIEWER, strategy="systemd", started="2026-01-01",
            seconds=seconds, filled_seconds=filled, filled_with={"checks": 2 * filled} if filled > 0 else {},
        )
        for seconds, filled in ((40.0, 10.0), (40.0, 0.0), (40.0, -1.0))
    ]  # fmt: skip
    (row,) = swap_stats(swaps)
    assert row.filled is not None
    assert (row.filled.n, row.filled.share, row.filled.work) == (2, 0.125, {"checks": 20.0})
