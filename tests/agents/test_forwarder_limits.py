"""What one agent can make the conductor hold: connections, bytes and seconds have limits, and an honest request still passes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import tracemalloc
from collections.abc import AsyncIterator

import pytest

from navigator.agents import forwarder as forwarding
from navigator.agents.forwarder import CONNECTIONS, MOST_HELD, CallJournal, Forwarder, Reply
from navigator.client.client import ModelClient
from navigator.config.settings import ServerSettings

HEAD = "POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {}\r\n\r\n"


class Ledger(CallJournal):
    """Answers everything from before an interruption."""

    def replay(self, digest: str) -> bytes | None:
        return b'{"choices": []}'

    def begin(self, digest: str) -> int:
        raise AssertionError("the model is not asked here")


@pytest.fixture
async def served() -> AsyncIterator[tuple[Forwarder, int]]:
    """A forwarder as the conductor has one for each agent, and its port."""
    client = ModelClient(ServerSettings(model="m", base_url="http://127.0.0.1:9"))
    made = Forwarder(client, Ledger(), most=1000)
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    await made.serve(listening)
    try:
        yield made, listening.getsockname()[1]
    finally:
        await made.close()
        await client.aclose()


async def status(reader: asyncio.StreamReader) -> int:
    return int((await reader.readline()).split()[1])


async def honest(port: int) -> int:
    body = b'{"messages": []}'
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HEAD.format(len(body)).encode() + body)
    try:
        return await status(reader)
    finally:
        writer.close()


async def test_unfinished_bodies_are_held_up_to_a_bound(served: tuple[Forwarder, int]) -> None:
    made, port = served
    body = b"x" * ((4 << 20) - 1)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        sending = []
        for _ in range(CONNECTIONS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HEAD.format(len(body) + 1).encode())
            sending.append((reader, writer))
        refused = [await status(reader) for reader, _ in sending[MOST_HELD // (4 << 20) :]]
        for _, writer in sending[: MOST_HELD // (4 << 20)]:
            writer.write(body)
            await writer.drain()
        assert made.held.bytes == MOST_HELD
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert set(refused) == {429}
    assert most - before < 3 * MOST_HELD  # what arrived, and once more while it is joined
    for _, writer in sending:
        writer.close()
    while made.held.bytes:
        await asyncio.sleep(0.01)
    assert await honest(port) == 200


async def test_a_request_that_is_too_large_is_refused(served: tuple[Forwarder, int]) -> None:
    """Before it is read."""
    made, port = served
    chunked = "POST /v1/chat/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\n"
    long = "GET /" + "x" * 70_000 + " HTTP/1.1\r\n\r\n"
    for number, (asked, code) in enumerate(((HEAD.format((4 << 20) + 1), 413), (chunked, 411), (long, 431))):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(asked.encode())
        assert await status(reader) == code
        assert (made.held.bytes, made.refused) == (0, number + 1)
        writer.close()


async def test_idle_connections_do_not_use_up_descriptors(served: tuple[Forwarder, int]) -> None:
    made, port = served
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS)]
    for _ in range(200):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await status(reader) == 503
        assert await reader.read() is not None
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    assert len(os.listdir("/proc/self/fd")) <= before + 2 * CONNECTIONS + 2  # noqa: PTH208
    assert made.refused == 200
    for _, writer in held:
        writer.close()
    while await honest(port) != 200:
        await asyncio.sleep(0.01)


async def test_a_body_that_does_not_come_is_given_up(
    served: tuple[Forwarder, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarding, "_SECONDS", 0.1)
    made, port = served
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HEAD.format(1000).encode() + b"x")
    assert await reader.read() == b""
    assert made.held.bytes == 0
    writer.close()


END = {"model": "m", "choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]}
USAGE = {"model": "m", "choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}


async def test_usage_that_comes_after_the_agent_hung_up_is_counted() -> None:
    """Agents go once they have read the end of an answer; servers tell the usage after it."""
    gone, ended, kept = asyncio.Event(), asyncio.Event(), list[Reply]()

    class Kept(CallJournal):
        def end(self, number: int, reply: Reply) -> None:
            kept.append(reply)
            ended.set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await reader.readuntil(b"\r\n\r\n")).startswith(b"POST"):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            writer.write(f"data: {json.dumps(END)}\n\n".encode())
            await gone.wait()
            for said in (json.dumps(USAGE), "[DONE]"):
                writer.write(f"data: {said}\n\n".encode())
                await asyncio.sleep(0.05)  # two writes to whoever left: the first one may still be taken
        else:
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    client = ModelClient(ServerSettings(model="m", base_url=url))
    made, listening = Forwarder(client, Kept(), most=10), socket.create_server(("127.0.0.1", 0))
    await made.serve(listening)
    try:
        body = b'{"messages": [], "stream": true}'
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(HEAD.format(len(body)).encode() + body)
        await reader.readuntil(b'"stop"')
        writer.transport.abort()
        await asyncio.sleep(0.05)
        gone.set()
        await ended.wait()
    finally:
        await made.close()
        await client.aclose()
        server.close()
    assert [(reply.outcome, reply.usage.prompt_tokens) for reply in kept] == [("ok", 100)]
