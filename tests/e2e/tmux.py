"""A real terminal to drive by keys: one tmux server of its own, one window, what stands on it as text."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

PATIENCE = 60.0
"""Seconds to wait for something to appear, at most; a slow machine needs some of them."""


class Terminal:
    """One window in a tmux server that nobody else uses.

    Args:
        folder: where the server's socket stands.
        environment: for what is run in the window.
    """

    def __init__(
        self, folder: Path, environment: Mapping[str, str], size: tuple[int, int] = (120, 40)
    ) -> None:
        self._socket = str(folder / "t")
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self._environment = kept | {"LANG": "C.UTF-8", "COLORTERM": "truecolor"} | dict(environment)
        width, height = size
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), "sh")
        self._tmux("set-option", "-g", "escape-time", "0")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *words],
            env=self._environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def run(self, *words: str) -> None:
        """Type a `navigator` command and enter it."""
        self.type(f"clear; {shlex.join([sys.executable, '-m', 'navigator', *words])}; echo ended with $?")
        self.keys("Enter")

    def keys(self, *names: str) -> None:
        """Press keys, by tmux's names, one after the other."""
        for name in names:
            self._tmux("send-keys", name)

    def type(self, text: str) -> None:
        """Type characters."""
        self._tmux("send-keys", "-l", text)

    @property
    def text(self) -> str:
        """What stands in the window."""
        return self._tmux("capture-pane", "-p")

    def wait(self, *texts: str, gone: str = "") -> str:
        """Wait until all of these stand in the window, and `gone` does not."""
        return self.until(
            lambda shown: all(text in shown for text in texts) and not (gone and gone in shown),
            f"{' and '.join(map(repr, texts))}{f' without {gone!r}' if gone else ''}",
        )

    def until(self, true: Callable[[str], bool], what: str) -> str:
        """Wait until something holds of what stands in the window."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            shown = self.text
            if true(shown):
                return shown
            time.sleep(0.1)
        raise AssertionError(f"{what} did not appear:\n{self.text}")

    def press_until(self, key: str, *texts: str) -> str:
        """Press a key again and again until it has worked: where pressing it once more does no harm."""
        for _ in range(20):
            self.keys(key)
            for _ in range(5):
                time.sleep(0.1)
                shown = self.text
                if all(text in shown for text in texts):
                    return shown
        raise AssertionError(f"{key} did not lead to {texts}:\n{self.text}")

    def answer(self, key: str) -> None:
        """Press a key in a dialog that has just come up: accept keys are dead for its first half second."""
        time.sleep(0.8)
        self.keys(key)

    def close(self) -> None:
        """End the window and the server."""
        self._tmux("kill-server")
