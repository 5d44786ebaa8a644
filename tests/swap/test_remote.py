"""The servers on another machine: a real sshd on the loopback, real systemd, real tunnels."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from navigator.config.settings import Settings
from navigator.domain.errors import ConfigError
from navigator.domain.states import Role
from navigator.serving.client.chat import ChatRequest
from navigator.serving.client.client import ModelClient
from navigator.serving.client.errors import ServingError
from navigator.serving.remote.ssh import Connection, ConnectionLost
from navigator.serving.swap.base import PhaseEvent
from navigator.serving.swap.strategies.systemd import SystemdStrategy
from tests.swap import ssh_server as sshd
from tests.swap.desk import MODELS, SCRIPT, UNITS, Desk, wait_for
from tests.swap.ssh_server import HOST, SshServer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("systemd")]

HERE = "127.0.0.2"
"""Both machines are one: this end of the tunnel has an address of its own."""


@pytest.fixture
def box(desk: Desk, tmp_path: Path) -> Iterator[SshServer]:
    if reason := sshd.missing():
        pytest.skip(reason)
    folder = tmp_path / "ssh"
    folder.mkdir()
    locks = {
        "NAVIGATOR_SWAP_LOCK": str(desk.folder / "lock"),
        "NAVIGATOR_SWAP_LOG": str(desk.folder / "swap.log"),
    }
    with sshd.ssh_server(folder, **(desk.manager.environment | locks)) as server:
        yield server


def settings_for(desk: Desk, **systemd: Any) -> Settings:
    roles = {
        role: {"model": MODELS[role], "base_url": f"http://{HERE}:{desk.ports[role]}"} for role in UNITS
    }
    known = {"host": HOST, **systemd}
    return Settings.model_validate(
        {**roles, "swap": {"strategy": "systemd", "script": str(SCRIPT), "systemd": known}}
    )


def client_environment(box: SshServer) -> dict[str, str]:
    return {"PATH": f"{box.bin}:{os.environ['PATH']}", "HOME": str(box.folder)}


def strategy_for(desk: Desk, box: SshServer, **systemd: Any) -> SystemdStrategy:
    return SystemdStrategy(settings_for(desk, **systemd), environment=client_environment(box))


async def test_there_and_back_through_ssh(desk: Desk, box: SshServer) -> None:
    strategy = strategy_for(desk, box)
    assert await strategy.prepare() == ""
    try:
        assert await strategy.resident() is None
        told: list[PhaseEvent] = []
        assert (await strategy.swap(Role.GENERATOR, told.append)).outcome == "done"
        assert await strategy.resident() is Role.GENERATOR
        assert (await strategy.look_at(Role.GENERATOR)).state == "ready"
        there = await strategy.swap(Role.REVIEWER, told.append)
        names = ["drain", "stop", "release", "start", "load", "health", "verify"]
        assert (there.outcome, [phase.name for phase in there.phases]) == ("done", names)
        assert (await strategy.look(Role.REVIEWER)).resident is Role.REVIEWER
        assert strategy.outage == ""
    finally:
        await strategy.close()
    with pytest.raises(ServingError):  # the tunnel went with the strategy
        async with ModelClient(strategy.server(Role.REVIEWER)) as client:
            await client.models()
