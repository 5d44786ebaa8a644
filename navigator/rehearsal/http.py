"""A small HTTP/1.1 server on asyncio: keep-alive, chunked streams, a handler that is cancelled when its client goes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from navigator.model import patterns

MAX_BODY = 32 * 1024 * 1024
MAX_HEAD = 64 * 1024
READ_SIZE = 64 * 1024

_FIRST = patterns.compile(r"([A-Z]+) ([!-~]+) HTTP/1\.([01])")
_HEADER = patterns.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request, read whole. `keep` says whether the connection stays open after it."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    body: bytes
    content_type: str = ""
    keep: bool = True


@dataclass(slots=True)
class Response:
    """One response: bytes, or an iterator whose pieces are sent as they come. No content type is sent as none."""

    status: int = 200
    content_type: str = ""
    body: bytes | AsyncIterator[bytes] = b""
    headers: list[tuple[str, str]] = field(default_factory=list)


def json_response(value: object, status: int = 200) -> Response:
    """`value` as JSON."""
    text = json.dumps(value, ensure_ascii=False)
    return Response(status=status, content_type="application/json", body=text.encode("utf-8"))


Handler = Callable[[HttpRequest], Awaitable[Response]]


class _Refused(Exception):
    """What came is no request that can be served."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class HttpServer:
    """Serves one handler on one address. `port` is known after `start`."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._busy: set[asyncio.Task[None]] = set()
        self.port = 0

    async def start(self, host: str, port: int) -> None:
        """Bind and listen; port 0 takes a free one."""
        self._server = await asyncio.start_server(self._accept, host, port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening, let responses under way end, and close idle connections."""
        if self._server is not None:
            self._server.close()
        for task in list(self._connections - self._busy):
            task.cancel()
        if self._connections:
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None:
            return
        self._connections.add(task)
        try:
            await self._converse(_Incoming(reader, writer), writer, task)
        except (ConnectionError, EOFError, asyncio.CancelledError):
            # The client went away: there is no one to answer.
            return
        finally:
            self._connections.discard(task)
            self._busy.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _converse(
        self, incoming: _Incoming, writer: asyncio.StreamWriter, task: asyncio.Task[None]
    ) -> None:
        keep = True
        while keep and self._server is not None and self._server.is_serving():
            try:
                request = await incoming.request()
            except _Refused as error:
                reply = json_response({"error": {"message": str(error), "code": error.status}}, error.status)
                reply.headers.append(("Connection", "close"))
                await _send(writer, reply)
                return
            self._busy.add(task)
            keep = await self._answer(incoming, writer, request) and request.keep
            self._busy.discard(task)

    async def _answer(self, incoming: _Incoming, writer: asyncio.StreamWriter, request: HttpRequest) -> bool:
        """Handle one request; False when the client went away before it had its answer."""

        async def handle() -> None:
            response = await self._handler(request)
            await _send(writer, response)

        work = asyncio.ensure_future(handle())
        watch = asyncio.ensure_future(incoming.gone())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                return False
            work.result()
            return True
        finally:
            for other in (work, watch):
                other.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)


class _Incoming:
    """What a client sends, request by request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._held = bytearray()

    async def gone(self) -> None:
        """Return when the client closes; what it sends meanwhile belongs to its next request."""
        while data := await self._reader.read(READ_SIZE):
            self._held += data

    async def request(self) -> HttpRequest:
        """The next one.

        Raises:
            _Refused: it cannot be read. EOFError: the client closed.
        """
        first, *lines = (await self._until(b"\r\n\r\n", MAX_HEAD)).decode("latin-1").split("\r\n")
        head = _FIRST.fullmatch(first)
        fields = [_HEADER.fullmatch(line) for line in lines]
        if head is None or not all(fields):
            raise _Refused("illegal request line or header")
        headers = {one[1].lower(): one[2] for one in fields if one is not None}
        target = urlsplit(head[2])
        return HttpRequest(
            method=head[1],
            path=target.path,
            query=parse_qs(target.query),
            body=await self._body(headers),
            content_type=headers.get("content-type", ""),
            keep=head[3] == "1" and headers.get("connection", "").lower() != "close",
        )

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        if "transfer-encoding" in headers:
            raise _Refused("A body needs a Content-Length.", 411)
        size = headers.get("content-length", "0")
        if not (size.isascii() and size.isdigit()):
            raise _Refused("bad Content-Length")
        if len(size) > 12 or int(size) > MAX_BODY:
            raise _Refused(f"The body is larger than {MAX_BODY} bytes.", 413)
        return await self._exactly(int(size))

    async def _until(self, mark: bytes, most: int) -> bytes:
        while (at := self._held.find(mark)) < 0:
            if len(self._held) > most:
                raise _Refused("The head of the request is too large.", 431)
            await self._more()
        return self._take(at, len(mark))

    async def _exactly(self, size: int) -> bytes:
        while len(self._held) < size:
            await self._more()
        return self._take(size)

    async def _more(self) -> None:
        data = await self._reader.read(READ_SIZE)
        if not data:
            raise EOFError
        self._held += data

    def _take(self, size: int, mark: int = 0) -> bytes:
        taken = bytes(self._held[:size])
        del self._held[: size + mark]
        return taken


async def _send(writer: asyncio.StreamWriter, response: Response) -> None:
    body = response.body
    headers = [("Server", "navigator-rehearsal"), *response.headers]
    if response.content_type:
        headers.append(("Content-Type", response.content_type))
    if isinstance(body, bytes):
        headers.append(("Content-Length", str(len(body))))
    else:
        headers.append(("Transfer-Encoding", "chunked"))
    status = f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}"
    lines = [status, *(f"{name}: {value}" for name, value in headers), "", ""]
    writer.write("\r\n".join(lines).encode("latin-1"))
    if isinstance(body, bytes):
        writer.write(body)
    else:
        try:
            async for piece in body:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b"")
                await writer.drain()
        finally:
            close = getattr(body, "aclose", None)
            if close is not None:
                await close()
        writer.write(b"0\r\n\r\n")
    await writer.drain()
