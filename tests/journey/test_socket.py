"""The two ends of the conductor's socket, over a real Unix socket."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from navigator.actions.deciding import Pinned, Reject, decided
from navigator.cli.status import status
from navigator.config.paths import StatePaths
from navigator.engine import wire
from navigator.engine.acting import act, request
from navigator.engine.following import ConductorClient
from navigator.engine.server import SocketServer
from navigator.engine.wire import NoConductor, NotResponding, RemoteError
from navigator.model.errors import Conflict
from navigator.model.models import Event
from navigator.store.database import open_writer


def event(seq: int) -> Event:
    return Event(seq=seq, at="2026-01-01T00:00:00.000Z", kind="task_state", task_id=f"T{seq}")


PAST = [event(1), event(2), event(3)]


async def handle(op: str, args: dict[str, Any]) -> dict[str, Any]:
    if op == "refuse":
        raise Conflict("It changed.", hint="Look again.")
    if op == "break":
        raise RuntimeError("a defect")
    if op == "slow":
        await asyncio.sleep(args["seconds"])
    return {"op": op, **args}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[SocketServer]:
    made = SocketServer(tmp_path / "s.sock", handle, lambda after: [one for one in PAST if one.seq > after])
    await made.start()
    yield made
    await made.close()


async def ask(path: Path, op: str, **args: Any) -> dict[str, Any]:
    return await asyncio.to_thread(request, path, op, args, timeout=10)


async def test_requests_are_answered_and_errors_cross_whole(server: SocketServer, tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    assert path.stat().st_mode & 0o777 == 0o600
    assert await ask(path, "hello", text="grüße\u2028") == {"op": "hello", "text": "grüße\u2028"}
    with pytest.raises(RemoteError) as caught:
        await ask(path, "refuse")
    assert (caught.value.message, caught.value.hint) == ("It changed.", "Look again.")
    assert (caught.value.remote_code, caught.value.remote_exit_code) == ("conflict", 1)
    with pytest.raises(RemoteError, match="a defect"):
        await ask(path, "break")
    with pytest.raises(NoConductor):
        await ask(tmp_path / "nothing.sock", "hello")


async def test_a_socket_left_behind_by_a_kill_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    with pytest.raises(NoConductor):
        await ask(path, "hello")
    again = SocketServer(path, handle, lambda after: [])
    await again.start()
    try:
        assert (await ask(path, "hello"))["op"] == "hello"
    finally:
        await again.close()


async def test_a_broken_line_is_answered_and_harms_nothing(server: SocketServer, tmp_path: Path) -> None:
    for line in (b"not json\n", b'{"id": 1, "op": 3}\n', b'{"id":1,"op":"x","args":[]}\n'):
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s.sock"))
        writer.write(line)
        answer = wire.decode(await asyncio.wait_for(reader.readline(), 10))
        assert answer["ok"] is False
        writer.close()
    assert (await ask(tmp_path / "s.sock", "hello"))["op"] == "hello"


async def test_a_client_follows_asks_and_is_told_of_the_end(server: SocketServer, tmp_path: Path) -> None:
    seen: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    lost = asyncio.Event()
    client = ConductorClient(tmp_path / "s.sock", seen.put_nowait, lost.set)
    await client.connect(after=1)
    server.publish(event(4))
    server.publish_live({"task": "T4", "chars": 7})
    got = [await asyncio.wait_for(seen.get(), 10) for _ in range(4)]
    assert [message["event"]["seq"] for message in got[:3]] == [2, 3, 4]
    assert got[3] == {"live": {"task": "T4", "chars": 7}}
    slow = asyncio.create_task(client.request("slow", {"seconds": 30}))
    assert (await asyncio.wait_for(client.request("hello"), 10))["op"] == "hello"
    assert not slow.done()
    await server.close()
    await asyncio.wait_for(lost.wait(), 10)
    assert not client.connected
    for asked in (slow, client.request("hello")):
        with pytest.raises(NoConductor):
            await asked


async def test_answers_that_nobody_reads_hold_up_no_end(server: SocketServer, tmp_path: Path) -> None:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(tmp_path / "s.sock"))
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    flood = b"".join(
        wire.encode({"id": n, "op": "hello", "args": {"text": "x" * 500}}) for n in range(10_000)
    )
    sending = asyncio.create_task(loop.sock_sendall(connection, flood))
    try:
        assert await ask(tmp_path / "s.sock", "hello", text="others are answered") == {
            "op": "hello",
            "text": "others are answered",
        }
        await asyncio.wait_for(server.quiesce(), 60)
        await asyncio.wait_for(server.close(), 60)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        connection.close()


HOLDING = """
import socket, sys, time
from pathlib import Path
from navigator.config.paths import StatePaths
from navigator.store.lock import StateLock

paths = StatePaths(Path(sys.argv[1])).ensure()
assert StateLock(paths).acquire()
listening = socket.socket(socket.AF_UNIX)
listening.bind(str(paths.socket))
listening.listen()
print("ready", flush=True)
asking, _ = listening.accept()
listening.close()
asking.close()
time.sleep(0.5)
"""


def holding(state: Path) -> subprocess.Popen[bytes]:
    """A process that holds the lock and listens; it dies over the first request."""
    made = subprocess.Popen([sys.executable, "-c", HOLDING, str(state)], stdout=subprocess.PIPE)
    assert made.stdout is not None and made.stdout.readline() == b"ready\n"
    return made


def test_a_conductor_that_dies_over_a_request_is_waited_for(tmp_path: Path) -> None:
    """Its socket is closed before its lock is free: the command does its work once it is."""
    paths = StatePaths(tmp_path)
    open_writer(paths.database, rehearsal=False).close()
    with holding(paths.root) as dying:
        (row,) = decided(act(paths, Reject(proposals=(Pinned(id="P1"),))))
        assert "P1" in row.reason and dying.poll() == 0


def test_a_stopped_conductor_is_not_an_absent_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    monkeypatch.setenv("NAVIGATOR_STATE", str(state))
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text("")
    runner = CliRunner()
    assert "No conductor is running" in runner.invoke(status).output
    with holding(state) as process:
        try:
            os.kill(process.pid, signal.SIGSTOP)
            said = runner.invoke(status)
            assert "is running but not responding" in said.output and f"`kill {process.pid}`" in said.output
            assert said.exit_code == 0
        finally:
            process.kill()


def test_a_conductor_that_too_many_wait_for_is_not_absent(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, ExitStack() as waiting:
        server.bind(str(tmp_path / "s"))
        server.listen(0)
        with pytest.raises(NotResponding):  # nobody accepts
            request(tmp_path / "s", "status", {}, timeout=0.1)
        with pytest.raises(BlockingIOError):
            for _ in range(10):
                client = waiting.enter_context(socket.socket(socket.AF_UNIX))
                client.settimeout(5)
                client.connect(str(tmp_path / "s"))
        with pytest.raises(NotResponding):
            request(tmp_path / "s", "status", {}, timeout=5)
