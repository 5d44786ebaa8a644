"""What the conductor finds out in mid-session: what is really loaded, and what is new in projects' repositories.

An external swap, a server that died: the look costs next to nothing, since it is taken every few seconds for as long as the
conductor lives: the process table, a unit's state or the list of models. Never SGLang's `/health`, which generates a token each
time, and which counts a server as dead that is merely busy with a long prompt. Only where the look disagrees with what is
believed is the strategy's own, thorough question asked.

In repositories, new are commits that hooks noted, and those on branches of `review_branches`, and what became of commits that
landed. A commit is one task, whoever names it and how often; a note is deleted after its task is in the store. So a crash at any
point loses nothing and doubles nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from navigator.engine.conductor_state import ConductorState
from navigator.engine.residency import Residency
from navigator.git.hook import noted_commits
from navigator.journey.dependencies import Dependencies
from navigator.journey.recovery import Storage
from navigator.model.errors import NavigatorError
from navigator.model.models import utc_now
from navigator.model.states import Role
from navigator.model.text import safe_line
from navigator.swap.base import Sighting
from navigator.swap.ssh import ConnectionLost

log = logging.getLogger(__name__)

THOROUGH_AFTER = 3
"""Failed calls in a row after which a server that is there, but answers nothing, is asked whether it is well."""


_SECOND_LOOK = 0.2
"""Seconds between the two looks that a death needs."""


class Reconciler:
    """Compares what is believed with what is there.

    Args:
        wake: called when they differed.
    """

    def __init__(
        self,
        deps: Dependencies,
        live: ConductorState,
        residency: Residency,
        storage: Storage,
        wake: Callable[[], None],
    ) -> None:
        self._deps = deps
        self._live = live
        self._residency = residency
        self._storage = storage
        self._wake = wake

    async def look(self, *, failures: int = 0) -> None:
        """Look once, and have the rest of the conductor know what was seen.

        Args:
            failures: calls that failed in a row just now.
        """
        live, strategy = self._live, self._deps.servers.strategy
        if strategy.both_resident or live.swapping_to is not None:
            return
        believed = live.resident
        try:
            seen = await strategy.look(believed)
            if seen.dead:
                # One broken connection is no dead server: only one that is still not there a moment later.
                await asyncio.sleep(_SECOND_LOOK)
                seen = await strategy.look(believed)
            if seen.resident is believed and failures >= THOROUGH_AFTER:
                seen = Sighting(
                    await strategy.resident(), dead=True, failure="timeout", detail="it answers nothing"
                )
            elif seen.sure and seen.resident is not None and seen.resident is not believed:
                # Somebody loads another model manually: it counts from when it answers.
                seen = Sighting(await strategy.resident())
        except ConnectionLost as error:
            self._residency.note_outage(str(error))
            return
        except (NavigatorError, OSError) as error:
            log.debug("resident model unknown: %s", error)
            return
        if self._residency.note_reached():
            self._wake()
        moved = live.swapping_to is not None or live.resident is not believed
        if moved or not seen.sure or seen.resident is believed:
            return
        await self._differs(believed, seen)
        self._wake()

    async def _differs(self, believed: Role | None, seen: Sighting) -> None:
        await self._residency.forget(believed, seen.resident)
        if seen.resident is not None:
            self._residency.outside(believed, seen.resident)
            await self._residency.examine()
            return
        assert believed is not None
        self._live.resident = None
        if seen.dead:
            self._died(believed, seen)
        else:
            log.info("%s was unloaded by its server", believed.value)
        with self._storage.writing("what is resident"):
            self._residency.note()

    def _died(self, role: Role, seen: Sighting) -> None:
        """It is started again when there is work for it, twice in one residency, and then no more."""
        words = safe_line(seen.detail)[-2000:]
        count = self._live.died(role, words or "see its log")
        log.error("the %s's server died (%d): %s %s", role.value, count, seen.failure, words)
        died = {"failure": seen.failure or "crashed", "detail": words, "deaths": count}
        self._storage.event("that a server died", "server_died", role=role.value, **died)
        self._residency.note_given_up(role)


POLL_SECONDS = 3.0


class Incoming:
    """Polls every project's repository for new commits (noted by hooks, or on `review_branches`) and queues a review of each."""

    def __init__(self, deps: Dependencies, storage: Storage) -> None:
        self._deps = deps
        self._storage = storage
        self._troubled: dict[int, str] = {}

    async def run(self) -> None:
        """For as long as the conductor lives."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
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


REVERTS_LAST_CHECKED = "reverts_looked"
"""The stored moment of the last look for reverted commits."""

LOOK_AGAIN = timedelta(hours=6)
"""How often the repositories are looked at."""

_IDLE_PAUSE = 60.0
"""Seconds between checks whether anything is due."""


class RevertWatch:
    """Periodically checks what became of landed commits and of findings, while nothing else runs."""

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
        last = self._deps.reader.meta(REVERTS_LAST_CHECKED, str)
        if not isinstance(last, str):
            return True
        return datetime.now(UTC) - datetime.fromisoformat(last.replace("Z", "+00:00")) >= LOOK_AGAIN

    async def look(self) -> None:
        """Look at one project after the other, until work comes; those that are left wait for the next time."""
        from navigator.exam.blame import look_at_findings
        from navigator.journey.reverts import look_for

        with self._storage.writing("when commits were looked for"), self._deps.store.transaction() as tx:
            tx.set_meta(REVERTS_LAST_CHECKED, utc_now())
        for project in self._deps.reader.projects():
            if not self._at_rest():
                return
            with self._storage.writing(f"what became of {project.name}'s commits"):
                await look_for(self._deps, project)
                await look_at_findings(self._deps, project)
