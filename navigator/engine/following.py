"""A connection to the conductor that stays open: requests side by side, and events as they come."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from navigator.engine import wire
from navigator.engine.acting import result_of
from navigator.engine.wire import START, NoConductor


class ConductorClient:
    """A connection that stays: requests side by side, events as they come.

    Args:
        path: the conductor's socket.
        on_message: called for each `{"event": …}` and `{"live": …}` document.
        on_lost: called once when the connection ends.
    """

    def __init__(
        self,
        path: Path,
        on_message: Callable[[dict[str, Any]], None],
        on_lost: Callable[[], None] = lambda: None,
    ) -> None:
        self._path = path
        self._on_message = on_message
        self._on_lost = on_lost
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._listener: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        """Whether requests can be sent."""
        return self._writer is not None

    async def __aenter__(self) -> Self:
        """Connect, as `connect`."""
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the connection."""
        await self.close()

    async def connect(self, *, after: int = -1) -> None:
        """Connect and subscribe; events after the sequence number `after` are replayed (-1: none).

        Raises:
            NoConductor: nothing listens.
        """
        try:
            reader, writer = await asyncio.open_unix_connection(str(self._path), limit=wire.MAX_LINE)
        except OSError as error:
            raise NoConductor("No conductor answers.", hint=START) from error
        self._writer = writer
        self._listener = asyncio.create_task(self._listen(reader))
        await self.request("subscribe", {"after": after})

    async def request(self, op: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
        """Ask one thing.

        Raises:
            NoConductor: the connection is gone. RemoteError: what the conductor answered.
        """
        if self._writer is None:
            raise NoConductor("No conductor answers.", hint=START)
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._writer.write(wire.encode({"id": number, "op": op, "args": args or {}}))
            await self._writer.drain()
            return result_of(await answer)
        except ConnectionError as error:
            raise NoConductor("The conductor went away.", hint=START) from error
        finally:
            self._waiting.pop(number, None)

    async def close(self) -> None:
        """End the connection; what still waits gets `NoConductor`."""
        if self._listener is not None:
            self._listener.cancel()
            with suppress(asyncio.CancelledError):
                await self._listener
        self._forget()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                document = wire.decode(line)
                waiting = self._waiting.get(document["id"]) if "id" in document else None
                if waiting is not None and not waiting.done():
                    waiting.set_result(document)
                elif "id" not in document:
                    self._on_message(document)
        except (ConnectionError, ValueError):
            pass  # a broken connection and a broken line end alike: the connection is over, said below
        self._forget()
        self._on_lost()

    def _forget(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(
                    NoConductor("The conductor went away.", hint="`navigator run` starts one.")
                )
