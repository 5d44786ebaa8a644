"""Fleet: servers asked over real HTTP, swaps by phase, the log's end made safe."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from navigator.config.paths import StatePaths
from navigator.config.settings import GeneratorSettings, ReviewerSettings, Settings, SwapSettings
from navigator.model.models import Swap
from navigator.model.states import Role
from navigator.swap import look_at_servers
from navigator.swap.status import ServerLook
from navigator.tui.deck_snapshot import DeckSnapshot, LiveStatus, SwapProgress
from navigator.tui.dialogs import ConfirmDialog
from navigator.tui.fleet import (
    TAIL_BYTES,
    FleetScreen,
    log_end,
    log_lines,
    now_lines,
    server_lines,
)
from navigator.tui.widgets.page import Page
from navigator.tui.widgets.strip import StripFacts
from tests.records import swapped
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded, until
from tests.tui.test_statistics import text_of

CLOSED = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A rehearsal's generator that answers."""
    words = "-m navigator.rehearsal --role generator --port 0 --time-scale 0"
    child = subprocess.Popen([sys.executable, *words.split()], stdout=subprocess.PIPE)
    port = json.loads(child.stdout.readline())["port"]
    yield f"http://127.0.0.1:{port}"
    child.terminate()
    child.wait()


def settings(generator: str, reviewer: str) -> Settings:
    return Settings(
        generator=GeneratorSettings(model="rehearsal/Qwen3.5-35B-A3B", base_url=generator),
        reviewer=ReviewerSettings(model="rehearsal/Qwen3.5-122B-A10B", base_url=reviewer),
    )


def ready(settings: Settings, state: StatePaths) -> tuple[ServerLook, ...]:
    """The servers, once the first one has loaded."""
    looks = look_at_servers(settings, state)
    while looks[0].state == "loading":
        looks = look_at_servers(settings, state)
    return looks


def test_what_the_servers_say(server: str, empty_state: StatePaths) -> None:
    looks = ready(settings(server, CLOSED), empty_state)
    assert [(look.role, look.state) for look in looks] == [
        (Role.GENERATOR, "ready"),
        (Role.REVIEWER, "silent"),
    ]
    assert "35B" in looks[0].served and looks[0].load is not None and looks[0].load.running == 0
    assert looks[1].problem
    looks = ready(settings(server, server), empty_state)
    assert looks[1].state == "other" and "35B" in looks[1].served
    # The server of the other role is no problem where models are swapped.
    swap = SwapSettings.model_validate({"strategy": "command", "command": {"argv": ("true",)}})
    for reviewer in (server, CLOSED):
        chosen = settings(server, reviewer).model_copy(update={"swap": swap})
        assert [(look.state, look.problem, look.remedy) for look in ready(chosen, empty_state)] == [
            ("ready", "", ""),
            ("not loaded", "", ""),
        ]
    chosen = Settings.model_validate({"swap": {"strategy": "rehearsal"}})
    assert [look.state for look in look_at_servers(chosen, empty_state)] == ["not loaded", "not loaded"]


# Lines


FACTS = StripFacts({"generator": "a/x-35B", "reviewer": "b/x-122B"}, 30)


def now(*swaps: Swap, **live: Any) -> str:
    """The lines about now, while a conductor works."""
    status = LiveStatus(conductor="here", **live)
    return text_of(now_lines(DeckSnapshot(swaps=swaps), status, FACTS, 110))


def test_a_swap_is_shown_with_its_phase_and_what_it_usually_takes() -> None:
    known, outside = swapped(27.5), swapped(made_by="outside", seconds=0.0, phases=())
    began = time.monotonic() - 9
    swap = SwapProgress("generator", "reviewer", began, "stop", began + 6)
    said = now(outside, known, swap=swap)
    assert "35B → 122B" in said and "▸ stop  3 s" in said and "of ~30 s, measured" in said
    assert "published" in now(swap=swap)


def test_what_went_wrong_with_servers_is_said_and_what_to_do() -> None:
    status = {
        "resident": None,
        "strategy": "systemd",
        "given_up": {"reviewer": "its server died 3 times; CUDA \x1b[2J out of memory"},
        "deaths": {"reviewer": 3, "generator": 1},
        "wanted": "generator",
        "read_ahead": {
            "role": "reviewer",
            "weight_bytes": 69_000_000_000,
            "warm_bytes": 34_500_000_000,
            "ended": "",
        },
    }
    said = now(status=status)
    assert "reviewer disabled after repeated failures: its server died 3 times" in said and "\x1b" not in said
    assert "swap to the reviewer to try again" in said
    assert "the generator's server died once" in said
    assert "50% of 69.0 GB" in said


def test_a_server_s_words_are_made_safe() -> None:
    more = {"served": "m\x1b[2J\u202e", "problem": "\x9bx"}
    look = ServerLook(Role.GENERATOR, "m", "http://127.0.0.1:9", "ready", **more)
    said = text_of(server_lines((look,), LiveStatus(), 110))
    assert not set("\x1b\u202e\x9b") & set(said)


def test_the_log_is_cut_made_safe_and_marked() -> None:
    error = "2026-11-20 14:03:11,204 ERROR navigator.engine.conductor swap \x1b]52;c;eA==\x07failed"
    lines = log_lines([error, "  trace"], 80)
    said = text_of(lines)
    assert "14:03:11 error   swap" in said and "\x1b" not in said
    assert any(style == "bad" for line in lines for _, style in line)


def test_the_log_s_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "navigator.log"
    assert log_end(path) == []
    path.write_text("".join(f"line {number} {'x' * 50}\n" for number in range(3000)))
    read = log_end(path)
    assert read[-1].startswith("line 2999") and sum(map(len, read)) < TAIL_BYTES
    assert read[0].startswith("line ")
    with path.open("ab") as stream:
        stream.write(b"\xff\xfe broken\n")
    assert log_end(path)[-1].endswith("broken")


# The screen


async def opened(pilot: Pilot[Any]) -> FleetScreen:
    await loaded(pilot)
    await pilot.press("F")
    await until(
        pilot,
        lambda: isinstance(pilot.app.screen, FleetScreen) and pilot.app.screen.looks is not None,
        what="the servers",
    )
    return cast("FleetScreen", pilot.app.screen)


def shown(screen: FleetScreen) -> str:
    return text_of(list(screen.query_one(Page).lines))


async def test_servers_swaps_and_log(make_app: AppMaker, state: StatePaths, server: str) -> None:
    state.log.write_text(
        "2026-11-20 14:03:11,204 INFO navigator.engine.conductor batch 2026-11-20-a begins\n"
    )
    chosen = settings(server, CLOSED)
    await asyncio.to_thread(ready, chosen, state)
    async with make_app(settings=chosen).run_test(size=(140, 60)) as pilot:
        screen = await opened(pilot)
        # On a busy machine the first look may end before the server answers; the next one sees it.
        await until(pilot, lambda: "● ready" in shown(screen), what="the server's answer")
        said = shown(screen)
        assert "✗ not answering" in said
        assert "generator → reviewer  by systemd" in said
        load = next(line.split() for line in said.splitlines() if line.split()[:1] == ["load"])
        assert len(load) == 5 and load[3] == "25.7"
        await until(pilot, lambda: "begins" in shown(screen), what="the log")


async def test_a_manual_swap_is_asked_about_and_needs_a_conductor(make_app: AppMaker) -> None:
    async with make_app(settings=settings(CLOSED, CLOSED)).run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("s")
        await until(pilot, lambda: isinstance(pilot.app.screen, ConfirmDialog), what="the question")
        await until(pilot, lambda: bool(pilot.app.screen.query(".answer.-ready")), what="keys that answer")
        await pilot.press("enter")
        await until(
            pilot,
            lambda: any("No conductor is running." in note.message for note in pilot.app._notifications),
            what="the toast",
        )
