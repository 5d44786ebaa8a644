"""After a crash, or a session that was cut off: every task that a stage held is taken back to where it can go on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from navigator.journey.checking import SCRATCH
from navigator.journey.dependencies import Dependencies
from navigator.journey.moves import take_back
from navigator.model.states import TaskState
from navigator.sandbox.suite import end_strays, sweep
from navigator.store.database import free_bytes, is_low
from navigator.store.errors import DatabaseCorrupt, StoreError

log = logging.getLogger(__name__)


async def recover(deps: Dependencies) -> int:
    """Requeue what was in progress; returns how many tasks moved. Calling it twice changes nothing more.

    A task in `generating` returns to `queued` or, in a later round, to `revising`; its stored answer, if the crash came
    after it, is judged then without a new call. A task in `checking` stays: its answer is stored. A cut landing is
    closed by looking at the reference.
    """
    moved = 0
    swept = await asyncio.to_thread(sweep, deps.paths.root / SCRATCH)
    if swept:
        log.info("recovery: %d folders of cut-off checks taken away", swept)
    if deps.paths.agents.is_dir():
        await asyncio.to_thread(end_strays, deps.paths.agents)
        left = await asyncio.to_thread(sweep, deps.paths.agents, "")
        log.info("recovery: %d folders of agents taken away", left)
    for task in deps.reader.tasks(states={TaskState.GENERATING, TaskState.REVIEWING}):
        moved += deps.move(take_back, task)
    if deps.reader.journal_pending():
        from navigator.journey.land import recover_landings

        moved += await recover_landings(deps)
    if moved:
        log.info("recovery: %d tasks taken back", moved)
    return moved


# What a session does when it cannot write things down: no room, somebody's lock, a damaged database.


class Storage:
    """Watches the disk and the store for one session.

    Args:
        stop: ends the session; called once the database is damaged.

    Attributes:
        full: the disk's reserve was touched when it was last looked at.
        damage: what broke the database, for the session to end with.
    """

    def __init__(self, deps: Dependencies, stop: Callable[[str], None]) -> None:
        self._deps = deps
        self._stop = stop
        self._cut_off: set[str] = set()
        self.full = False
        self.damage: DatabaseCorrupt | None = None

    def look(self) -> bool:
        """Whether the disk is full: work in progress continues, and nothing new starts until there is space again."""
        low = is_low(self._deps.paths.root)
        if low is not self.full:
            self.full = low
            free = free_bytes(self._deps.paths.root) // 1_048_576
            said = (
                "disk full (%d MB free): no new work is started"
                if low
                else "disk space is available again: %d MB"
            )
            log.warning(said, free)
            self.event("the state of the disk", "disk_low" if low else "disk_free", free_mb=free)
        return low

    @contextmanager
    def writing(self, what: str) -> Iterator[None]:
        """For what may be left out when it cannot be written down."""
        try:
            yield
        except DatabaseCorrupt as error:
            self.broke(error)
        except StoreError as error:
            log.warning("%s was not written down: %s", what, error)

    def event(self, what: str, kind: str, **data: Any) -> None:
        """Write an event down, which may be left out; `what` says in words what it tells."""
        with self.writing(what), self._deps.store.transaction() as tx:
            tx.event(kind, data=data)

    def broke(self, error: DatabaseCorrupt) -> None:
        """Nothing can be written down any more: the session ends."""
        log.error("%s", error)
        self.damage = self.damage or error
        self._stop("the database is damaged")

    def cut_off(self, task_id: str, error: Exception) -> None:
        """Note a task whose stage could not write down what it did."""
        self._cut_off.add(task_id)
        log.warning("%s: taken up again later: %s", task_id, error)

    def take_back(self, busy: frozenset[str]) -> None:
        """Put the tasks that were cut off, and that no stage holds, where they can be taken up again."""
        for task_id in sorted(self._cut_off - busy):
            self._deps.move(take_back, self._deps.reader.task(task_id))
            self._cut_off.discard(task_id)
