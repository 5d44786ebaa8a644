"""The servers on another machine: a real sshd on the loopback, real systemd, real tunnels."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from navigator.client.body import ChatRequest
from navigator.client.client import ModelClient
from navigator.client.errors import ServingError, StreamCut
from navigator.config.settings import Settings
from navigator.model.errors import ConfigError
from navigator.model.states import Role
from navigator.swap.base import PhaseEvent
from navigator.swap.ssh import ConnectionLost, SshConnection
from navigator.swap.strategies import systemd
from navigator.swap.strategies.systemd import SystemdStrategy
from tests.client.machines import ended, quiet, two_roles
from tests.swap.desk import MODELS, SCRIPT, UNITS, Desk, scripts_of, wait_for
from tests.swap.ssh_server import HOST, SshServer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("systemd")]

HERE = "127.0.0.2"
"""Both machines are one: this end of the tunnel has an address of its own."""


def settings_for(desk: Desk, **systemd: Any) -> Settings:
    writer, reader = ((MODELS[role], f"http://{HERE}:{desk.ports[role]}") for role in UNITS)
    known = {"host": HOST, **systemd}
    return two_roles(writer, reader, strategy="systemd", script=str(SCRIPT), systemd=known)


def strategy_for(desk: Desk, box: SshServer, **systemd: Any) -> SystemdStrategy:
    return SystemdStrategy(settings_for(desk, **systemd), environment=box.client)


@asynccontextmanager
async def prepared(desk: Desk, box: SshServer) -> AsyncIterator[SystemdStrategy]:
    """A strategy with its connection, closed at the end."""
    strategy = strategy_for(desk, box)
    assert await strategy.prepare() == ""
    try:
        yield strategy
    finally:
        await strategy.close()


async def test_there_and_back_through_ssh(desk: Desk, box: SshServer) -> None:
    async with prepared(desk, box) as strategy:
        assert await strategy.resident() is None
        told: list[PhaseEvent] = []
        assert (await strategy.swap(Role.GENERATOR, told.append)).outcome == "done"
        assert await strategy.resident() is Role.GENERATOR
        assert (await strategy.look_at(Role.GENERATOR)).state == "ready"
        there = await strategy.swap(Role.REVIEWER, told.append)
        names = ["drain", "stop", "release", "start", "load", "health", "verify"]
        assert ended(there) == ("done", names)
        assert (await strategy.look(Role.REVIEWER)).resident is Role.REVIEWER
        assert strategy.outage == ""
    with pytest.raises(ServingError):  # the tunnel went with the strategy
        async with ModelClient(strategy.server(Role.REVIEWER)) as client:
            await client.model_info()


async def test_a_machine_that_stays_away_is_a_failed_swap_with_a_name(
    desk: Desk, box: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systemd, "RENEW_SECONDS", 1.0)
    desk.serve("reviewer", "--boot=1.0")
    async with prepared(desk, box) as strategy:
        await strategy.swap(Role.GENERATOR, quiet)

        def pull(event: PhaseEvent) -> None:
            if (event.phase, event.state) == ("start", "begin"):
                box.stop()

        result = await strategy.swap(Role.REVIEWER, pull)
        assert (result.outcome, result.failure) == ("failed", "connection_lost")
        assert f"No connection to {HOST}" in result.reason
        assert "goes on by itself" in result.reason
        with pytest.raises(ConnectionLost, match="refused"):
            await strategy.look(Role.GENERATOR)
        assert f"No connection to {HOST}" in strategy.outage
        # One that begins meanwhile waits for the connection; what was cut off has gone on.
        monkeypatch.setattr(systemd, "RENEW_SECONDS", 60.0)
        began = asyncio.create_task(strategy.swap(Role.REVIEWER, quiet))
        await asyncio.sleep(0.5)
        box.start()
        assert (await began).outcome == "done"
        while strategy.outage:  # renewed without being asked
            await asyncio.sleep(0.05)
        assert await strategy.resident() is Role.REVIEWER


async def test_a_call_through_a_lost_connection_fails_by_type_and_works_again(
    desk: Desk, box: SshServer
) -> None:
    async with prepared(desk, box) as strategy:
        await strategy.swap(Role.GENERATOR, quiet)
        for received in (0, 1, 3):
            seen = [0]
            began = time.monotonic()
            hold = desk.folder / "hold"
            # Nothing more comes, however slow this machine is; a token is two characters.
            hold.write_text(str(received))
            async with ModelClient(strategy.server(Role.GENERATOR)) as client:
                call = asyncio.create_task(client.chat(question(20), _noting(seen)))
                while seen[-1] < 2 * received or not await asyncio.to_thread(_answering, desk):
                    await asyncio.sleep(0.005)
                box.cut()
                hold.unlink()
                if received:
                    with pytest.raises(StreamCut) as failed:
                        await call
                    assert failed.value.begun
                    assert await strategy.was_cut_since(began)
                else:  # nothing had come yet, so the client itself asked again, on the renewed connection
                    assert (await call).text
            # A look renews the connection itself; no dead server is reported.
            assert (await strategy.look(Role.GENERATOR)).resident is Role.GENERATOR
            assert not await strategy.was_cut_since(time.monotonic())
            async with ModelClient(strategy.server(Role.GENERATOR)) as client:
                assert (await client.chat(question(2))).text


def _answering(desk: Desk) -> bool:
    """Whether the request has arrived there."""
    return bool(desk.get("generator", "/v1/loads")[1]["loads"][0]["num_running_reqs"])


def _noting(seen: list[int]) -> Callable[[int], None]:
    return lambda count: seen.append(count)


def question(tokens: int) -> ChatRequest:
    return ChatRequest([{"role": "user", "content": "go on"}], temperature=0.2, top_p=0.9, max_tokens=tokens)


async def test_cancelling_ends_the_script_there(desk: Desk, box: SshServer) -> None:
    desk.serve("reviewer", "--sick")
    strategy = strategy_for(desk, box)
    told: list[PhaseEvent] = []
    running = asyncio.create_task(strategy.swap(Role.REVIEWER, told.append))
    while not any(event.phase == "health" for event in told):
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert scripts_of(desk) == []
    assert desk.logged()[-1]["class"] == "cancelled"
    assert (await strategy.swap(Role.GENERATOR, quiet)).outcome == "done"


async def test_two_processes_share_one_connection(desk: Desk, box: SshServer) -> None:
    """The ports can be bound once: a command beside the conductor uses its connection, and opens its own afterwards."""
    first, second = strategy_for(desk, box), strategy_for(desk, box)
    await first.prepare()
    await first.swap(Role.GENERATOR, quiet)
    assert (await second.look_at(Role.GENERATOR)).state == "ready"
    assert await second.resident() is Role.GENERATOR
    await first.close()
    assert await second.resident() is Role.GENERATOR


def test_nothing_is_left_of_a_client_that_is_killed(box: SshServer) -> None:
    """Its end of the connection lives as long as its input is open, and so does ours."""
    program = (
        "import sys, time\nfrom navigator.swap.ssh import SshConnection\n"
        f"connection = SshConnection({HOST!r}, ())\nconnection.open()\nprint('open', flush=True)\ntime.sleep(600)\n"
    )
    client = subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | box.client,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert client.stdout is not None
    assert client.stdout.readline() == b"open\n"
    assert box.connections() == 1
    client.kill()
    client.wait()
    client.stdout.close()
    wait_for(lambda: box.connections() == 0)


def test_a_key_is_on_no_command_line(box: SshServer) -> None:
    connection = SshConnection(HOST, (), environment=box.client)
    try:
        every = "for each in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$each; done 2>/dev/null; printf '|%s|' \"$SECRET\""
        said = connection.call(("bash", "-c", every), 20.0, variables={"SECRET": "sk-planted-73"}).out
        assert said.count(b"sk-planted-73") == 1
        assert said.endswith(b"|sk-planted-73|")
        with pytest.raises(ValueError, match="SECRET"):
            connection.call(("true",), 5.0, variables={"SECRET": "one\nPATH=/tmp"})
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("url", "host"),
    [("http://10.0.0.5:30000", "box"), ("https://127.0.0.1:30000", "box"), ("http://gpu:30000", "box")],
)
def test_a_tunnel_begins_on_the_loopback(url: str, host: str) -> None:
    settings = Settings.model_validate(
        {"generator": {"base_url": url}, "swap": {"strategy": "systemd", "systemd": {"host": host}}}
    )
    with pytest.raises(ConfigError, match="through ssh"):
        SystemdStrategy.check(settings)


@pytest.mark.parametrize("host", ["-oProxyCommand=touch /tmp/x", "box; rm", "a b", "$(id)"])
def test_a_host_is_no_option_and_no_command(host: str) -> None:
    with pytest.raises(ValueError, match="host"):
        Settings.model_validate({"swap": {"strategy": "systemd", "systemd": {"host": host}}})
