"""The model calls under way: how many each role may have, found while they run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from navigator.config.settings import Settings
from navigator.model.errors import NavigatorError
from navigator.model.models import Usage
from navigator.model.states import Role
from navigator.schedule.inflight import Inflight, ServerQueue, TimedAnswer

if TYPE_CHECKING:
    from navigator.client.client import ModelClient

log = logging.getLogger(__name__)

_LOOKS = 1.0
"""Seconds between looks at the queue of a server that has requests of ours."""


class Lender(Protocol):
    """Who has the connections: `Dependencies`."""

    def lent_client(self, role: Role) -> AbstractAsyncContextManager[ModelClient]:
        """A role's connection for a while."""


@dataclass
class _Flying:
    """The requests of one role: how many, and the integral of that over time."""

    limit: Inflight
    count: int = 0
    area: float = 0.0
    at: float = field(default_factory=time.monotonic)

    def change(self, by: int) -> float:
        """Count one more or less; returns the integral until now, in request seconds."""
        now = time.monotonic()
        self.area += self.count * (now - self.at)
        self.count, self.at = self.count + by, now
        return self.area


@dataclass
class Asking:
    """One call under way. `usage` is what its whole answer took; None without one."""

    usage: Usage | None = None


class Requests:
    """What is asked of the models now. It belongs to one event loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._roles: dict[Role, _Flying] = {}

    def limit(self, role: Role) -> int:
        """How many requests the role is to have in flight at most."""
        return self._flying(role).limit.limit

    def running(self, role: Role) -> int:
        """How many it has."""
        return self._flying(role).count

    def begin(self, role: Role) -> None:
        """The role's server goes or comes: what was found out about it is forgotten."""
        self._flying(role).limit = Inflight.begin(self._settings.server(role).max_inflight)

    @contextmanager
    def asking(self, role: Role) -> Iterator[Asking]:
        """Around one call. Whoever makes it sets `usage` when the answer is whole."""
        flying, one, since = self._flying(role), Asking(), time.monotonic()
        begun = flying.change(+1)
        try:
            yield one
        finally:
            area, seconds = flying.change(-1) - begun, time.monotonic() - since
            if one.usage is not None and seconds > 0:
                before = flying.limit.limit
                seen = TimedAnswer(one.usage.completion_tokens, seconds, area / seconds)
                flying.limit = flying.limit.answered(seen)
                _log_limit(role, before, flying.limit)

    async def keep_looking(self, lender: Lender) -> None:
        """Look at the queues of servers that have requests of ours, for as long as the conductor lives."""
        while True:
            await asyncio.sleep(_LOOKS)
            for role in list(self._roles):
                if self.running(role):
                    await self._look(lender, role)

    async def _look(self, lender: Lender, role: Role) -> None:
        try:
            async with lender.lent_client(role) as client:
                load = await client.load()
        except NavigatorError as error:
            log.debug("the queue of the %s is unknown: %s", role.value, error)
            return
        flying = self._flying(role)
        if load is None or not load.queue_told or not flying.count:
            return
        waiting = load.waiting
        if load.room is not None and load.running >= load.room:
            waiting = max(waiting, flying.count - load.running)
        before = flying.limit.limit
        flying.limit = flying.limit.looked(ServerQueue(flying.count, waiting, load.room))
        _log_limit(role, before, flying.limit)

    def report(self) -> dict[str, dict[str, Any]]:
        """Each role's limit, the user's upper limit, how many requests run, and why it is lower, for clients."""
        return {
            role.value: {
                "limit": flying.limit.limit,
                "most": self._settings.server(role).max_inflight,
                "running": flying.count,
                "why": flying.limit.why or self._room(role, flying.limit.most),
            }
            for role, flying in self._roles.items()
        }

    def _room(self, role: Role, most: int) -> str:
        allowed = self._settings.server(role).max_inflight
        return f"the server runs {most} at once" if most < allowed else ""

    def _flying(self, role: Role) -> _Flying:
        if role not in self._roles:
            self._roles[role] = _Flying(Inflight.begin(self._settings.server(role).max_inflight))
        return self._roles[role]


def _log_limit(role: Role, before: int, now: Inflight) -> None:
    if now.limit != before:
        why = f": {now.why}" if now.why else ""
        log.info("%s: %d requests at a time instead of %d%s", role.value, now.limit, before, why)
