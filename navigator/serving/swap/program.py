"""Runs a program: its output is read as it comes, its time is limited, and it is ended with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from navigator.domain.text import safe_line

_ENDING_SECONDS = 5.0
_LAST_WORDS_SECONDS = 0.5
_KEPT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: its exit code, the end of its output, and the last line of its error output."""

    code: int
    lines: tuple[str, ...]
    last_words: str


async def run_program(
    argv: Sequence[str],
    seconds: float,
    on_output: Callable[[bytes], None] = lambda chunk: None,
    environment: Mapping[str, str] | None = None,
    given: bytes = b"",
) -> Ended:
    """Run a program to its end, in its own process group.

    A program that exits with 0 may leave processes running (a server, say). In every other case, cancellation included, its
    whole group is ended.

    Args:
        argv: the program's path and its arguments.
        seconds: the longest it may take.
        on_output: called with its output as it comes.
        environment: its environment; this process's own by default.
        given: its input.

    Raises:
        TimeoutError: it did not end in time. OSError: it cannot be started.
    """
    spoken = _Spoken(on_output)
    # Own pipes: with asyncio's, `wait` would wait for every process that holds them open.
    async with _pipe() as (out, out_end), _pipe() as (people, people_end):
        # A file has room for all of it at once; nobody has to write while the program runs.
        source = _file_with(given) if given else asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=source,
                stdout=out_end,
                stderr=people_end,
                env=None if environment is None else dict(environment),
                start_new_session=True,
            )
        finally:
            os.close(out_end)
            os.close(people_end)
            if given:
                os.close(source)
        readers = [asyncio.create_task(spoken.read(out)), asyncio.create_task(spoken.read_people(people))]
        code = -1
        try:
            async with asyncio.timeout(seconds):
                code = await process.wait()
            # A server that it leaves running holds its pipes open: read what is there, do not wait for the end.
            await asyncio.wait(readers, timeout=_LAST_WORDS_SECONDS)
        finally:
            for reader in readers:
                reader.cancel()
            await asyncio.gather(*readers, return_exceptions=True)
            if code != 0:
                await asyncio.shield(_end_group(process))
    return Ended(code, tuple(spoken.kept.decode("utf-8", "replace").splitlines()), spoken.last_words())


def _file_with(content: bytes) -> int:
    """A descriptor of a file in memory that holds `content`, to be read from its start."""
    descriptor = os.memfd_create("given", os.MFD_CLOEXEC)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


class _Spoken:
    """What a program prints, read as it comes so that no pipe fills; only the end is kept."""

    def __init__(self, on_output: Callable[[bytes], None]) -> None:
        self._on_output = on_output
        self._people = b""
        self.kept = b""

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Its output."""
        while chunk := await stream.read(4096):
            self.kept = (self.kept + chunk)[-_KEPT_BYTES:]
            self._on_output(chunk)

    async def read_people(self, stream: asyncio.StreamReader) -> None:
        """Its error output."""
        while chunk := await stream.read(4096):
            self._people = (self._people + chunk)[-_KEPT_BYTES:]

    def last_words(self) -> str:
        """The last line of its error output, or else of its output."""
        said = (self._people.strip() or self.kept.strip()).decode("utf-8", "replace")
        return safe_line(said.rpartition("\n")[2])[:300]


@asynccontextmanager
async def _pipe() -> AsyncIterator[tuple[asyncio.StreamReader, int]]:
    """A pipe: its reading end as a stream, its writing end as a descriptor that the caller closes."""
    reading, writing = os.pipe()
    loop = asyncio.get_running_loop()
    stream = asyncio.StreamReader()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(reading, "rb")
    )
    try:
        yield stream, writing
    finally:
        transport.close()


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """SIGTERM, a bounded wait, SIGKILL, for the program and whatever of its group is left."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_SECONDS):
                await process.wait()
                while _group_lives(process.pid):
                    await asyncio.sleep(0.02)
                return
    if process.returncode is None:
        await process.wait()


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True
