"""Screens over a state folder that the real store wrote, at a fixed moment."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.tui.app import NavigatorApp
from navigator.tui.data.prefs import Prefs
from tests.tui import world

AppMaker = Callable[..., NavigatorApp]


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> StatePaths:
    """The day's state, made once; take `state` for a copy of your own."""
    paths = StatePaths(tmp_path_factory.mktemp("state") / "s").ensure()
    world.fill(paths)
    return paths


@pytest.fixture
def state(filled: StatePaths, tmp_path: Path) -> StatePaths:
    """A copy of the day's state; the inbox is in the order in which its proposals were made."""
    paths = StatePaths(tmp_path / "s").ensure()
    shutil.copy(filled.database, paths.database)
    Prefs(paths.root).set("deck.inbox", "oldest")
    return paths


@pytest.fixture
def empty_state(tmp_path: Path) -> StatePaths:
    """A state folder with nothing in it."""
    return StatePaths(tmp_path / "empty").ensure()


@pytest.fixture(autouse=True)
def fixed_moment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pictures are drawn as of `world.NOW`."""
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
