"""How many requests a role may have in flight: max_inflight, fewer while the server asks for patience.

Additive increase, multiplicative decrease, as TCP does it: a refusal halves the limit, each success adds a
part of one. Refusals of requests that were already under way when the limit was last halved do not halve it
again, since they tell nothing new.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Slot:
    """One request's right to be in flight; `epoch` is how often the limit had been halved when it began."""

    epoch: int


class Limiter:
    """A first-come-first-served gate whose width adapts. It belongs to one event loop.

    Args:
        max_inflight: the widest it ever opens, at least 1.
    """

    def __init__(self, max_inflight: int) -> None:
        if max_inflight < 1:
            raise ValueError("max_inflight must be at least 1")
        self.max_inflight = max_inflight
        self._width = float(max_inflight)
        self._epoch = 0
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """Requests that may be in flight right now."""
        return int(self._width)

    @property
    def in_flight(self) -> int:
        """Requests that are in flight right now."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        """Requests that wait at the gate."""
        return sum(not future.done() for future in self._waiting)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Slot]:
        """Wait for a place, hold it, give it back whatever happens."""
        await self._enter()
        try:
            yield Slot(self._epoch)
        finally:
            self._in_flight -= 1
            self._wake()

    def succeeded(self) -> None:
        """A request was answered: open a little, one place more after about as many successes as places."""
        self._width = min(float(self.max_inflight), self._width + 1.0 / self._width)
        self._wake()

    def overloaded(self, slot: Slot) -> None:
        """A request was refused for load: halve, unless the limit was halved since it began."""
        if slot.epoch != self._epoch:
            return
        self._epoch += 1
        self._width = max(1.0, self._width / 2)

    async def _enter(self) -> None:
        if self._in_flight < self.limit and not self.waiting:
            self._in_flight += 1
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:
            # The place may have been handed over in the same moment: pass it on.
            if future.done() and not future.cancelled():
                self._in_flight -= 1
            self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self._in_flight < self.limit:
            future = self._waiting.popleft()
            if future.done():
                continue
            self._in_flight += 1
            future.set_result(None)
