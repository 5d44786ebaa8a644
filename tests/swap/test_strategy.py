"""The strategy `systemd`: the script, run by Navigator."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from navigator.client.body import ChatRequest
from navigator.client.client import ModelClient
from navigator.client.errors import ServingError
from navigator.config.settings import Settings
from navigator.model.errors import MissingPart
from navigator.model.states import Role
from navigator.model.text import is_unsafe
from navigator.swap.base import PhaseEvent
from navigator.swap.strategies.systemd import DEADLINES, SystemdStrategy
from tests.client.machines import ended, quiet, two_roles
from tests.swap.desk import MODELS, UNITS, Desk, scripts_of, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("systemd")]

WHOLE = ["drain", "stop", "release", "start", "load", "health", "verify"]


def settings_for(desk: Desk, **systemd: Any) -> Settings:
    writer, reader = ((MODELS[role], desk.url(role)) for role in UNITS)
    return two_roles(writer, reader, strategy="systemd", systemd=systemd)


def strategy_for(desk: Desk, settings: Settings | None = None, **more: Any) -> SystemdStrategy:
    # Deadlines and addresses come from the settings; the desk's environment only says whose systemd it is.
    environment = desk.manager.environment | {
        "NAVIGATOR_SWAP_LOCK": str(desk.folder / "lock"),
        "NAVIGATOR_SWAP_LOG": str(desk.folder / "swap.log"),
    }
    return SystemdStrategy(settings or settings_for(desk), environment=environment, **more)


async def test_there_and_back_with_every_phase_told(desk: Desk) -> None:
    desk.serve("generator", "--boot=1")
    strategy = strategy_for(desk)
    assert await strategy.resident() is None
    told: list[PhaseEvent] = []
    running = asyncio.create_task(strategy.swap(Role.GENERATOR, told.append))
    while not any(event.phase == "load" for event in told):
        await asyncio.sleep(0.01)
    assert not running.done(), "while the target loads, what came before has been told"
    first = await running
    assert ended(first) == ("done", WHOLE[2:])
    assert await strategy.resident() is Role.GENERATOR
    told.clear()
    there = await strategy.swap(Role.REVIEWER, told.append)
    assert (ended(there), there.reason, there.failure) == (("done", WHOLE), "", "")
    assert [(event.phase, event.state) for event in told] == [
        (name, state) for name in WHOLE for state in ("begin", "done")
    ]
    assert sum(phase.seconds for phase in there.phases) <= there.seconds
    assert await strategy.resident() is Role.REVIEWER
    again = await strategy.swap(Role.REVIEWER, told.append)
    assert [phase.name for phase in again.phases] == ["verify"]


async def test_resident_is_seen_and_not_remembered(desk: Desk) -> None:
    strategy = strategy_for(desk)
    await strategy.swap(Role.GENERATOR, quiet)
    desk.manager.ctl("stop", UNITS["generator"])
    assert await strategy.resident() is None
    desk.manager.ctl("start", UNITS["reviewer"])
    await asyncio.to_thread(wait_for, lambda: desk.get("reviewer", "/health")[0] == 200)
    assert await strategy.resident() is Role.REVIEWER
    desk.manager.ctl("stop", UNITS["reviewer"])
    desk.serve("generator", model="test/another")
    desk.manager.ctl("start", UNITS["generator"])
    await asyncio.to_thread(wait_for, lambda: desk.get("generator", "/health")[0] == 200)
    assert await strategy.resident() is None


async def test_a_look_tells_a_stop_from_a_death_and_why(desk: Desk) -> None:
    strategy = strategy_for(desk)
    await strategy.swap(Role.GENERATOR, quiet)
    seen = await strategy.look(Role.GENERATOR)
    assert (seen.resident, seen.sure) == (Role.GENERATOR, True)
    os.kill(desk.manager.main_pid(UNITS["generator"]), 9)
    await asyncio.to_thread(wait_for, lambda: desk.state("generator") == "failed")
    seen = await strategy.look(Role.GENERATOR)
    assert (seen.resident, seen.dead, seen.failure) == (None, True, "crashed")
    await strategy.swap(Role.REVIEWER, quiet)
    assert (await strategy.look(Role.GENERATOR)).resident is Role.REVIEWER
    desk.manager.ctl("stop", UNITS["reviewer"])
    seen = await strategy.look(Role.REVIEWER)
    assert (seen.resident, seen.dead) == (None, False)
    desk.serve("generator", "--words=torch.OutOfMemoryError: CUDA out of memory. \x1b[2J")
    desk.manager.ctl("start", UNITS["generator"])
    await asyncio.to_thread(wait_for, lambda: desk.state("generator") == "failed")
    seen = await strategy.look(Role.GENERATOR)
    assert (seen.resident, seen.dead, seen.failure) == (None, True, "no_memory")
    assert "CUDA out of memory" in seen.detail and not is_unsafe(seen.detail)


async def test_a_failure_goes_back_and_has_a_class(desk: Desk) -> None:
    strategy = strategy_for(desk)
    await strategy.swap(Role.GENERATOR, quiet)
    desk.serve("reviewer", "--words=torch.OutOfMemoryError: CUDA out of memory")
    result = await strategy.swap(Role.REVIEWER, quiet)
    assert (result.outcome, result.failure) == ("went_back", "no_memory")
    assert "CUDA out of memory" in result.reason
    assert "--mem-fraction-static" in result.reason
    assert await strategy.resident() is Role.GENERATOR
    desk.serve("generator", "--words=Broken")
    result = await strategy.swap(Role.REVIEWER, quiet)
    assert (result.outcome, result.failure) == ("failed", "no_memory")
    assert await strategy.resident() is None


async def test_deadlines_are_told_to_the_script(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEADLINES, "health", 0.5)
    desk.serve("reviewer", "--sick")
    result = await strategy_for(desk).swap(Role.REVIEWER, quiet)
    assert (result.outcome, result.failure) == ("failed", "timeout")
    assert "raise load_seconds under [swap.systemd]" in result.reason


async def test_cancelling_ends_the_script_and_its_children(desk: Desk) -> None:
    strategy = strategy_for(desk)
    await strategy.swap(Role.GENERATOR, quiet)
    desk.serve("reviewer", "--sick")
    told: list[PhaseEvent] = []
    running = asyncio.create_task(strategy.swap(Role.REVIEWER, told.append))
    while not any(event.phase == "health" for event in told):
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert scripts_of(desk) == []
    # What it left is taken over: the lock is free, and the way back is open.
    assert (await strategy.swap(Role.GENERATOR, quiet)).outcome == "done"


async def test_a_call_that_outlasts_the_drain_comes_back_to_its_caller(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Aborted by its id, so that the caller gets a typed error and makes it again; nobody else's request is named."""
    monkeypatch.setitem(DEADLINES, "abort", 5.0)
    monkeypatch.setitem(DEADLINES, "drain", 0.5)
    settings = settings_for(desk)
    async with ModelClient(settings.generator) as client:
        strategy = strategy_for(desk, settings, in_flight=lambda: client.in_flight)
        await strategy.swap(Role.GENERATOR, quiet)
        seen: list[int] = []
        question = ChatRequest(
            [{"role": "user", "content": "go on"}], temperature=0.2, top_p=0.9, max_tokens=100_000
        )
        call = asyncio.create_task(client.chat(question, lambda count: seen.append(count)))
        while not seen:
            await asyncio.sleep(0.01)
        (rid,) = client.in_flight
        result = await strategy.swap(Role.REVIEWER, quiet)
        assert result.outcome == "done", result.reason
        with pytest.raises(ServingError):
            await call
        assert client.in_flight == frozenset()
    assert rid in (desk.folder / "aborted.log").read_text().split()


async def test_a_key_travels_by_the_environment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_KEY", "sk-1")
    desk.serve("generator", "--key", "sk-1")
    settings = settings_for(desk)
    keyed = settings.model_copy(
        update={"generator": settings.generator.model_copy(update={"api_key_env": "TINY_KEY"})}
    )
    strategy = strategy_for(desk, keyed)
    strategy._environment["TINY_KEY"] = "sk-1"
    assert (await strategy.swap(Role.GENERATOR, quiet)).outcome == "done"
    refused = strategy_for(desk, settings)
    assert await refused.resident() is None


async def test_a_script_of_ones_own(desk: Desk, tmp_path: Path) -> None:
    """Any program that prints the lines will do; what else it prints is passed over."""
    script = tmp_path / "own.sh"
    script.write_text(
        "#!/bin/sh\necho hello\necho 'swap phase=start state=begin t=0'\n"
        "echo 'swap phase=start state=fail t=0.5 detail=disk_full no room'\nexit 4\n"
    )
    settings = settings_for(desk)
    own = settings.model_copy(update={"swap": settings.swap.model_copy(update={"script": str(script)})})
    told: list[PhaseEvent] = []
    with pytest.raises(MissingPart, match="own2"):
        strategy_for(
            desk, own.model_copy(update={"swap": own.swap.model_copy(update={"script": f"{tmp_path}/own2"})})
        )
    assert (await strategy_for(desk, own).swap(Role.REVIEWER, told.append)).reason.startswith(
        str(script)
    )  # not executable
    script.chmod(0o755)
    result = await strategy_for(desk, own).swap(Role.REVIEWER, told.append)
    assert (result.outcome, result.failure) == ("failed", "disk_full")
    assert [(event.phase, event.state) for event in told] == [("start", "begin"), ("start", "fail")]


def test_a_missing_program_is_named(desk: Desk) -> None:
    with pytest.raises(MissingPart, match="needs bash"):
        SystemdStrategy(settings_for(desk), environment={"PATH": "/nonexistent"})
