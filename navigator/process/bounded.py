"""Call a function on untrusted text in a process that can be ended: limits on processor time, memory and wall clock.

A parser that holds Python's interpreter lock (`re`, `ast`, a grammar in C) stops every other thread of its process, whatever
thread it runs in. A process of its own does not: a crash, a hang or a flood of memory ends it alone.

Its standard input carries requests, its standard output answers, both pickled behind their length. A call that takes more
processor time than it was given is ended by the kernel: the alarm has no handler, since none would run while C code loops.
"""

from __future__ import annotations

import atexit
import importlib
import os
import pickle
import resource
import selectors
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar, TypeVar

from navigator.model.errors import NavigatorError
from navigator.process.runner import PIPE, Process, start

T = TypeVar("T")

SECONDS = 5.0
"""Processor time of one call, where the caller names no other."""

MEMORY = 2 << 30
"""Address space of the process in bytes, where the caller names no other."""

SMALL = 16_384
"""Characters that are read in this process: every parser takes milliseconds for them, and handing them over costs more."""

_HEAD = struct.Struct(">dQQ")
"""Before a request: seconds, memory, bytes that follow. An answer has its length alone."""

_LENGTH = struct.Struct(">Q")

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
        self.memory = 0
        """Bytes of address space that its newest call might take."""

    def call(
        self,
        function: Callable[..., T],
        *args: object,
        seconds: float = SECONDS,
        memory: int = MEMORY,
    ) -> T:
        """`function(*args)`, computed in the process.

        Args:
            function: of a module, by its name; arguments, result and errors are pickled.
            seconds: of processor time.
            memory: bytes of address space.

        Raises:
            WorkerLost: it passed a limit, or the process did not survive it.
            Exception: what the function raised.
        """
        self.memory = memory
        body = pickle.dumps((function.__module__, function.__qualname__, args), pickle.HIGHEST_PROTOCOL)
        try:
            answer = _exchange(self._running(), _HEAD.pack(seconds, memory, len(body)) + body)
            ended, value = pickle.loads(answer)
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


def _exchange(process: Process, request: bytes) -> bytes:
    """Write a request and read its answer, for at most `_PATIENCE` seconds in all."""
    assert process.stdin is not None and process.stdout is not None
    out, into = process.stdin.fileno(), process.stdout.fileno()
    os.set_blocking(out, False)
    pending, answer = memoryview(request), bytearray()
    wanted = _LENGTH.size
    deadline = time.monotonic() + _PATIENCE
    with selectors.DefaultSelector() as selector:
        selector.register(into, selectors.EVENT_READ)
        selector.register(out, selectors.EVENT_WRITE)
        while len(answer) < wanted:
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                if key.fd == out:
                    pending = pending[os.write(out, pending[: 1 << 16]) :]
                    if not pending:
                        selector.unregister(out)
                    continue
                chunk = os.read(into, 1 << 20)
                if not chunk:
                    raise EOFError
                answer += chunk
                if wanted == _LENGTH.size and len(answer) >= wanted:
                    wanted += _LENGTH.unpack_from(answer)[0]
    return bytes(answer[_LENGTH.size :])


def run_bounded(
    function: Callable[..., T],
    *args: object,
    size: int | None = None,
    seconds: float = SECONDS,
    memory: int = MEMORY,
) -> T:
    """`function(*args)` in one of a few worker processes. Blocks: call it in a thread where there is a loop.

    Args:
        size: characters of untrusted text in `args`; where there are at most `SMALL`, no process is asked.
        seconds: of processor time.
        memory: bytes of address space.

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
        worker = _worker_for(memory)
        try:
            return worker.call(function, *args, seconds=seconds, memory=memory)
        finally:
            if len(_idle) < _MOST_IDLE:
                _idle.append(worker)
            else:
                worker.close()


def _worker_for(memory: int) -> Worker:
    """One that waits, or a new one. What it held for a call with more memory counts in a call with less: that takes a new one."""
    try:
        worker = _idle.pop()
    except IndexError:
        return Worker()
    if worker.memory > memory:
        worker.close()
    return worker


@atexit.register
def close_idle() -> None:
    """End the processes that wait for work; the next call starts another."""
    while _idle:
        _idle.pop().close()


# In the process


def _answer(body: bytes) -> bytes:
    """Call what a request names; whether it returned, and its value or the error it raised, pickled."""
    module, name, args = pickle.loads(body)
    function: Any = reduce(getattr, name.split("."), importlib.import_module(module))
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
    ask, tell = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    while head := ask.read(_HEAD.size):
        seconds, memory, length = _HEAD.unpack(head)
        resource.setrlimit(resource.RLIMIT_AS, (memory, hard))
        signal.setitimer(signal.ITIMER_PROF, seconds)
        found = _answer(ask.read(length))
        signal.setitimer(signal.ITIMER_PROF, 0)
        tell.write(_LENGTH.pack(len(found)))
        tell.write(found)
        tell.flush()
