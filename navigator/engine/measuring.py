"""Swaps to and fro, to measure what they take: only while nothing waits for a model, and ended by whatever comes to wait."""

from __future__ import annotations

import logging

from navigator.engine.conductor_state import ConductorState
from navigator.engine.summary import SessionSummary
from navigator.journey.dependencies import Dependencies
from navigator.journey.storage_faults import Storage
from navigator.model.errors import Conflict
from navigator.model.states import LOOP_TASK_STATES, Role
from navigator.swap.base import OTHER

log = logging.getLogger(__name__)

COMPLETE = "complete"
NEW_WORK = "new work came"
BEGUN = "measuring_begun"
"""The event at the beginning: `swaps` to make."""
ENDED = "measuring_ended"
"""The event at the end: `reason` (`COMPLETE`, `NEW_WORK`, or what went wrong) and `swaps` made."""


class SwapMeasurement:
    """Asks for one swap after the other by `ConductorState.wanted`, as a person would, and looks for work before each.

    It ends on the role that was loaded when it began. New work ends it where it is: the scheduler knows which model
    that work needs.
    """

    def __init__(
        self, deps: Dependencies, live: ConductorState, session: SessionSummary, storage: Storage
    ) -> None:
        self._deps = deps
        self._live = live
        self._session = session
        self._storage = storage
        self._goal = 0
        self._asked = 0
        self._before = 0
        self._reason = ""
        self._stop = ""
        self._stay = False
        self._home: Role | None = None

    @property
    def running(self) -> bool:
        """Whether swaps are being measured."""
        return self._goal > 0

    def begin(self, round_trips: int) -> None:
        """Start; a first load is made beside, where nothing is loaded.

        Raises:
            Conflict: there is nothing to measure, something waits or runs, or a model cannot be loaded.
        """
        live, strategy = self._live, self._deps.strategy
        first = 0 if live.resident else 1
        goal = 2 * round_trips + first
        if strategy.both_resident:
            raise Conflict(
                f'Strategy "{strategy.name}" keeps both models loaded: there is no swap to measure.'
            )
        if waiting := self._work():
            tasks = "1 task waits or runs" if waiting == 1 else f"{waiting:,} tasks wait or run"
            raise Conflict(
                f"{tasks}: swaps are measured only while there is no work.",
                hint="`navigator run --until idle` finishes it first.",
            )
        for role, reason in live.given_up.items():
            raise Conflict(
                f"The {role.value} is disabled: {reason}", hint="`navigator swap to` tries it again."
            )
        self._goal, self._asked, self._reason, self._stop, self._stay = goal, 0, "", "", False
        self._before, self._home = len(self._session.swaps), live.resident or Role.GENERATOR
        log.info("measuring %d swaps", goal)
        with self._storage.writing("a measurement"), self._deps.store.transaction() as tx:
            tx.event(BEGUN, data={"swaps": goal})

    def stop(self, reason: str, *, stay: bool = False) -> bool:
        """End after the swap in progress, on the role that it began with unless `stay`; returns whether that is news."""
        if not self.running or self._stop:
            return False
        self._stop, self._stay = reason, stay
        return True

    def step(self) -> None:
        """Ask for the next swap, or end. Called before the scheduler decides."""
        live = self._live
        if not self.running or live.swapping_to is not None or live.wanted is not None:
            return
        if self._reason:
            self._end()
            return
        self._reason = self._over()
        if not self._reason:
            self._asked += 1
            live.wanted = OTHER[live.resident] if live.resident else self._home
        elif self._reason != NEW_WORK and not self._stay and live.resident is not self._home:
            live.wanted = self._home  # and ends after it
        else:
            self._end()

    def _over(self) -> str:
        """Why no further swap is made; "" while there is one to make."""
        made = self._session.swaps[self._before :]
        if self._stop:
            return self._stop
        if self._work():
            return NEW_WORK
        if made and made[-1].outcome != "done":
            return f"a swap failed: {made[-1].reason}"
        if len(made) < self._asked:
            return "a swap failed; the log says why"
        if self._live.resident is not (made[-1].to_role if made else self._live.resident):
            return "the models were swapped externally"
        return COMPLETE if len(made) >= self._goal else ""

    def _work(self) -> int:
        """Tasks that wait for the loop, or that it is working on."""
        return len(self._deps.reader.loop_tasks(LOOP_TASK_STATES)) + self._live.hurry

    def _end(self) -> None:
        made = len(self._session.swaps) - self._before
        log.info("measured %d of %d swaps: %s", made, self._goal, self._reason)
        self._goal = 0
        self._live.held_until = 0.0  # nobody asked for the model that is loaded now
        with self._storage.writing("the end of a measurement"), self._deps.store.transaction() as tx:
            tx.event(ENDED, data={"reason": self._reason, "swaps": made})
