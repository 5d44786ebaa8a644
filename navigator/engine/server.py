"""The conductor's end of the socket: answers requests, streams events to those who subscribed."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from navigator.engine import wire
from navigator.model.errors import NavigatorError, UsageError
from navigator.model.models import Event

log = logging.getLogger(__name__)

Handler = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
Replay = Callable[[int], list[Event]]

# A subscriber that does not read is cut off rather than let the conductor's memory grow; it comes back and replays.
_BACKLOG = 10_000
_AT_ONCE = 64
"""Requests of one connection that are answered side by side; more wait unread in the kernel's buffer."""


class SocketServer:
    """Listens on a Unix socket that only this user may open.

    Args:
        path: where the socket is made, mode 0600.
        handle: called for each request with its `op` and `args`; its answer is the result.
        replay: events after a sequence number, for a subscriber that missed some.
    """

    def __init__(self, path: Path, handle: Handler, replay: Replay) -> None:
        self._path = path
        self._handle = handle
        self._replay = replay
        self._server: asyncio.Server | None = None
        self.listeners: set[asyncio.Queue[bytes]] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._answering: set[asyncio.Task[None]] = set()
        self._ending = False

    async def start(self) -> None:
        """Bind. A socket left by a conductor that was killed is replaced: the kernel lock says that none lives."""
        with suppress(FileNotFoundError):
            self._path.unlink()
        previous = os.umask(0o177)
        try:
            self._server = await asyncio.start_unix_server(self._accept, str(self._path), limit=wire.MAX_LINE)
        finally:
            os.umask(previous)
        self._path.chmod(0o600)

    async def quiesce(self) -> None:
        """Take no further request, and wait until those taken are answered: a landing that began is recorded."""
        self._ending = True
        while self._answering:
            await asyncio.wait(self._answering)

    async def close(self) -> None:
        """Stop listening and end every connection."""
        if self._server is not None:
            self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        with suppress(FileNotFoundError):
            self._path.unlink()

    def publish(self, event: Event) -> None:
        """Send an event to every subscriber."""
        self._send_all({"event": event.model_dump(mode="json")})

    def publish_live(self, progress: dict[str, Any]) -> None:
        """Send progress that is not kept: tokens so far, a swap's phase."""
        self._send_all({"live": progress})

    def _send_all(self, document: dict[str, Any]) -> None:
        if not self.listeners:
            return
        line = wire.encode(document)
        for queue in list(self.listeners):
            try:
                queue.put_nowait(line)
            except asyncio.QueueFull:
                self.listeners.discard(queue)
                log.warning("a subscriber does not read and was cut off")

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        outgoing: asyncio.Queue[bytes] = asyncio.Queue(_BACKLOG)
        sender: asyncio.Task[None] | None = None
        try:
            sender = asyncio.create_task(_drain(outgoing, writer))
            await self._serve(reader, outgoing)
            with suppress(TimeoutError):
                await asyncio.wait_for(outgoing.join(), 2)
        except (ConnectionError, asyncio.CancelledError):
            log.debug("a client went away")
        finally:
            self.listeners.discard(outgoing)
            if sender is not None:
                sender.cancel()
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, outgoing: asyncio.Queue[bytes]) -> None:
        running: set[asyncio.Task[None]] = set()
        while True:
            try:
                line = await reader.readline()
            except ValueError:
                log.warning("a client sent a line of more than %d bytes", wire.MAX_LINE)
                break
            if not line:
                break
            # Requests of one connection run side by side: a landing does not hold up a keystroke's answer.
            task = asyncio.create_task(self._answer(line, outgoing))
            running.add(task)
            task.add_done_callback(running.discard)
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
            if len(running) >= _AT_ONCE:
                await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            if outgoing.full():
                log.warning("a client that does not read its answers was cut off")
                return
        if running:
            await asyncio.gather(*running)

    async def _answer(self, line: bytes, outgoing: asyncio.Queue[bytes]) -> None:
        number: Any = None
        try:
            request = wire.decode(line)
            number = request.get("id")
            op, args = request.get("op"), request.get("args", {})
            if not isinstance(op, str) or not isinstance(args, dict):
                raise UsageError("A request has an op and args.")
            if self._ending:
                raise wire.NoConductor("The conductor is ending.", hint="Ask again in a moment.")
            if op == "subscribe":
                after = args.get("after", -1)
                if not isinstance(after, int):
                    raise UsageError("after is no whole number.")
                result = self._subscribe(outgoing, after)
            else:
                result = await self._handle(op, args)
            answer: dict[str, Any] = {"id": number, "ok": True, "result": result}
        except NavigatorError as error:
            answer = {"id": number, "ok": False, "error": wire.error_document(error)}
        except ValueError as error:
            answer = {"id": number, "ok": False, "error": wire.error_document(UsageError(str(error)))}
        except Exception as error:
            # A bug in one request must not end the conductor; it is logged whole and said to the asker.
            log.exception("a request failed")
            failure = NavigatorError(f"The conductor failed: {error!r}.", hint="The log has the details.")
            answer = {"id": number, "ok": False, "error": wire.error_document(failure)}
        # Never waits: the conductor cannot end while an answer does, and a client that reads nothing would hold it.
        with suppress(asyncio.QueueFull):
            outgoing.put_nowait(wire.encode(answer))

    def _subscribe(self, outgoing: asyncio.Queue[bytes], after: int) -> dict[str, Any]:
        if after >= 0:
            for event in self._replay(after):
                outgoing.put_nowait(wire.encode({"event": event.model_dump(mode="json")}))
        self.listeners.add(outgoing)
        return {"subscribed": True}


async def _drain(queue: asyncio.Queue[bytes], writer: asyncio.StreamWriter) -> None:
    while True:
        line = await queue.get()
        try:
            writer.write(line)
            await writer.drain()
        finally:
            queue.task_done()
