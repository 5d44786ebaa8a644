"""Call a function on untrusted text in a process that can be ended: limits on processor time, memory and wall clock.

A parser that holds Python's interpreter lock (`re`, `ast`, a grammar in C) stops every other thread of its process, whatever
thread it runs in. A process of its own does not: a crash, a hang or a flood of memory ends it alone.

Its standard input carries requests, its standard output answers, both pickled. A call that takes more
processor time than it was given is ended by the kernel: the alarm has no handler, since none would run while C code loops.
"""

from __future__ import annotations

import atexit
import os
import pickle
import resource
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from navigator.model.errors import NavigatorError
from navigator.process.runner import PIPE, Process, start

T = TypeVar("T")

SECONDS = 5.0
"""Processor time of one call, where the caller names no other."""

MEMORY = 3 << 30
"""Address space of the process in bytes."""

SMALL = 16_384
"""Characters that are read in this process: every parser takes milliseconds for them, and handing them over costs more."""

_PROGRAM = "from navigator.process.bounded import serve; serve()"
_KEPT = ("PATH", "LANG", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")
_PATIENCE = 120.0
"""Seconds of wall clock after which a process counts as lost: one that was stopped uses no processor time."""

_MOST_IDLE = 2
_AT_ONCE = threading.BoundedSemaphore(max(2, min(os.cpu_count() or 1, 8)))
_idle: list[Worker] = []


class WorkerLost(NavigatorError):
    """The call passed a limit, or its process ended."""

    code: ClassVar[str] = "worker_lost"

    def __init__(self, message: str = "It could not be read within the limits of time and memory.") -> None:
        super().__init__(message)


class Worker:
    """One process, started by its first call and followed by another after each that is lost. Not safe across threads."""

    def __init__(self) -> None:
        self._process: Process | None = None

    def call(self, function: Callable[..., T], *args: object, seconds: float = SECONDS) -> T:
        """`function(*args)`, computed in the process.

        Args:
            function: of a module, by its name; arguments, result and errors are pickled.
            seconds: of processor time.

        Raises:
            WorkerLost: it passed a limit, or the process did not survive it.
            Exception: what the function raised.
        """
        limit = pickle.dumps(seconds, pickle.HIGHEST_PROTOCOL)
        request = limit + pickle.dumps((function, args), pickle.HIGHEST_PROTOCOL)
        try:
            ended, value = _exchange(self._running(), request)
        except Exception as error:
            self.close()
            raise WorkerLost from error
        if not ended:
            raise value
        result: T = value
        return result

    def _running(self) -> Process:
        if self._process is None or self._process.poll() is not None:
            self.close()
            # -P: nothing is imported from the current folder. No key of the caller's environment reaches it.
            self._process = start(
                [sys.executable, "-P", "-c", _PROGRAM],
                stdin=PIPE,
                stdout=PIPE,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                cwd="/",
            )
        return self._process

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.end()


def _exchange(process: Process, request: bytes) -> tuple[bool, Any]:
    """Write a request and read its answer; the process is killed where that takes longer than `_PATIENCE`."""
    assert process.stdin is not None and process.stdout is not None
    watch = threading.Timer(_PATIENCE, process.kill)
    watch.start()
    try:
        with open(process.stdin.fileno(), "wb", closefd=False) as ask:
            ask.write(request)
        with open(process.stdout.fileno(), "rb", closefd=False) as told:
            ended, value = pickle.load(told)
    finally:
        watch.cancel()
    return ended, value


def run_bounded(
    function: Callable[..., T],
    *args: object,
    size: int | None = None,
    seconds: float = SECONDS,
) -> T:
    """`function(*args)` in one of a few worker processes. Blocks: call it in a thread where there is a loop.

    Args:
        size: characters of untrusted text in `args`; where there are at most `SMALL`, no process is asked.
        seconds: of processor time.

    Raises:
        WorkerLost: it passed a limit, was nested too deeply, or the process did not survive it.
        Exception: what the function raised.
    """
    if size is not None and size <= SMALL:
        try:
            return function(*args)
        except (RecursionError, MemoryError) as error:
            raise WorkerLost from error
    with _AT_ONCE:
        worker = _waiting_worker()
        try:
            return worker.call(function, *args, seconds=seconds)
        finally:
            if len(_idle) < _MOST_IDLE:
                _idle.append(worker)
            else:
                worker.close()


def _waiting_worker() -> Worker:
    try:
        return _idle.pop()
    except IndexError:
        return Worker()


@atexit.register
def close_idle() -> None:
    """End the processes that wait for work; the next call starts another."""
    while _idle:
        _idle.pop().close()


# In the process


def _answer(function: Callable[..., object], args: tuple[object, ...]) -> bytes:
    """Whether a function returned, and its value or the error it raised, pickled."""
    try:
        told = (True, function(*args))
    except (RecursionError, MemoryError):
        told = (False, WorkerLost())
    except Exception as error:  # noqa: BLE001 it is raised where the call came from
        told = (False, error)
    return pickle.dumps(told, pickle.HIGHEST_PROTOCOL)


def serve() -> None:
    """In the process: answer until standard input ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)
    ask, tell = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    while ask.peek(1):
        seconds = pickle.load(ask)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        found = _answer(*pickle.load(ask))
        signal.setitimer(signal.ITIMER_PROF, 0)
        tell.write(found)
        tell.flush()
