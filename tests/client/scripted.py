"""A real HTTP server on the loopback whose every byte a test decides.

A test gives a script: an async function `(request, wire) -> None`. `wire.send` writes raw bytes at once, so chunks can
be cut anywhere; returning ends the response and closes the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Wire:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *pieces: bytes | str) -> None:
        for piece in pieces:
            self.writer.write(piece.encode() if isinstance(piece, str) else piece)
            await self.writer.drain()

    async def head(self, status: int = 200, content_type: str = "text/event-stream", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status} X", f"Content-Type: {content_type}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send("\r\n".join(lines) + "\r\n\r\n")

    async def json(self, payload: Any, status: int = 200, **headers: str) -> None:
        await self.head(status, "application/json", **headers)
        await self.send(json.dumps(payload))

    def reset(self) -> None:
        """End the connection with a reset instead of a clean close."""
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Wait until the client has closed its side."""
        while await self.reader.read(1024):
            pass


Script = Callable[[Request, Wire], Awaitable[None]]


@dataclass
class Server:
    url: str
    requests: list[Request] = field(default_factory=list)
    closed_by_client: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def chats(self) -> list[Request]:
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


def models(*names: str, owned_by: str = "vllm") -> dict[str, Any]:
    listed = [{"id": name, "object": "model", "owned_by": owned_by} for name in names]
    return {"object": "list", "data": listed}


def routes(chat: Script | list[Script], **others: Script) -> Script:
    """Scripts by the last part of the path; `chat` may be a list, one script a call, the last one repeated."""
    calls = 0

    async def run(request: Request, wire: Wire) -> None:
        nonlocal calls
        name = request.path.partition("?")[0].rsplit("/", 1)[-1]
        if name == "completions":
            script = chat[min(calls, len(chat) - 1)] if isinstance(chat, list) else chat
            calls += 1
            await script(request, wire)
        elif name in others:
            await others[name](request, wire)
        elif name == "models":
            await wire.json(models("org/model"))
        else:
            await wire.json({"detail": "Not Found"}, 404)

    return run


@asynccontextmanager
async def serving(script: Script) -> AsyncIterator[Server]:
    """Serve `script` on a free port of the loopback."""
    server = Server("")
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            request = await _read(reader)
            if request is not None:
                server.requests.append(request)
                await script(request, Wire(reader, writer))
        except ConnectionError:
            server.closed_by_client.set()
        finally:
            tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    listener = await asyncio.start_server(handle, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = raw.decode("latin-1").strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body)


def data(payload: Any) -> str:
    """One event."""
    return f"data: {json.dumps(payload)}\n\n"


def delta(text: str = "", *, model: str = "org/model", finish: str | None = None, **fields: Any) -> str:
    """One chunk of a streamed answer."""
    content = {"content": text} if text else {}
    choice = {"index": 0, "delta": content | fields, "finish_reason": finish}
    return data({"model": model, "choices": [choice]})


def usage(prompt: int = 7, completion: int = 3, cached: int = 5) -> str:
    """The chunk that ends a stream with include_usage."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion}
    counts["prompt_tokens_details"] = {"cached_tokens": cached}
    return data({"model": "org/model", "choices": [], "usage": counts})


DONE = "data: [DONE]\n\n"


def answer(*pieces: str, finish: str = "stop") -> Script:
    """A script that answers as a healthy server does."""

    async def run(request: Request, wire: Wire) -> None:
        await wire.head()
        await wire.send(delta(role="assistant"), *(delta(piece) for piece in pieces), delta(finish=finish))
        await wire.send(usage(), DONE)

    return run


def refuse(status: int, payload: Any, **headers: str) -> Script:
    """A script that answers with an error."""

    async def run(request: Request, wire: Wire) -> None:
        await wire.json(payload, status, **headers)

    return run
