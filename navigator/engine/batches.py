"""Batches: the proposals reviewed in one residency of the reviewer, and with them the branches that they land on."""

from __future__ import annotations

import time

from navigator.journey.dependencies import Dependencies
from navigator.model.models import utc_now
from navigator.model.states import LOOP_TASK_STATES
from navigator.store.reads.reader import Reader


def batch_name(reader: Reader, now: str) -> str:
    """The next batch's name: the day and letters, `2026-11-20-a` … `-z`, `-aa`."""
    day = now[:10]
    number = sum(batch.name.startswith(f"{day}-") for batch in reader.batches()) + 1
    letters = ""
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("a") + digit) + letters
    return f"{day}-{letters}"


class Batches:
    """The batch that is open, if one is.

    Attributes:
        name: of the open batch, "" where none is.
    """

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._last_work = 0.0
        self.name = ""

    def take_in(self, task_id: str) -> None:
        """The task's open proposal is about to be reviewed: it belongs to this batch."""
        with self._deps.store.transaction() as tx:
            if not self.name:
                self.name = batch_name(tx.read, utc_now())
                tx.add_batch(self.name)
            tx.set_batch([tx.read.open_proposal(task_id).id], self.name)

    def end(self) -> None:
        """What is reviewed from now on belongs to another batch."""
        if not self.name:
            return
        with self._deps.store.transaction() as tx:
            tx.end_batch(self.name)
        self.name = ""

    def end_if_quiet(self, *, until: str) -> None:
        """Where both models are resident no swap ends a batch: the session does.

        A conductor that stays ends it once nothing is left to do and nothing came for `[batch] quiet_minutes`: not between
        two tasks, or each project would get a branch for each of them.
        """
        if not self.name or until or not self._deps.strategy.both_resident:
            return
        now = time.monotonic()
        if self._deps.reader.tasks(states=LOOP_TASK_STATES, limit=1):
            self._last_work = now
        elif now >= self._last_work + 60 * self._deps.settings.batch.quiet_minutes:
            self.end()
