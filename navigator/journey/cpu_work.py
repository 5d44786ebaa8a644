"""What the CPU does for the tasks, by the clock: how much of a swap was used while the GPU could answer nothing."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

_T = TypeVar("_T")


class CpuWork:
    """Intervals of work that needs no model, by kind. Those that ended before the last swap are forgotten."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[str, float]] = {}
        self._ended: list[tuple[str, float, float]] = []
        self._next = 0

    async def during(self, kind: str, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do some work, and note when it ran, however it ends."""
        number, self._next = self._next, self._next + 1
        self._running[number] = (kind, time.monotonic())
        try:
            return await work()
        finally:
            _, began = self._running.pop(number)
            self._ended.append((kind, began, time.monotonic()))

    def forget(self) -> None:
        """A swap begins: what ended before it fills nothing."""
        self._ended.clear()

    def between(self, start: float, end: float) -> tuple[float, dict[str, float]]:
        """Seconds from `start` to `end` (monotonic) in which any work ran, and the seconds of work by kind, added up."""
        running = [(kind, began, end) for kind, began in self._running.values()]
        inside = sorted(
            (max(start, began), min(end, done), kind)
            for kind, began, done in (*self._ended, *running)
            if began < end and done > start
        )
        by_kind: dict[str, float] = {}
        covered, reached = 0.0, start
        for began, done, kind in inside:
            by_kind[kind] = by_kind.get(kind, 0.0) + done - began
            covered += max(0.0, done - max(began, reached))
            reached = max(reached, done)
        return covered, by_kind
