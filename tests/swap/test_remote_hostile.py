"""A machine that misbehaves, or a line to it: a real ssh and a real sshd, and what stands between them."""

from __future__ import annotations

import os
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from navigator.model.states import Role
from navigator.swap import ssh
from navigator.swap.base import PhaseEvent
from navigator.swap.ssh import ConnectionLost, SshConnection
from tests.client.machines import quiet
from tests.swap import ssh_server as sshd
from tests.swap.desk import Desk
from tests.swap.relay import Relay, relayed
from tests.swap.ssh_server import HOST, SshServer
from tests.swap.test_remote import prepared

pytestmark = pytest.mark.slow
CUTS = min(20, int(os.environ.get("NAVIGATOR_KILLS", "3")))
"""At how many points of a swap the line is cut; 20 for all of them."""

NOISE = 100 << 20


def through(server: SshServer, relay: Relay) -> None:
    """Have the client's ssh reach the server by the relay."""
    config = server.folder / "ssh_config"
    alias = f"  HostKeyAlias [127.0.0.1]:{server.port}\n"
    config.write_text(config.read_text().replace(f"Port {server.port}\n", f"Port {relay.port}\n{alias}"))


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    """An sshd, without the units of a desk, and connections that no other test shares."""
    if reason := sshd.missing():
        pytest.skip(reason)
    folder = tmp_path / "ssh"
    folder.mkdir()
    with tempfile.TemporaryDirectory(prefix="nav-") as sockets, sshd.ssh_server(folder) as server:
        monkeypatch.setenv("XDG_RUNTIME_DIR", sockets)
        yield server


@pytest.mark.parametrize("manner", ["silent", "drip", "banner"])
def test_a_machine_that_does_not_get_to_the_point_is_no_connection(
    alone: SshServer, monkeypatch: pytest.MonkeyPatch, manner: str
) -> None:
    monkeypatch.setattr(ssh, "_CONNECT_SECONDS", 4.0)
    options = ssh.table("navigator.swap", "ssh.toml") | {"ConnectTimeout": "3"}
    monkeypatch.setattr(ssh, "table", lambda package, name: options)
    with relayed(alone.port) as relay:
        through(alone, relay)
        relay.manner = manner
        connection = SshConnection(HOST, environment=alone.client)
        with pytest.raises(ConnectionLost, match=f"No connection to {HOST}"):
            connection.open()
        assert not connection.alive
        relay.manner = "pass"
        monkeypatch.setattr(ssh, "_CONNECT_SECONDS", 60.0)
        options["ConnectTimeout"] = "60"
        try:
            assert connection.call(("echo", "here"), 60.0).out == b"here\n"
        finally:
            connection.close()


def test_a_line_that_begins_to_drip_ends_a_call_at_its_time(alone: SshServer) -> None:
    with relayed(alone.port) as relay:
        through(alone, relay)
        with closing(SshConnection(HOST, environment=alone.client)) as connection:
            connection.open()
            relay.manner = "drip"
            with pytest.raises((TimeoutError, ConnectionLost)):
                connection.call(("echo", "here"), 3.0)


@pytest.mark.parametrize("where", ["", " >&2"])
def test_what_login_scripts_print_is_not_kept(alone: SshServer, where: str) -> None:
    """100 MB before a command begins."""
    login = alone.folder / "login"
    login.write_text(f'#!/bin/sh\nhead -c {NOISE} /dev/zero{where}\nexec bash -c "$SSH_ORIGINAL_COMMAND"\n')
    login.chmod(0o755)
    keys = alone.folder / "authorized_keys"
    connection = SshConnection(HOST, environment=alone.client)
    keys.write_text(f'command="{login}" {keys.read_text()}')
    tracemalloc.start()
    try:
        assert connection.call(("echo", "here"), 120.0).out.strip() == b"here"
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        connection.close()
    assert most < NOISE / 4


def test_a_command_that_prints_without_end_is_ended(alone: SshServer) -> None:
    with closing(SshConnection(HOST, environment=alone.client)) as connection:
        with pytest.raises(TimeoutError, match="yes on gpu-box"):
            connection.call(("yes",), 120.0)
        assert connection.call(("echo", "here"), 60.0).out == b"here\n"


@pytest.mark.xdist_group("systemd")
@pytest.mark.timeout(900)
async def test_a_swap_survives_a_cut_anywhere(desk: Desk, box: SshServer) -> None:
    """The line is cut after so many bytes; the script there goes on, or is begun again, and the swap is made once."""
    with relayed(box.port) as relay:
        through(box, relay)
        async with prepared(desk, box) as strategy:
            await strategy.swap(Role.GENERATOR, quiet)
            told: list[PhaseEvent] = []
            before = relay.passed
            await strategy.swap(Role.REVIEWER, quiet)
            whole = relay.passed - before
            for number in range(CUTS):
                to = (Role.GENERATOR, Role.REVIEWER)[number % 2]
                relay.cut_at = relay.passed + 1 + (number * 20 // CUTS) * whole // 20
                result = await strategy.swap(to, told.append)
                assert (result.outcome, result.failure) == ("done", ""), (number, result.reason)
                assert await strategy.resident() is to, number
                assert relay.cuts == number + 1

            def cut_once_begun(event: PhaseEvent) -> None:
                told.append(event)
                if event.state == "begin" and relay.cuts == CUTS:
                    relay.cut_at = relay.passed + 1  # the script runs, and has more to say

            result = await strategy.swap((Role.GENERATOR, Role.REVIEWER)[CUTS % 2], cut_once_begun)
            assert (result.outcome, relay.cuts) == ("done", CUTS + 1), result.reason
            assert any("connection_lost" in event.detail for event in told if event.state == "fail")
            assert {line["outcome"] for line in desk.logged() if line.get("outcome")} == {"done"}
