"""Screens over a state folder that the real store wrote, at a fixed moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.tui.app import NavigatorApp
from navigator.tui.prefs import Prefs
from navigator.tui.review.screen import ReviewScreen
from navigator.tui.widgets.screen import Dialog
from tests.tui import world
from tests.tui.reviewing import Reviewing

AppMaker = Callable[..., NavigatorApp]


@pytest.fixture
def state(tmp_path: Path) -> StatePaths:
    """The day's state; the inbox is in the order in which its proposals were made."""
    paths = StatePaths(tmp_path / "s").ensure()
    world.fill(paths)
    Prefs(paths.root).set("deck.inbox", "oldest")
    return paths


@pytest.fixture
def empty_state(tmp_path: Path) -> StatePaths:
    """A state folder with nothing in it."""
    return StatePaths(tmp_path / "empty").ensure()


@pytest.fixture(scope="session")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Reviewing:
    """Real proposals of a real repository, made once; take `reviewing` for a copy of your own."""
    folder = tmp_path_factory.mktemp("reviewed")
    return Reviewing(StatePaths(folder / "s").ensure(), folder)


@pytest.fixture
def reviewing(reviewed: Reviewing, tmp_path: Path) -> Reviewing:
    """Real proposals of a real repository."""
    return reviewed.copied(tmp_path)


@pytest.fixture(autouse=True)
def brief_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pilot waits for its messages; it need not wait 20 ms besides, twice for each key, for an idle process: 10 do."""
    monkeypatch.setattr("textual._wait.SLEEP_GRANULARITY", 0.01)
    monkeypatch.setattr("textual._wait.SLEEP_IDLE", 0.001)


@pytest.fixture(autouse=True)
def fixed_moment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As of `world.NOW`, unblinking; dialogs answer at once, and nothing is seen by itself: both have tests of their own."""
    monkeypatch.setattr("textual.widgets.Input.cursor_blink", False)
    monkeypatch.setattr(Dialog, "GRACE", 0.001)
    monkeypatch.setattr(ReviewScreen, "SEEN_AFTER", 3600.0)
    monkeypatch.setattr("navigator.tui.clock.now", lambda: world.NOW)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("NAVIGATOR_STATE", str(tmp_path / "s"))


@pytest.fixture
def make_app(state: StatePaths) -> AppMaker:
    """Makes the app over `state` (or another folder); no conductor is started."""

    def make(paths: StatePaths | None = None, **options: object) -> NavigatorApp:
        settings = options.pop("settings", None) or Settings()
        return NavigatorApp(settings, paths or state, autostart=False, **options)  # type: ignore[arg-type]

    return make
