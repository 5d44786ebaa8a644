"""Processes that parse are kept for the next test that needs one: to start one costs more than what most tests have it read."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from navigator.process.bounded.run import Worker
from navigator.process.runner import Process

THEIR_OWN = ("checks", "context", "process", "sandbox")
"""Folders of tests that are about these processes: each has its own there."""

_call, _running, _close = Worker.call, Worker._running, Worker.close
_idle: list[Process] = []
_broken = set[int]()
_keeping = False


def keep(path: Path) -> None:
    """From here on, for the tests of a file."""
    global _keeping
    _keeping = path.parent.name not in THEIR_OWN


def end() -> None:
    """End those that are kept."""
    while _idle:
        _idle.pop().end()


def _called(self: Worker, *args: Any, **options: Any) -> Any:
    _broken.add(id(self))
    answer = _call(self, *args, **options)
    _broken.discard(id(self))
    return answer


def _found(self: Worker) -> Process:
    with suppress(IndexError):
        while _keeping and self._process is None:
            process = _idle.pop()
            self._process = process if process.poll() is None else None
    return _running(self)


def _closed(self: Worker) -> None:
    process = self._process
    if process is None or not _keeping or id(self) in _broken or len(_idle) > 3:
        _broken.discard(id(self))
        _close(self)
        return
    self._process = None
    _idle.append(process)


Worker.call, Worker._running, Worker.close = _called, _found, _closed  # type: ignore[method-assign]
