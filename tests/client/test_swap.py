"""Swaps between real processes, and what is left when things go wrong."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from navigator.client.errors import Unreachable
from navigator.config.paths import StatePaths
from navigator.config.settings import Settings, load_settings
from navigator.model.errors import MissingPart
from navigator.model.states import Role
from navigator.rehearsal.engine import MODEL_NAMES
from navigator.swap import make_strategy, strategy_class, strategy_names
from navigator.swap.base import PhaseEvent, Sighting
from navigator.swap.strategies.rehearsal import COMMAND, MODELS, RehearsalStrategy
from navigator.swap.strategies.resident import ResidentStrategy
from tests.client.machines import ended, quiet, stand_ins, two_roles
from tests.client.scripted import answer, models, refuse, routes, serving

STAND_IN = (sys.executable, str(Path(__file__).parent / "stand_in.py"))
STARTED = ["start", "load", "health", "verify"]

Make = Callable[..., RehearsalStrategy]


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Make]:
    made: list[RehearsalStrategy] = []

    def one(settings: Settings | None = None, **kwargs: Any) -> RehearsalStrategy:
        defaults: dict[str, Any] = {"time_scale": 0.0, "command": STAND_IN, "boot_seconds": 20.0}
        strategy = RehearsalStrategy(tmp_path / "rehearsal", settings, **(defaults | kwargs))
        made.append(strategy)
        return strategy

    yield one
    for strategy in made:
        await strategy.close()


def flaw(tmp_path: Path, **flaws: str) -> None:
    (tmp_path / "rehearsal" / "FLAWS").write_text(json.dumps(flaws))


def alive(tmp_path: Path) -> list[str]:
    """Roles of the processes that live for this folder."""
    found = stand_ins(tmp_path / "rehearsal", STAND_IN)
    return [words[words.index("--role") + 1] for words in found.values()]


async def test_there_and_back(make: Make, tmp_path: Path) -> None:
    strategy = make()
    seen: list[PhaseEvent] = []
    assert await strategy.resident() is None
    first = await strategy.swap(Role.GENERATOR, seen.append)
    assert ended(first) == ("done", STARTED)
    assert [(event.phase, event.state) for event in seen] == [
        (name, state) for name in STARTED for state in ("begin", "done")
    ]
    assert await strategy.resident() is Role.GENERATOR
    url = strategy.server(Role.GENERATOR).base_url
    assert url.startswith("http://127.0.0.1:")
    with pytest.raises(Unreachable):
        strategy.server(Role.REVIEWER)
    again = await strategy.swap(Role.GENERATOR, quiet)
    assert ended(again) == ("done", ["verify"])
    assert strategy.server(Role.GENERATOR).base_url == url
    second = await strategy.swap(Role.REVIEWER, quiet)
    assert ended(second) == ("done", ["drain", "stop", *STARTED])
    assert second.seconds >= sum(phase.seconds for phase in second.phases) - 0.01
    assert await strategy.resident() is Role.REVIEWER
    assert alive(tmp_path) == ["reviewer"]
    await strategy.close()
    assert alive(tmp_path) == []
    assert await strategy.resident() is None


async def test_two_swaps_at_once_come_one_after_the_other(make: Make, tmp_path: Path) -> None:
    strategy = make()
    results = await asyncio.gather(strategy.swap(Role.GENERATOR, quiet), strategy.swap(Role.REVIEWER, quiet))
    assert [result.outcome for result in results] == ["done", "done"]
    assert alive(tmp_path) == ["reviewer"]


@pytest.mark.parametrize(
    ("kind", "words", "failed"),
    [
        ("exit", "ended with code 1: CUDA out of memory", "start"),
        ("silent", "did not listen", "start"),
        ("unhealthy", "not healthy within", "load"),
        ("wrong_model", "rehearsal/other", "verify"),
    ],
)
async def test_a_target_that_does_not_come_up_brings_the_old_one_back(
    make: Make, tmp_path: Path, kind: str, words: str, failed: str
) -> None:
    strategy = make(boot_seconds=4.0 if kind in ("silent", "unhealthy") else 20.0)
    await strategy.swap(Role.GENERATOR, quiet)
    flaw(tmp_path, reviewer=kind)
    seen: list[PhaseEvent] = []
    result = await strategy.swap(Role.REVIEWER, seen.append)
    assert result.outcome == "went_back"
    assert words in result.reason
    assert [event.phase for event in seen if event.state == "fail"] == [failed]
    assert "going back to generator" in {event.detail for event in seen}
    assert await strategy.resident() is Role.GENERATOR
    assert alive(tmp_path) == ["generator"]


async def test_a_swap_without_a_way_back_has_failed(make: Make, tmp_path: Path) -> None:
    result = await make(command=("/nowhere/python",)).swap(Role.GENERATOR, quiet)
    assert result.outcome == "failed"
    assert "cannot be started" in result.reason
    strategy = make()
    await strategy.swap(Role.GENERATOR, quiet)
    flaw(tmp_path, generator="exit", reviewer="exit")
    result = await strategy.swap(Role.REVIEWER, quiet)
    assert result.outcome == "failed"
    assert "Going back failed too" in result.reason
    result = await strategy.swap(Role.GENERATOR, quiet)  # nothing is loaded that it could go back to
    assert result.outcome == "failed"
    assert "out of memory" in result.reason
    assert alive(tmp_path) == []


async def test_the_drain_waits_for_running_requests(make: Make, tmp_path: Path) -> None:
    strategy = make()
    await strategy.swap(Role.GENERATOR, quiet)
    busy = tmp_path / "rehearsal" / "BUSY"
    busy.touch()
    seen: list[tuple[str, str]] = []
    swap = strategy.swap(Role.REVIEWER, lambda event: seen.append((event.phase, event.state)))
    task = asyncio.create_task(swap)
    while ("drain", "begin") not in seen:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    assert seen == [("drain", "begin")]
    assert await strategy.resident() is Role.GENERATOR
    busy.unlink()
    assert (await task).outcome == "done"


async def test_a_cancelled_swap_is_cleared_up_by_the_next(make: Make, tmp_path: Path) -> None:
    strategy = make(time_scale=1.0)
    loading = asyncio.Event()
    seen: list[PhaseEvent] = []

    def report(event: PhaseEvent) -> None:
        seen.append(event)
        if event.phase == "load":
            loading.set()

    task = asyncio.create_task(strategy.swap(Role.GENERATOR, report))
    await loading.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen[-1].state == "fail"
    assert alive(tmp_path) == ["generator"]
    assert await strategy.resident() is None
    assert (await strategy.swap(Role.REVIEWER, quiet)).outcome == "done"
    assert alive(tmp_path) == ["reviewer"]


CONDUCTOR = """
import asyncio, os, signal, sys
from pathlib import Path
from navigator.model.states import Role
from navigator.swap.strategies.rehearsal import RehearsalStrategy

async def main():
    strategy = RehearsalStrategy(Path(sys.argv[1]), time_scale=0.0, command=tuple(sys.argv[2:]))
    print((await strategy.swap(Role.GENERATOR, lambda event: None)).outcome, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_the_server_of_a_killed_conductor_ends_with_it(make: Make, tmp_path: Path) -> None:
    killed = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", CONDUCTOR, str(tmp_path / "rehearsal"), *STAND_IN],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "done\n"), killed.stderr
    while alive(tmp_path):
        await asyncio.sleep(0.02)
    strategy = make()
    assert await strategy.resident() is None
    # What the killed one wrote down leads nowhere.
    assert (await strategy.look_at(Role.GENERATOR)).state == "not loaded"
    assert (await strategy.swap(Role.REVIEWER, quiet)).outcome == "done"
    looks = {role: (await make().look_at(role)).state for role in MODELS}
    assert looks == {Role.GENERATOR: "not loaded", Role.REVIEWER: "ready"}


async def test_a_server_that_died_is_seen_with_its_last_words(make: Make, tmp_path: Path) -> None:
    strategy = make()
    await strategy.swap(Role.GENERATOR, quiet)
    assert await strategy.look(Role.GENERATOR) == Sighting(Role.GENERATOR)
    (tmp_path / "rehearsal" / "server-generator.err").write_text("a line\nCUDA out of memory\n")
    (server,) = stand_ins(tmp_path / "rehearsal", STAND_IN)
    os.kill(server, signal.SIGKILL)
    while (seen := await strategy.look(Role.GENERATOR)).resident:
        await asyncio.sleep(0.01)
    assert seen == Sighting(None, dead=True, failure="crashed", detail="CUDA out of memory")
    assert (await strategy.swap(Role.GENERATOR, quiet)).outcome == "done"


async def test_the_rehearsal_itself_with_its_settings_and_without_keys(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    settings = Settings.model_validate({"generator": {"api_key_env": "SOME_KEY", "max_inflight": 3}})
    strategy = make(settings, command=COMMAND)
    result = await strategy.swap(Role.GENERATOR, quiet)
    assert (result.outcome, result.reason) == ("done", "")
    assert await strategy.resident() is Role.GENERATOR
    server = strategy.server(Role.GENERATOR)
    assert (server.model, server.api_key_env, server.max_inflight) == (MODELS[Role.GENERATOR], "", 3)
    assert strategy.server(Role.FINAL) == settings.final
    assert MODELS == MODEL_NAMES
    (process,) = stand_ins(tmp_path / "rehearsal", COMMAND)
    assert b"sk-secret" not in Path(f"/proc/{process}/environ").read_bytes()
    assert (tmp_path / "rehearsal" / "server.json").stat().st_mode & 0o777 == 0o600


async def test_resident_looks_and_touches_nothing() -> None:
    good = routes(answer("x"), health=refuse(200, {}), models=refuse(200, models("g")))
    other = routes(answer("x"), health=refuse(200, {}), models=refuse(200, models("other")))
    async with serving(good) as one, serving(other) as two:
        settings = two_roles(("g", one.url), ("r", two.url))
        strategy = ResidentStrategy(settings)
        assert strategy.both_resident
        assert await strategy.resident() is Role.GENERATOR
        done = await strategy.swap(Role.GENERATOR, quiet)
        wrong = await strategy.swap(Role.REVIEWER, quiet)
        assert strategy.server(Role.GENERATOR) == settings.generator
        methods = {request.method for request in (*one.requests, *two.requests)}
    assert ended(done) == ("done", ["verify", "health"])
    assert wrong.outcome == "failed"
    assert "other" in wrong.reason
    assert methods == {"GET"}
    down = await strategy.swap(Role.GENERATOR, quiet)
    assert ended(down) == ("failed", ["verify"])
    assert one.url.removeprefix("http://") in down.reason and "connection refused" in down.reason
    assert await strategy.resident() is None


def test_without_settings_or_a_strategy_one_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MissingPart, match="no settings yet") as caught:
        make_strategy(Settings(), StatePaths(tmp_path))
    assert caught.value.exit_code == 3
    assert "`navigator setup`" in caught.value.hint
    (tmp_path / "navigator.toml").write_text('[generator]\nbase_url = "http://127.0.0.1:1"\n')
    with pytest.raises(MissingPart) as caught:
        make_strategy(load_settings(tmp_path / "navigator.toml"), StatePaths(tmp_path))
    assert caught.value.exit_code == 3
    offered = caught.value.hint.partition("[swap]")[2]
    assert all(known in offered for known in strategy_names())


@pytest.mark.parametrize("name", strategy_names())
def test_a_strategy_that_is_here(name: str, tmp_path: Path) -> None:
    swap = {"strategy": name, "command": {"argv": ("true",)}}
    settings = Settings.model_validate({"swap": swap, "reviewer": {"base_url": "http://127.0.0.1:30001"}})
    strategy = make_strategy(settings, StatePaths(tmp_path), time_scale=0.5)
    assert strategy.name == name == strategy_class(name).name
    assert strategy.about
    assert strategy.both_resident == (name in ("resident", "adapter"))
    assert strategy.embedded == (name == "rehearsal")
