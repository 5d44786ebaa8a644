"""A small HTTP/1.1 server on asyncio and h11: keep-alive, chunked streams, a handler that is cancelled when its client goes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import h11

MAX_BODY = 32 * 1024 * 1024
READ_SIZE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """One request, read whole."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    body: bytes
    content_type: str = ""


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


Handler = Callable[[Request], Awaitable[Response]]


class _TooLarge(Exception):
    """The request's body is over the limit."""


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
            await self._converse(reader, writer, task)
        except (ConnectionError, h11.RemoteProtocolError, h11.LocalProtocolError, asyncio.CancelledError):
            # The client went away, or did not speak HTTP: there is no one to answer.
            return
        finally:
            self._connections.discard(task)
            self._busy.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, task: asyncio.Task[None]
    ) -> None:
        connection = h11.Connection(h11.SERVER)
        while True:
            try:
                request = await _read_request(connection, reader, writer)
            except (h11.RemoteProtocolError, _TooLarge) as error:
                status = 413 if isinstance(error, _TooLarge) else 400
                if connection.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
                    reply = json_response({"error": {"message": str(error), "code": status}}, status)
                    reply.headers.append(("Connection", "close"))
                    await _send(connection, writer, reply, head=False)
                return
            if request is None:
                return
            self._busy.add(task)
            finished = await self._answer(connection, reader, writer, request)
            self._busy.discard(task)
            closing = self._server is None or not self._server.is_serving()
            if not finished or closing or connection.our_state is not h11.DONE:
                return
            if connection.their_state is not h11.DONE:
                return
            connection.start_next_cycle()

    async def _answer(
        self,
        connection: h11.Connection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        request: Request,
    ) -> bool:
        """Handle one request; False when the client went away before it had its answer."""

        async def handle() -> None:
            response = await self._handler(request)
            await _send(connection, writer, response, head=request.method == "HEAD")

        work = asyncio.ensure_future(handle())
        watch = asyncio.ensure_future(_client_gone(connection, reader))
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


async def _client_gone(connection: h11.Connection, reader: asyncio.StreamReader) -> None:
    """Return when the client closes; what it sends meanwhile belongs to its next request."""
    while data := await reader.read(READ_SIZE):
        connection.receive_data(data)


async def _read_request(
    connection: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Request | None:
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            if connection.they_are_waiting_for_100_continue:
                reply = connection.send(h11.InformationalResponse(status_code=100, headers=[]))
                writer.write(reply or b"")
            connection.receive_data(await reader.read(READ_SIZE))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_BODY:
                raise _TooLarge(f"The body is larger than {MAX_BODY} bytes.")
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            target = urlsplit(head.target.decode("ascii"))
            return Request(
                method=head.method.decode("ascii"),
                path=target.path,
                query=parse_qs(target.query),
                body=bytes(body),
                content_type=_content_type(head),
            )
        else:
            return None


def _content_type(head: h11.Request) -> str:
    return next((value.decode("latin-1") for name, value in head.headers if name == b"content-type"), "")


async def _send(
    connection: h11.Connection, writer: asyncio.StreamWriter, response: Response, *, head: bool
) -> None:
    body = response.body
    headers = [("Server", "navigator-rehearsal"), *response.headers]
    if response.content_type:
        headers.append(("Content-Type", response.content_type))
    if isinstance(body, bytes):
        headers.append(("Content-Length", str(len(body))))
    else:
        headers.append(("Transfer-Encoding", "chunked"))
    _write(connection, writer, h11.Response(status_code=response.status, headers=headers))
    if isinstance(body, bytes):
        if not head:
            _write(connection, writer, h11.Data(data=body))
    else:
        try:
            async for piece in body:
                _write(connection, writer, h11.Data(data=piece))
                await writer.drain()
        finally:
            close = getattr(body, "aclose", None)
            if close is not None:
                await close()
    _write(connection, writer, h11.EndOfMessage())
    await writer.drain()


def _write(connection: h11.Connection, writer: asyncio.StreamWriter, event: h11.Event) -> None:
    writer.write(connection.send(event) or b"")
