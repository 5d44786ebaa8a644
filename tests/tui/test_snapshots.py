"""Pictures of the deck, the help, the first run and the small screens: two sizes, two themes."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual.pilot import Pilot

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.tui.app import NavigatorApp
from navigator.tui.deck_snapshot import LiveStatus, SwapProgress
from navigator.tui.dialogs import HelpScreen
from navigator.tui.welcome import FirstRunScreen
from navigator.tui.widgets import strip as strip_text
from navigator.tui.widgets.page import Page
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded, looks, until

CONFIG = Path("/home/dev/.config/navigator/config.toml")
Script = Callable[[NavigatorApp, Pilot[Any]], Awaitable[None]]
Snap = Callable[..., bool]


def settings(tmp_path: Path) -> Settings:
    """Settings that say they came from a file, so that no first run comes up."""
    return Settings(source=tmp_path / "config.toml")


def working(app: NavigatorApp, swap: SwapProgress | None = None) -> None:
    """As if a conductor had just told this."""
    status = {"resident": "generator", "strategy": "systemd", "busy": {"T177": "generator"}}
    live = LiveStatus("here", "", int(swap is None), 600.0 if swap is None else 0.0, swap, status)
    type(app.link).live = property(lambda self: live)  # type: ignore[assignment,method-assign]
    app._live_changed()


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """The link's picture is put back after each test."""
    from navigator.tui.conductor_link import ConductorLink

    monkeypatch.setattr(ConductorLink, "live", ConductorLink.live)
    monkeypatch.setattr(ConductorLink, "here", ConductorLink.here)
    for module in ("welcome", "dialogs"):
        monkeypatch.setattr(f"navigator.tui.{module}.config_path", lambda: CONFIG)
    clock = time.monotonic()
    monkeypatch.setattr("navigator.tui.widgets.strip.time", SimpleNamespace(monotonic=lambda: clock))


@looks
def test_deck(
    snap_compare: Snap, make_app: AppMaker, tmp_path: Path, size: tuple[int, int], theme: str
) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        app = await loaded(pilot)
        app.theme = theme
        working(app)
        await pilot.press("j", "space")
        await pilot.pause()

    assert snap_compare(make_app(settings=settings(tmp_path)), terminal_size=size, run_before=before)


async def swapping(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    now = strip_text.time.monotonic()
    ended = (("drain", 0.4), ("stop", 2.1), ("start", 6.0))
    working(app, SwapProgress("generator", "reviewer", now - 27, "load", now - 18.5, ended))


async def help_page(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    await pilot.press("question_mark")
    await until(pilot, lambda: isinstance(app.screen, HelpScreen) and bool(app.screen.query_one(Page).lines))


@pytest.mark.parametrize(
    "script",
    [swapping, help_page],
    ids=lambda script: script.__name__,
)
def test_states(snap_compare: Snap, make_app: AppMaker, tmp_path: Path, script: Script) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await script(await loaded(pilot), pilot)
        await pilot.pause()

    assert snap_compare(make_app(settings=settings(tmp_path)), terminal_size=(120, 36), run_before=before)


def test_first_run(snap_compare: Snap, make_app: AppMaker, empty_state: StatePaths) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        app = await loaded(pilot)
        await until(pilot, lambda: isinstance(app.screen, FirstRunScreen))

    assert snap_compare(make_app(empty_state), terminal_size=(80, 24), run_before=before)
