"""Strategy `command`: real programs that change what a server on the loopback serves."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from navigator.config.settings import Settings
from navigator.model.states import Role
from navigator.process import runner
from navigator.swap.base import PhaseEvent
from navigator.swap.strategies import command
from navigator.swap.strategies.command import CommandStrategy
from tests.client.machines import ended, quiet, two_roles
from tests.client.scripted import Request, Server, Wire, answer, models, routes, serving

NAMES = {"generator": "org/writer", "reviewer": "org/reader"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "loaded").write_text("generator")
    return tmp_path


@asynccontextmanager
async def gpu(folder: Path) -> AsyncIterator[Server]:
    """A server that lists the model of the role named in the file `loaded`, or "both"; 503 while that is empty."""

    async def list_models(request: Request, wire: Wire) -> None:
        role = (folder / "loaded").read_text().strip()
        if role in NAMES or role == "both":
            await wire.json(models(*(name for of, name in NAMES.items() if role in (of, "both"))))
        else:
            await wire.json({}, 503)

    async def health(request: Request, wire: Wire) -> None:
        await wire.json({}, 200 if (folder / "loaded").read_text().strip() else 503)

    async def load(request: Request, wire: Wire) -> None:
        await wire.json({"server_load": 0})

    async with serving(routes(answer("yes"), models=list_models, health=health, load=load)) as server:
        yield server


def program(folder: Path, text: str, name: str = "swap") -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\ncd '{folder}'\n{text}\n")
    path.chmod(0o755)
    return str(path)


def settings(url: str, argv: list[str]) -> Settings:
    writer, reader = ((model, url) for model in NAMES.values())
    return two_roles(writer, reader, strategy="command", command={"argv": tuple(argv)})


async def test_the_role_is_put_where_it_was_asked_for(folder: Path) -> None:
    program(folder, 'echo "$1 $2" > words; echo "$2" > loaded')
    async with gpu(folder) as server:
        swaps = CommandStrategy(settings(server.url, [str(folder / "swap"), "--model", "{role}"]))
        assert await swaps.resident() is Role.GENERATOR
        result = await swaps.swap(Role.REVIEWER, quiet)
        assert ended(result) == ("done", ["drain", "load", "verify"])
        assert (folder / "words").read_text() == "--model reviewer\n"
        assert await swaps.resident() is Role.REVIEWER
        again = await swaps.swap(Role.REVIEWER, quiet)
        assert [phase.name for phase in again.phases] == ["verify"]


async def test_a_server_that_lists_models_it_has_not_loaded_fails_no_swap(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_VERIFY_SECONDS", 0.2)
    (folder / "loaded").write_text("both")
    async with gpu(folder) as server:
        swaps = CommandStrategy(settings(server.url, [program(folder, 'echo "$1" >> words')]))
        for role in (Role.GENERATOR, Role.REVIEWER, Role.GENERATOR):
            result = await swaps.swap(role, quiet)
            assert result.outcome == "done", result.reason
            assert await swaps.resident() is role
    assert (folder / "words").read_text() == "reviewer\ngenerator\n"


async def test_without_a_place_the_role_is_the_last_word_and_phases_that_are_told_are_kept(
    folder: Path,
) -> None:
    path = program(
        folder,
        "echo 'swap phase=stop state=begin t=0'; echo \"$1\" > words; echo 'swap phase=stop state=done t=1.5'; echo noise\n"
        "echo 'swap phase=load state=begin t=0'; echo $2 > loaded; echo 'swap phase=load state=done t=20.25 detail=x'",
    )
    heard: list[PhaseEvent] = []
    async with gpu(folder) as server:
        swaps = CommandStrategy(settings(server.url, [path, "two words"]))
        result = await swaps.swap(Role.REVIEWER, heard.append)
    assert (folder / "words").read_text() == "two words\n"
    assert [(phase.name, phase.seconds) for phase in result.phases][1:3] == [("stop", 1.5), ("load", 20.25)]
    assert ("stop", "done") in [(event.phase, event.state) for event in heard]


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("echo 'torch.OutOfMemoryError: CUDA out of memory' >&2; exit 1", "no_memory"),
        ("echo 'swap phase=start state=fail t=1 detail=port_taken 30000 is held by 7'; exit 3", "port_taken"),
        ("echo 'swap outcome=failed t=2 detail=unit_failed it says no'; exit 4", "unit_failed"),
        ("echo strange; exit 1", ""),
    ],
)
async def test_a_failure_is_classed_and_the_role_before_is_called_back(
    folder: Path, text: str, failure: str
) -> None:
    back = '[ "$1" = generator ] && echo generator > loaded && exit 0'
    path = program(folder, f"{back}\necho > loaded\n{text}")
    async with gpu(folder) as server:
        swaps = CommandStrategy(settings(server.url, [path]))
        result = await swaps.swap(Role.REVIEWER, quiet)
        assert (result.outcome, result.failure) == ("went_back", failure), result.reason
        assert await swaps.resident() is Role.GENERATOR


@pytest.mark.parametrize(
    ("path", "failure", "words"),
    [("", "wrong_model", "does not serve"), ("/nowhere/at-all", "", "[swap.command]")],
)
async def test_a_program_that_changes_nothing_or_is_not_there_is_no_success(
    folder: Path, monkeypatch: pytest.MonkeyPatch, path: str, failure: str, words: str
) -> None:
    monkeypatch.setattr(command, "_VERIFY_SECONDS", 0.2)
    async with gpu(folder) as server:
        swaps = CommandStrategy(settings(server.url, [path or program(folder, "exit 0")]))
        result = await swaps.swap(Role.REVIEWER, quiet)
    assert (result.outcome, result.failure) == ("went_back", failure)
    assert words in result.reason


def living(folder: Path) -> bool:
    return (folder / "pid").exists() and Path(f"/proc/{(folder / 'pid').read_text().strip()}/stat").exists()


async def gone(folder: Path) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if not living(folder):
            return True
        await asyncio.sleep(0.02)
    return False


async def test_a_program_that_hangs_is_ended_with_its_children(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "GRACE", 0.3)
    monkeypatch.setattr(command, "LOAD_SECONDS", 0.5)
    path = program(folder, '[ "$1" = generator ] && exit 0\nsleep 600 & echo $! > pid; wait; sleep 600')
    async with gpu(folder) as server:
        result = await CommandStrategy(settings(server.url, [path])).swap(Role.REVIEWER, quiet)
    assert (result.outcome, result.failure) == ("went_back", "timeout")
    assert await gone(folder)


async def test_a_swap_that_is_cancelled_leaves_nothing_behind(folder: Path) -> None:
    path = program(folder, "sleep 600 & echo $! > pid; wait")
    async with gpu(folder) as server:
        swap = asyncio.create_task(CommandStrategy(settings(server.url, [path])).swap(Role.REVIEWER, quiet))
        while not living(folder):
            await asyncio.sleep(0.01)
        swap.cancel()
        await asyncio.gather(swap, return_exceptions=True)
    assert await gone(folder)


async def test_a_server_that_the_program_leaves_running_lives_on(folder: Path) -> None:
    """It holds the program's pipes open and stands in its process group, as a server started with & does."""
    path = program(folder, "sleep 600 & echo $! > pid; echo $1 > loaded; exit 0")
    async with gpu(folder) as server:
        result = await CommandStrategy(settings(server.url, [path])).swap(Role.REVIEWER, quiet)
        assert result.outcome == "done"
    assert living(folder)
    os.kill(int((folder / "pid").read_text()), 9)
