"""What the conductor looks for in projects' repositories by itself: new commits to review, and what became of those that landed.

New are commits that hooks noted, and those on branches of `review_branches`. A commit is one task, whoever names it and how
often; a note is deleted after its task is in the store. So a crash at any point loses nothing and doubles nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from navigator.git.hook import noted_commits
from navigator.journey.dependencies import Dependencies
from navigator.journey.recovery import Storage
from navigator.model.errors import NavigatorError
from navigator.model.models import utc_now

log = logging.getLogger(__name__)

EVERY = 3.0
"""Seconds between looks."""


class Incoming:
    """Looks for such commits while the conductor runs."""

    def __init__(self, deps: Dependencies, storage: Storage) -> None:
        self._deps = deps
        self._storage = storage
        self._troubled: dict[int, str] = {}

    async def run(self) -> None:
        """For as long as the conductor lives."""
        while True:
            await asyncio.sleep(EVERY)
            await self.look()

    async def look(self) -> None:
        """Queue what is new in every project. A project that cannot be read is told once, and tried again."""
        for project in self._deps.reader.projects():
            try:
                noted = noted_commits(self._deps.paths.commits / str(project.id))
                if noted or project.review_branches:
                    from navigator.journey.existing import take_in

                    with self._storage.writing(f"new commits of {project.name}"):
                        await take_in(self._deps, project, noted)
                self._troubled.pop(project.id, None)
            except NavigatorError as error:
                if self._troubled.get(project.id) != str(error):
                    self._troubled[project.id] = str(error)
                    log.warning("%s: new commits cannot be read: %s", project.name, error)
            except Exception:
                # A defect here must not end a session that goes well without it; nothing is lost: the notes stay.
                log.exception("%s: the look for new commits broke", project.name)


# What became of landed commits and of findings: bounded work that statistics need, done when nothing else is.


LOOKED = "reverts_looked"
"""The stored moment of the last look for reverted commits."""

LOOK_AGAIN = timedelta(hours=6)
"""How often the repositories are looked at."""

_IDLE_PAUSE = 60.0
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
            await asyncio.sleep(_IDLE_PAUSE)
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
        return datetime.now(UTC) - datetime.fromisoformat(last.replace("Z", "+00:00")) >= LOOK_AGAIN

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
