"""How much work went on in a span: all of it counts by its kind, and work that still runs counts."""

from __future__ import annotations

import asyncio
import time

import pytest

from navigator.journey.dependencies import CpuWork


async def test_work_is_added_up_by_kind_and_running_work_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    work, release = CpuWork(1), [asyncio.Event() for _ in range(3)]
    jobs = [
        asyncio.create_task(work.during(kind, gate.wait))
        for kind, gate in zip(("checks", "checks", "landings"), release, strict=True)
    ]
    await asyncio.sleep(0)
    for number, moment in ((0, 104.0), (1, 106.0)):
        clock = moment
        release[number].set()
        await jobs[number]
    assert work.between(102.0, 106.0) == {"checks": 6.0, "landings": 4.0}
    clock = 108.0
    release[2].set()
    await jobs[2]
    assert work.between(107.0, 110.0) == {"landings": 1.0}
    assert work.between(108.0, 110.0) == {}
    work.forget()
    assert work.between(100.0, 110.0) == {}
    # Work that fails is noted, too.
    with pytest.raises(TypeError):
        await work.during("checks", lambda: None)  # type: ignore[arg-type,return-value]
    assert [*work.between(107.0, 110.0)] == ["checks"]
