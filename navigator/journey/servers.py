"""The model servers as one process uses them: a connection for each role, and how the GPU changes hands."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.model.states import Role

if TYPE_CHECKING:
    from navigator.client.client import ModelClient
    from navigator.swap.base import SwapStrategy


@dataclass
class ModelServers:
    """Makes a connection when it is first asked for.

    Args:
        settings: as read once at the start.
        time_scale: the rehearsal's.
        at_hand: whether a role's model answers now, without a swap first; the conductor knows.
    """

    settings: Settings
    paths: StatePaths
    time_scale: float = 1.0
    at_hand: Callable[[Role], bool] = lambda role: True
    _clients: dict[Role, ModelClient] = field(default_factory=dict)
    _lent: Counter[ModelClient] = field(default_factory=Counter)
    _rooms: dict[ModelClient, int] = field(default_factory=dict)

    def limit(self, role: Role) -> int:
        """How many requests the role may have in flight: what its server runs at once, `max_inflight` at most."""
        most, client = self.settings.server(role).max_inflight, self._clients.get(role)
        return most if client is None else min(most, self._rooms.get(client, most))

    @cached_property
    def strategy(self) -> SwapStrategy:
        """How the GPU changes hands.

        Raises:
            MissingPart: the settings name no strategy.
        """
        from navigator.swap import make_strategy

        return make_strategy(self.settings, self.paths, time_scale=self.time_scale, in_flight=self._in_flight)

    def _in_flight(self) -> Iterator[str]:
        """The ids of every request that runs right now, on a connection that is kept or only lent."""
        for client in {*self._clients.values(), *self._lent}:
            yield from client.in_flight

    def client(self, role: Role) -> ModelClient:
        """The connection to the server that plays `role`."""
        from navigator.client.client import ModelClient

        if role not in self._clients:
            final = role is Role.FINAL
            self._clients[role] = ModelClient(self.settings.final if final else self.strategy.server(role))
        return self._clients[role]

    @asynccontextmanager
    async def lent(self, role: Role) -> AsyncIterator[ModelClient]:
        """The connection for one call: it stays open until the call ends, even if it is forgotten meanwhile."""
        client = self.client(role)
        self._lent[client] += 1
        try:
            if client not in self._rooms:
                self._rooms[client] = self.settings.server(role).max_inflight
                load = await client.load()
                # A swap may have forgotten it meanwhile.
                if load is not None and load.room is not None and client in self._rooms:
                    self._rooms[client] = max(1, load.room)
            yield client
        finally:
            self._lent[client] -= 1
            if not self._lent[client]:
                del self._lent[client]
                if client not in self._clients.values():
                    await client.aclose()

    async def forget(self, role: Role) -> None:
        """Drop a connection whose server is about to go, or came back elsewhere. Calls in flight end by themselves."""
        client = self._clients.pop(role, None)
        self._rooms = {held: room for held, room in self._rooms.items() if held is not client}
        if client is not None and client not in self._lent:
            await client.aclose()

    async def close(self) -> None:
        """End connections; the servers themselves are left to their strategy."""
        for role in list(self._clients):
            await self.forget(role)
        if "strategy" in self.__dict__:
            await self.strategy.close()
