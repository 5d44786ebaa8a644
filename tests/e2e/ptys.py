"""A process on a pseudo-terminal: every byte it writes is kept."""

from __future__ import annotations

import os
import pty
import select
import struct
import sys
import termios
import time
from collections.abc import Mapping
from contextlib import suppress
from fcntl import ioctl

PATIENCE = 60.0


class Pty:
    """Runs a Python program with a terminal of its own."""

    def __init__(
        self, arguments: list[str], environment: Mapping[str, str], size: tuple[int, int] = (120, 40)
    ) -> None:
        full = dict(os.environ) | {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | dict(environment)
        full.pop("TMUX", None)
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [sys.executable, *arguments], full)
        ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.before = termios.tcgetattr(self.master)
        self.output = b""
        self.status: int | None = None

    def send(self, keys: str) -> None:
        """Press keys."""
        os.write(self.master, keys.encode())

    def read(self, seconds: float) -> None:
        """Take in what is written within so many seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                return
            try:
                data = os.read(self.master, 65536)
            except OSError:  # the other side is gone
                return
            if not data:
                return
            self.output += data

    def wait_for(self, text: str, *, after: int = 0) -> None:
        """Read until a text was written after a place in the output."""
        deadline = time.monotonic() + PATIENCE
        while text.encode() not in self.output[after:]:
            if time.monotonic() > deadline:
                raise AssertionError(f"{text!r} was not written; the last was {self.output[-2000:]!r}")
            self.read(0.2)

    def ended(self) -> int:
        """Wait for the process, and read what it wrote last; its wait status."""
        deadline = time.monotonic() + PATIENCE
        while self.status is None:
            if time.monotonic() > deadline:
                raise AssertionError("the process does not end")
            self.read(0.1)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        self.read(0.3)
        return self.status

    def hang_up(self) -> None:
        """Close the terminal under the process."""
        with suppress(OSError):
            os.close(self.master)
        self.master = -1

    def close(self) -> None:
        """End what is left."""
        if self.status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        if self.master >= 0:
            self.hang_up()
