"""Where logs are read from: the conductor's, and each model server's where it is known."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.model.errors import NavigatorError
from navigator.swap import strategy_class
from navigator.swap.machine import servers_machine

TAIL_BYTES = 64 * 1024
_LINES = 200
_SECONDS = 5.0

Read = Callable[[], list[str] | None]
"""The last lines, oldest first; None when nothing changed. Blocks: called in a thread."""


@dataclass(frozen=True, slots=True)
class LogSource:
    """One log. `name` is for the heading."""

    name: str
    read: Read


def log_sources(settings: Settings, paths: StatePaths) -> tuple[LogSource, ...]:
    """The conductor's log first; then the rehearsal's processes or systemd's units. Other servers keep theirs elsewhere."""
    found = [LogSource("conductor", LogTail(paths.log).read)]
    strategy = settings.swap.strategy
    for log in strategy_class(strategy).logs(settings, paths) if strategy else ():
        if log.path is not None:
            name, read = log.path.name, LogTail(log.path).read
        else:
            name, read = log.unit, Journal(settings, log.scope, log.unit).read
            name += f" on {log.host}" if log.host else ""
        found.append(LogSource(f"the {log.role.value}'s server, {name}", read))
    return tuple(found)


class Journal:
    """The end of a unit's journal, on the servers' machine.

    Args:
        settings: which machine that is.
        scope: "user" or "system".
        unit: its name.
    """

    def __init__(self, settings: Settings, scope: str, unit: str) -> None:
        self._settings = settings
        self._words = ["--user" if scope == "user" else "--system", "--unit", unit]
        self._seen: list[str] | None = None

    def read(self) -> list[str] | None:
        """The last lines; None when they are those of the call before."""
        lines = self._ask()
        if lines == self._seen:
            return None
        self._seen = lines
        return lines

    def _ask(self) -> list[str]:
        words = ["journalctl", *self._words, "--lines", str(_LINES), "--no-pager", "--quiet"]
        try:
            with servers_machine(self._settings) as machine:
                done = machine.run([*words, "--output", "short-iso"], _SECONDS)
        except NavigatorError as error:
            return [str(error)]
        if done is None:
            return [
                "journalctl did not answer or is not installed; the unit file says where its output goes."
            ]
        said = done.out or done.err
        return said.decode("utf-8", "replace").splitlines()[-_LINES:]


class LogTail:
    """Reads the end of a file again when it has changed. Blocks: call it in a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None

    def read(self) -> list[str] | None:
        """The last lines, oldest first; None when nothing changed since the last call."""
        try:
            with self._path.open("rb") as stream:
                status = os.fstat(stream.fileno())
                seen = (status.st_size, status.st_mtime_ns)
                if seen == self._seen:
                    return None
                stream.seek(max(0, status.st_size - TAIL_BYTES))
                data = stream.read(TAIL_BYTES)
        except FileNotFoundError:
            seen, data = (0, 0), b""
            if seen == self._seen:
                return None
        except OSError as error:
            seen, data = (0, -1), f"The log cannot be read: {error.strerror}.".encode()
            if seen == self._seen:
                return None
        self._seen = seen
        lines = data.decode("utf-8", "replace").split("\n")
        if len(data) == TAIL_BYTES:
            lines = lines[1:]  # the first one is cut
        return [line for line in lines if line]
