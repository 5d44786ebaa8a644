"""The line to the conductor, over real sockets, and the way without one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.engine.acting import request
from navigator.engine.server import SocketServer
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Event
from navigator.tui.app import NavigatorApp
from navigator.tui.conductor_link import ConductorLink
from navigator.tui.widgets.strip import StatusStrip
from tests.tui import world
from tests.tui.driving import loaded, until


class Desk:
    """A conductor's end of the socket that answers what it is told to."""

    def __init__(self, paths: StatePaths) -> None:
        self.status: dict[str, Any] = {"resident": "generator", "swapping_to": None, "busy": {}}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.server = SocketServer(paths.socket, self._handle, lambda after: [])

    async def _handle(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        if op == "status":
            return self.status
        self.asked.append((op, args))
        if op == "decide":
            raise Conflict("P1 is no longer open.", hint="Look again.")
        return {"done": op}


class Line:
    """A link that is being kept, and what it told."""

    def __init__(self, paths: StatePaths) -> None:
        self.events: list[dict[str, Any]] = []
        self.changes = 0
        self.link = ConductorLink(paths, self.events.append, self._changed)

    def _changed(self) -> None:
        self.changes += 1

    async def until(self, true: Callable[[], object]) -> None:
        for _ in range(1500):
            if true():
                return
            await asyncio.sleep(0.01)
        raise AssertionError("it did not come about")


@asynccontextmanager
async def kept(paths: StatePaths) -> AsyncIterator[Line]:
    line = Line(paths)
    task = asyncio.create_task(line.link.keep())
    try:
        yield line
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def said(kind: str, **data: str) -> Event:
    return Event(seq=1, at="2026-11-20T10:00:00.000Z", kind=kind, data=data)


async def test_it_asks_the_conductor_and_comes_back_to_it(empty_state: StatePaths) -> None:
    desk = Desk(empty_state)
    await desk.server.start()
    async with kept(empty_state) as line:
        await line.until(lambda: line.link.here)
        assert line.link.live.conductor == "here"
        assert line.link.live.status["resident"] == "generator"
        assert await line.link.request("seen", {"ids": ["P1"]}) == {"done": "seen"}
        assert desk.asked == [("seen", {"ids": ["P1"]})]
        with pytest.raises(NavigatorError, match="no longer open"):
            await line.link.request("decide", {})
        await desk.server.close()
        await line.until(lambda: not line.link.here)
        assert line.link.live.conductor == "absent"
        again = Desk(empty_state)
        await again.server.start()
        await line.until(lambda: line.link.here)
        await again.server.close()


async def test_streams_and_swaps_are_followed(empty_state: StatePaths) -> None:
    desk = Desk(empty_state)
    await desk.server.start()
    async with kept(empty_state) as line:
        await line.until(lambda: desk.server.listeners)
        desk.server.publish_live({"task": "T2", "checking": "billing"})  # no stream
        for chars in (100, 400, 900):
            desk.server.publish_live({"task": "T1", "role": "generator", "chars": chars})
            await asyncio.sleep(0.15)
        await line.until(lambda: line.link.live.chars_per_second > 0)
        assert line.link.live.streams == 1
        desk.server.publish(said("call_ended").model_copy(update={"task_id": "T1"}))
        await line.until(lambda: line.events)
        assert line.events[0]["kind"] == "call_ended"
        assert line.link.live.streams == 0

        swap = {"from": "generator", "to": "reviewer"}
        for phase, state, seconds in (
            ("begin", "", 0.0),
            ("stop", "begin", 0.0),
            ("stop", "done", 2.1),
            ("load", "begin", 0.0),
        ):
            live = {**swap, "phase": phase, "state": state, "seconds": seconds}
            desk.server.publish_live({"swap": live})
        await line.until(lambda: line.link.live.swap and line.link.live.swap.phase == "load")
        progress = line.link.live.swap
        assert progress is not None and progress.begun <= time.monotonic()
        assert (progress.origin, progress.to, progress.done) == ("generator", "reviewer", (("stop", 2.1),))
        desk.server.publish(said("resident", role="reviewer"))
        await line.until(lambda: line.link.live.swap is None)
        assert line.link.live.status["resident"] == "reviewer"
        await desk.server.close()


async def test_a_started_conductor_outlives_the_link(
    empty_state: StatePaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "rehearsal.toml"
    config.write_text('[swap]\nstrategy = "rehearsal"\n', encoding="utf-8")
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(config))
    try:
        async with kept(empty_state) as line:
            line.link._time_scale = 0.0
            await line.link.start()
            await line.until(lambda: line.link.here)
        assert "busy" in await asyncio.to_thread(request, empty_state.socket, "status", {}, timeout=5)
    finally:
        await asyncio.to_thread(request, empty_state.socket, "conduct", {"do": "stop"}, timeout=5)
        for _ in range(1000):
            if not empty_state.socket.exists():
                break
            await asyncio.sleep(0.01)


async def test_without_a_strategy_the_screens_say_it_in_a_line(
    empty_state: StatePaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    world.many(empty_state, projects=1, proposals=2)
    app = NavigatorApp(Settings(), empty_state, autostart=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        assert not await app.start_conductor()
        await pilot.pause()
        (told,) = (note.message for note in app._notifications)
        first = "There are no settings yet."
        assert told == f"{first} `navigator setup` finds your model servers and writes them."
        strip = app.screen.query_one(StatusStrip)
        await until(pilot, lambda: first in str(strip.render()), what="the banner, not cut")


REHEARSAL = Settings.model_validate({"swap": {"strategy": "rehearsal"}})


async def test_opening_alone_starts_no_conductor(state: StatePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted: list[bool] = []
    monkeypatch.setattr(NavigatorApp, "want_work", lambda app: wanted.append(True))
    app = NavigatorApp(REHEARSAL, state)
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
    assert wanted == []
