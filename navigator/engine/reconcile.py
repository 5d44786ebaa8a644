"""What is really loaded, looked at in mid-session: an external swap, a server that died.

The look costs next to nothing, since it is taken every few seconds for as long as the conductor lives: the process table, a
unit's state or the list of models. Never SGLang's `/health`, which generates a token each time, and which counts a server as
dead that is merely busy with a long prompt. Only where the look disagrees with what is believed is the strategy's own, thorough
question asked.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from navigator.engine.conductor_state import ConductorState
from navigator.engine.residency import Residency
from navigator.journey.dependencies import Dependencies
from navigator.journey.recovery import Storage
from navigator.model.errors import NavigatorError
from navigator.model.states import Role
from navigator.model.text import safe_line
from navigator.swap.base import Sighting
from navigator.swap.remote.ssh import ConnectionLost

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
        live, strategy = self._live, self._deps.strategy
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
