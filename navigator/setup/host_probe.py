"""What can be observed of servers from outside: who listens where, and how fast the model folder can be read."""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from navigator.model import patterns

MIB = 1 << 20

_LISTEN = "0A"
_CHUNK = 16 * MIB
_FLAG = patterns.compile(r"(--[a-z][\w-]*)(?:[ =]+(\"(?:[^\"\\]|\\.)*\"|-?[^\s\\-][^\s\\]*))?")
_EXEC = patterns.compile(r"^ExecStart=((?:\\\n|[^\n])*)", patterns.MULTILINE)


def open_to_others(port: int, text: str | None = None) -> bool | None:
    """Whether something listens on `port` at an address that is not the loopback; None if nothing listens.

    Args:
        port: the TCP port.
        text: the kernel's lists of sockets, as /proc/net/tcp and tcp6 have them; those of this machine where None.
    """
    lines = text.splitlines() if text is not None else []
    if text is None:
        for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
            with contextlib.suppress(OSError):
                lines += table.read_text().splitlines()
    found: bool | None = None
    for line in lines:
        with contextlib.suppress(ValueError, IndexError):  # a heading
            fields = line.split()
            address, _, number = fields[1].partition(":")
            if fields[3] == _LISTEN and int(number, 16) == port:
                found = bool(found) or not _is_loopback(address)
    return found


def _is_loopback(address: str) -> bool:
    """An address as the kernel prints it: 32-bit words, each with its bytes reversed."""
    if len(address) == 8:
        return address[6:] == "7F"
    mapped = address[:24] == "0000000000000000FFFF0000" and address[30:] == "7F"
    return mapped or address == "00000000000000000000000001000000"


def flags_of_unit(text: str) -> dict[str, str]:
    """The flags in a unit's ExecStart, with their values; "" for switches."""
    command = _EXEC.search(text)
    if command is None:
        return {}
    joined = command.group(1).replace("\\\n", " ")
    return {name: value.strip('"') for name, value in _FLAG.findall(joined)}


def program_of_unit(text: str) -> str:
    """The program that a unit's ExecStart runs; "" where it has none."""
    command = _EXEC.search(text)
    words = command.group(1).split() if command else []
    return words[0].strip('"') if words else ""


@dataclass(frozen=True, slots=True)
class DiskSpeed:
    """A bounded read past the page cache: bytes, seconds, and whether the cache was really passed by."""

    read: int
    seconds: float
    direct: bool

    @property
    def bytes_per_second(self) -> float:
        """0 when nothing was read."""
        return self.read / self.seconds if self.seconds else 0.0


def disk_speed(files: Sequence[Path], limit: int = 512 * MIB) -> DiskSpeed:
    """Read at most `limit` bytes of the largest file with O_DIRECT, so that nothing warm is lost and nothing cold is warmed.

    Where the file system has no O_DIRECT, pages that are not in the cache yet are read the ordinary way.
    """
    largest = max(files, key=lambda path: path.stat().st_size)
    descriptor, direct = _open_past_cache(largest)
    try:
        size = os.fstat(descriptor).st_size
        limit = min(limit, size)
        # From the middle: the start of a file is the most likely part to be cached.
        start = (size - limit) // 2 // _CHUNK * _CHUNK
        # O_DIRECT wants aligned memory, which an anonymous mapping is.
        with mmap.mmap(-1, _CHUNK) as buffer:
            began, read = time.monotonic(), 0
            while read < limit:
                try:
                    count = os.preadv(descriptor, [buffer], start + read)
                except OSError:
                    if not direct:
                        raise
                    os.close(descriptor)
                    descriptor, direct = os.open(largest, os.O_RDONLY | os.O_CLOEXEC), False
                    began, read = time.monotonic(), 0
                    continue
                if count <= 0:
                    break
                read += count
            return DiskSpeed(read, time.monotonic() - began, direct)
    finally:
        os.close(descriptor)


def _open_past_cache(path: Path) -> tuple[int, bool]:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT), True
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC), False
