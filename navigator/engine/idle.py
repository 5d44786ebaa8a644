"""What the conductor does when nothing else is to be done: bounded work that statistics need."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from navigator.journey.dependencies import Dependencies
from navigator.journey.storage_faults import Storage
from navigator.model.models import utc_now

log = logging.getLogger(__name__)

LOOKED = "reverts_looked"
"""The stored moment of the last look for reverted commits."""

EVERY = timedelta(hours=6)
"""How often the repositories are looked at."""

_PAUSE = 60.0
"""Seconds between checks whether anything is due."""


class Idle:
    """Looks now and then what became of landed commits and of findings, while `at_rest` says that nothing else runs."""

    def __init__(self, deps: Dependencies, storage: Storage, at_rest: Callable[[], bool]) -> None:
        self._deps = deps
        self._storage = storage
        self._at_rest = at_rest

    async def run(self) -> None:
        """For as long as the conductor lives."""
        while True:
            await asyncio.sleep(_PAUSE)
            if self._at_rest() and self._due():
                try:
                    await self.look()
                except Exception:
                    # A defect here must not end a session that goes well without it; the next look is hours away.
                    log.exception("the look for reverted commits broke")

    def _due(self) -> bool:
        last = self._deps.reader.meta(LOOKED, str)
        if not isinstance(last, str):
            return True
        return datetime.now(UTC) - datetime.fromisoformat(last.replace("Z", "+00:00")) >= EVERY

    async def look(self) -> None:
        """Look at one project after the other, until work comes; those that are left wait for the next time."""
        from navigator.exam.blame import look_at_findings
        from navigator.journey.reverts import look_for

        with self._storage.writing("when commits were looked for"), self._deps.store.transaction() as tx:
            tx.set_meta(LOOKED, utc_now())
        for project in self._deps.reader.projects():
            if not self._at_rest():
                return
            with self._storage.writing(f"what became of {project.name}'s commits"):
                await look_for(self._deps, project)
                await look_at_findings(self._deps, project)
