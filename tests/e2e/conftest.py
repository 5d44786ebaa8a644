"""Real terminals: everything here is marked e2e, and skipped with a reason where tmux is not there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.tmux import Terminal


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Environment of a developer who has nothing yet. What was left working there is ended afterwards."""
    folder = tmp_path_factory.mktemp("e")
    (folder / ".gitconfig").write_text("[user]\n\tname = Dev\n\temail = dev@localhost\n")
    environment = {
        "NAVIGATOR_STATE": str(folder / "s"),
        "XDG_CONFIG_HOME": str(folder / "c"),
        "NAVIGATOR_TIME_SCALE": "0.02",
        "HOME": str(folder),
    }
    yield environment
    end_conductor(Path(environment["NAVIGATOR_STATE"]))


def end_conductor(state: Path) -> None:
    """Ask a conductor of this state to end, and wait until it has."""
    from navigator.config.paths import StatePaths
    from navigator.engine.acting import request
    from navigator.engine.wire import NoConductor
    from navigator.store.lock import StateLock

    if not state.exists():
        return
    paths = StatePaths(state)
    try:
        request(paths.socket, "conduct", {"do": "stop"}, timeout=10)
    except NoConductor:
        return
    lock = StateLock(paths)
    lock.acquire(blocking=True)
    lock.release()


@pytest.fixture
def terminal(tmp_path: Path, place: dict[str, str]) -> Iterator[Terminal]:
    """A window in a tmux of its own, with a shell in it."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux: apt install tmux")
    opened = Terminal(tmp_path, place)
    yield opened
    opened.close()


def navigator(environment: dict[str, str], *words: str) -> str:
    """One command in that environment; its output."""
    import os

    done = subprocess.run(
        [sys.executable, "-m", "navigator", *words],
        env=os.environ | environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
