"""The one place that starts other programs and ends them.

`run` and `running` see a program through, with a limit on its time and its output. `start` is for what is spoken with or
outlives this process. Every program has a session of its own, and `Process.end` is how each of them ends: its input is closed,
its output is drained, then SIGTERM, then SIGKILL, each for a limited time, for its group and everything below it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from navigator.model.text import safe_line
from navigator.process import keeper
from navigator.process.keeper import GONE_SECONDS, descendants

# An event loop is imported where one runs: most commands only ask git something.
if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

PIPE, DEVNULL = subprocess.PIPE, subprocess.DEVNULL
KEPT = 64 * 1024
"""Bytes of output that are kept where the caller names no other number."""

MOST = 64 << 20
"""The same for what is read whole."""

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""

TIME, OUTPUT = "time", "output"
_CHUNK = 1 << 18
_LAST_SECONDS = 0.5
_LOOK_SECONDS = 0.05

_Stream = int | IO[bytes] | None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended.

    Attributes:
        code: its exit code, negative for a signal.
        out: what it wrote to its output, as far as it was kept.
        err: the same of its error output.
        cut: why it was ended: TIME, OUTPUT, or what `look` said; "" where it ended by itself.
    """

    code: int
    out: bytes = b""
    err: bytes = b""
    cut: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines of its output."""
        return self.out.decode("utf-8", "replace").splitlines()

    @property
    def last_words(self) -> str:
        """The last line of its error output, or else of its output."""
        said = (self.err.strip() or self.out.strip()).decode("utf-8", "replace")
        return safe_line(said.rpartition("\n")[2])[:300]


class Process(subprocess.Popen[bytes]):
    """A program that was started."""

    _keeper: socket.socket | None = None
    _transports: tuple[asyncio.BaseTransport, ...] = ()

    async def streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, asyncio.StreamReader]:
        """Its output, its input and its error output, which are pipes, in the running event loop. `leave` ends that."""
        import asyncio

        assert self.stdin is not None and self.stdout is not None and self.stderr is not None
        loop = asyncio.get_running_loop()
        out, err, none = (asyncio.StreamReader() for _ in range(3))
        reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(out), self.stdout)
        self._transports = (reading,)
        errors, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(err), self.stderr)
        self._transports = (reading, errors)
        writing, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(none), self.stdin
        )
        self._transports = (reading, errors, writing)
        return out, asyncio.StreamWriter(writing, protocol, None, loop), err

    def leave(self) -> None:
        """Let the event loop have no part in it any more; nothing that waits to be written is written."""
        for transport in self._transports:
            if not transport.is_closing():
                getattr(transport, "abort", transport.close)()

    async def ended(self) -> int:
        """Its exit code, once it has ended; others may still hold its pipes."""
        import asyncio

        with contextlib.suppress(ProcessLookupError):
            if self.poll() is None:
                loop, gone = asyncio.get_running_loop(), asyncio.Event()
                descriptor = keeper.watch(self.pid)
                loop.add_reader(descriptor, gone.set)
                try:
                    await gone.wait()
                finally:
                    loop.remove_reader(descriptor)
                    os.close(descriptor)
        return self.wait()

    def end(self, grace: float = 0.0) -> None:
        """End it with everything it started, and close its pipes. Blocks for `grace` and some seconds at most.

        Args:
            grace: seconds for it to end by itself after its input is closed and SIGTERM; a kept one has `GRACE`.
        """
        self._close(self.stdin)
        if self._keeper is not None:
            self._keeper.close()
            self._drained(GRACE + 2 * GONE_SECONDS)
        elif grace and self.poll() is None:
            self._signal_group(signal.SIGTERM)
            self._drained(grace)
        left = descendants(self.pid) if self.poll() is None else []
        self._signal_group(signal.SIGKILL)
        keeper.signal_all(left[:0:-1], signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(GONE_SECONDS)
        await_gone(left)
        self.close()

    def close(self) -> None:
        """Let go of its pipes; it may go on."""
        self._close(self.stdin, self.stdout, self.stderr, self._keeper)

    def start_error(self) -> int:
        """Why its keeper could not start it, as an error number; 0 where it could."""
        if self._keeper is None or self.poll() is None:
            return 0
        try:
            return int(self._keeper.recv(8, socket.MSG_DONTWAIT) or b"0")
        except OSError:
            return 0

    def _close(self, *held: IO[bytes] | socket.socket | None) -> None:
        for one in held:
            if one is not None:
                with contextlib.suppress(OSError):
                    one.close()

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
            os.killpg(self.pid, signal.SIGCONT)

    def _drained(self, seconds: float) -> None:
        """Wait for its end and read what it writes meanwhile: who waits for room in a pipe does not end."""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            for pipe in (self.stdout, self.stderr):
                if pipe is not None and not pipe.closed:
                    selector.register(pipe, selectors.EVENT_READ)
            while self.poll() is None and time.monotonic() < deadline:
                for key, _ in selector.select(_LOOK_SECONDS / 5):
                    if not os.read(key.fd, _CHUNK):
                        selector.unregister(key.fileobj)


def start(
    argv: Sequence[str | Path],
    *,
    stdin: _Stream = DEVNULL,
    stdout: _Stream = DEVNULL,
    stderr: _Stream = DEVNULL,
    env: Mapping[str, str] | None = None,
    cwd: Path | str | None = None,
    pass_fds: Collection[int] = (),
    kept: bool = False,
    leaves: bool = False,
) -> Process:
    """Start a program in a session of its own.

    Args:
        argv: its path and its arguments.
        env: its environment; this process's own by default.
        kept: behind a keeper: whatever it starts ends with it, or when this process dies. See `keeper`.
        leaves: of a kept one that exits with 0, what it started may go on.

    Raises:
        OSError: it cannot be started; a kept one says so in `run` alone.
    """
    words, ours, theirs = [os.fspath(word) for word in argv], None, None
    if kept:
        ours, theirs = socket.socketpair()
        link = str(theirs.fileno())
        words = [sys.executable, "-I", "-S", keeper.__file__, link, str(GRACE), str(int(leaves)), *words]
        pass_fds = (*pass_fds, theirs.fileno())
    try:
        process = Process(
            words,
            bufsize=0,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=None if env is None else dict(env),
            cwd=cwd,
            pass_fds=tuple(pass_fds),
            start_new_session=True,
        )
    except BaseException:
        if ours is not None:
            ours.close()
        raise
    finally:
        if theirs is not None:
            theirs.close()
    process._keeper = ours
    return process


def run(
    argv: Sequence[str | Path],
    seconds: float,
    *,
    given: bytes | None = None,
    most: int = KEPT,
    tail: bool = False,
    merged: bool = False,
    leaves: bool = False,
    on_output: Callable[[bytes], object] = lambda chunk: None,
    look: Callable[[int], str] = lambda pid: "",
    env: Mapping[str, str] | None = None,
    cwd: Path | str | None = None,
    kept: bool = False,
) -> Ended:
    """Run a program to its end, and end with it what it started. Blocks.

    Args:
        argv: its path and its arguments.
        seconds: the longest it may take.
        given: its input.
        most: bytes of output after which it is ended; of its error output `KEPT` are kept.
        tail: keep the last `most` bytes instead, and let it go on.
        merged: both outputs are read as one, in order.
        leaves: where it exits with 0, what it started may go on (a server, say).
        on_output: called with its output as it comes.
        look: called with its process id every 50 ms; ends it by saying why.
        env, cwd, kept: as `start` has them.

    Raises:
        OSError: it cannot be started.
    """
    out, err = _Kept(most, tail), _Kept(KEPT, tail)
    # A file has room for all of the input at once; nobody has to write while the program runs.
    source = DEVNULL if given is None else _file_with(given)
    try:
        errors = subprocess.STDOUT if merged else PIPE
        process = start(
            argv, stdin=source, stdout=PIPE, stderr=errors, env=env, cwd=cwd, kept=kept, leaves=leaves
        )
    finally:
        if source != DEVNULL:
            os.close(source)
    cut = "cut off"

    def heard(pipe: object, chunk: bytes) -> bool:
        if pipe is process.stderr:
            return err.take(chunk) or True
        on_output(chunk)
        return out.take(chunk)

    try:
        cut = _read_output(process, time.monotonic() + seconds, look, heard)
        failed = process.start_error()
    finally:
        if leaves and not cut and process.poll() == 0:
            process.close()
        else:
            process.end()
    if failed:
        raise OSError(failed, os.strerror(failed), os.fspath(argv[0]))
    code = -signal.SIGKILL if process.returncode is None else process.returncode
    return Ended(code, bytes(out.held[:most]), bytes(err.held[:KEPT]), cut)


async def running(
    argv: Sequence[str | Path],
    seconds: float,
    on_output: Callable[[bytes], object] = lambda chunk: None,
    *,
    kept: bool = True,
    **how: Any,
) -> Ended:
    """As `run`, in a thread of its own, with what is last of its output, and behind a keeper unless told otherwise.

    Cancelled, it is ended first.

    Raises:
        TimeoutError: it did not end in time. OSError: it cannot be started.
    """
    import asyncio

    loop = asyncio.get_running_loop()

    def work(cancel: threading.Event) -> Ended:
        return run(
            argv,
            seconds,
            kept=kept,
            on_output=lambda chunk: loop.call_soon_threadsafe(on_output, chunk),
            look=lambda pid: "cancelled" if cancel.is_set() else "",
            **{"tail": True, **how},
        )

    ended = await cancellable(work)
    if ended.cut == TIME:
        raise TimeoutError
    return ended


async def cancellable(work: Callable[..., T]) -> T:
    """What `work(cancel=…)` returns, in a thread of its own. Cancelled, this sets the event it gave, and waits for the end."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    cancel, thread = threading.Event(), ThreadPoolExecutor(1, "program")
    job = asyncio.get_running_loop().run_in_executor(thread, functools.partial(work, cancel=cancel))
    thread.shutdown(wait=False)
    try:
        return await asyncio.shield(job)
    except asyncio.CancelledError:
        cancel.set()
        await asyncio.wait({job})
        raise


def foreground(argv: Sequence[str]) -> int:
    """Run a program on this terminal until the user ends it; returns its exit code.

    Raises:
        OSError: it cannot be started.
    """
    return subprocess.run(list(argv), check=False).returncode


def await_gone(pids: Iterable[int]) -> None:
    """Killed is not yet gone: a folder is taken away only once nobody writes into it. Waits some seconds at most."""
    left, deadline = list(pids), time.monotonic() + GONE_SECONDS
    while (left := [pid for pid in left if _alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.005)


def _alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        return stat.rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


class _Kept:
    """Output that is kept: the first bytes or the last."""

    def __init__(self, most: int, tail: bool) -> None:
        self.held = bytearray()
        self._most, self._tail = most, tail

    def take(self, chunk: bytes) -> bool:
        """Whether there was room for it, or older output made room."""
        self.held += chunk
        if self._tail:
            del self.held[: -self._most]
            return True
        fits = len(self.held) <= self._most
        del self.held[self._most :]
        return fits


def _read_output(
    process: Process, deadline: float, look: Callable[[int], str], heard: Callable[[object, bytes], bool]
) -> str:
    """Read what a program writes until it has ended; returns why it has to be ended, "" where it has.

    A process that it left running may hold its pipes open: what is there is read, the end is not waited for.
    """
    over = False
    ended = keeper.watch(process.pid)
    try:
        with selectors.PollSelector() as selector:
            for source in (ended, process.stdout, process.stderr):
                if source is not None:
                    selector.register(source, selectors.EVENT_READ)
            while selector.get_map():
                left = deadline - time.monotonic()
                if left <= 0:
                    return "" if over else TIME
                if not over and (said := look(process.pid)):
                    return said
                for key, _ in selector.select(min(left, _LOOK_SECONDS)):
                    if key.fileobj == ended:
                        over, deadline = True, time.monotonic() + _LAST_SECONDS
                        selector.unregister(ended)
                    elif not (chunk := os.read(key.fd, _CHUNK)):
                        selector.unregister(key.fileobj)
                    elif not heard(key.fileobj, chunk):
                        return OUTPUT
        return ""
    finally:
        os.close(ended)


def _file_with(content: bytes) -> int:
    """A descriptor of a file in memory that holds `content`, to be read from its start."""
    if sys.platform == "linux":
        descriptor = os.memfd_create("given", os.MFD_CLOEXEC)
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
