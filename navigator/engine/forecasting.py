"""Holds forecasts to account: notes what is expected of the queue when it begins, and what it took when it is done."""

from __future__ import annotations

import time
from collections.abc import Iterable

from navigator.journey.dependencies import Dependencies
from navigator.journey.storage_faults import Storage
from navigator.model.models import utc_now
from navigator.model.records import ForecastRecord
from navigator.model.snapshot import TaskView
from navigator.model.states import TaskState
from navigator.sheet.finish import FORESEEN_STATES, NEEDED, time_to_finish
from navigator.sheet.measured import measured_figures

_SETTLED = 2.0
"""Seconds without a new task after which a forecast is made: tasks are often added one after the other."""

_Key = tuple[str, int]
"""A task and its attempt: a retried task is other work."""


class ForecastLog:
    """One forecast at a time, for all that is queued. One whose tasks changed is compared with nothing, and another one made."""

    def __init__(self, deps: Dependencies, storage: Storage) -> None:
        self._deps = deps
        self._storage = storage
        self._number = 0
        self._began = 0.0
        self._of: frozenset[_Key] = frozenset()
        self._present: frozenset[_Key] | None = None
        self._settled = 0.0

    def look(self, tasks: Iterable[TaskView], *, swapping: bool) -> None:
        """The loop's tasks, at every step. What is left of a swap under way is not known: none is made meanwhile."""
        now = time.monotonic()
        present = frozenset((task.id, task.attempt) for task in tasks if task.state in FORESEEN_STATES)
        came = self._present is not None and bool(present - self._present)
        self._present = present
        if came:
            self._settled = now + _SETTLED
        if self._number and came:
            self._end("changed", now)
        elif self._number and not present:
            self._end("changed" if self._cancelled() else "done", now)
        elif present and not self._number and not swapping and now >= self._settled:
            self._begin(present, now)

    def close(self) -> None:
        """The session ends."""
        if self._number:
            self._end("interrupted", time.monotonic())

    def _begin(self, present: frozenset[_Key], now: float) -> None:
        deps = self._deps
        figures, names = measured_figures(deps.reader, deps.settings.swap)
        measured = set(names) >= NEEDED
        if deps.reader.rehearsal and not measured:
            return  # a real GPU's published speeds say nothing about a simulation
        expected = time_to_finish(deps.reader, deps.settings, figures)
        if expected is None:
            return
        with self._storage.writing("a forecast"), deps.store.transaction() as tx:
            self._number = tx.add_forecast(
                ForecastRecord(
                    tasks=expected.tasks,
                    seconds=expected.seconds,
                    low=expected.low,
                    high=expected.high,
                    swaps=expected.swaps,
                    source="measured" if measured else "published",
                    made=utc_now(),
                )
            )
        self._of, self._began = present, now

    def _end(self, outcome: str, now: float) -> None:
        with self._storage.writing("what came of a forecast"), self._deps.store.transaction() as tx:
            tx.end_forecast(self._number, outcome, now - self._began if outcome == "done" else 0.0)
        self._number = 0

    def _cancelled(self) -> bool:
        """Whether any task ended because the developer cancelled it: what was left undone took no time."""
        return any(
            self._deps.reader.task(identifier).state is TaskState.CANCELLED for identifier, _ in self._of
        )
