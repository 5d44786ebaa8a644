"""The kernel's page cache: how much of a file it holds, and a low-priority process that reads files into it.

Standard library only: the reader runs this very file with a bare interpreter, apart from Navigator, so that it can be
killed at once, and no memory is left behind.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import platform
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MIB = 1 << 20

_WINDOW = 1024 * MIB
_CHUNK = 8 * MIB
_LOOK_EVERY = 256 * MIB
_PR_SET_PDEATHSIG = 1
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
_IDLE_CLASS = 3 << 13


@dataclass(frozen=True, slots=True)
class CachedBytes:
    """How much of some files the page cache holds, in bytes. `known` is False where the kernel would not tell."""

    total: int
    resident: int
    known: bool = True

    @property
    def share(self) -> float:
        """Between 0 and 1; 0 for no bytes."""
        return self.resident / self.total if self.total else 0.0


def residency(files: list[Path]) -> CachedBytes:
    """Measure with mincore(2). A file that went away counts nothing.

    The kernel tells a file's owner and who may write it only; for others it calls everything resident, so that is
    reported as not known instead.
    """
    total = resident = 0
    known = True
    for path in files:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            size = os.fstat(descriptor).st_size
            total += size
            if not _may_look(path, descriptor):
                known = False
                continue
            resident += sum(min(length, pages) for length, pages in _windows(descriptor, size))
        except OSError:
            known = False
        finally:
            os.close(descriptor)
    return CachedBytes(total, resident if known else 0, known)


def available_bytes() -> int:
    """Memory that can be had without swapping, the page cache included, as the kernel estimates it; 0 if unknown."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return 0


def _may_look(path: Path, descriptor: int) -> bool:
    return os.fstat(descriptor).st_uid == os.geteuid() or os.access(path, os.W_OK)


def _windows(descriptor: int, size: int, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """For each window of the range: its length, and the bytes of its resident pages (a last page counts whole)."""
    libc = _libc()
    page = mmap.PAGESIZE
    offset = start
    stop = size if end is None else min(end, size)
    while offset < stop:
        length = min(_WINDOW, stop - offset)
        address = libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, offset)
        if address == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "mmap")
        try:
            pages = ctypes.create_string_buffer((length + page - 1) // page)
            if libc.mincore(ctypes.c_void_p(address), length, pages) != 0:
                raise OSError(ctypes.get_errno(), "mincore")
            yield length, pages.raw.count(1) * page
        finally:
            libc.munmap(ctypes.c_void_p(address), length)
        offset += length


def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc


# The reader: this file, run by a bare interpreter


def _read_all(order: dict[str, Any]) -> tuple[int, str]:
    """Read what is not resident yet, in the files' order, which is the order in which a server loads them.

    Returns:
        Bytes read, and why it ended: done, limit (the bytes allowed were used up) or memory (the floor was reached).
    """
    limit, rate, floor = int(order["limit"]), float(order["rate"]), int(order["floor"])
    buffer = memoryview(bytearray(_CHUNK))
    began, read, looked = time.monotonic(), 0, -_LOOK_EVERY
    for name in order["files"]:
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            size = os.fstat(descriptor).st_size
            may_look = _may_look(Path(name), descriptor)
            for offset in range(0, size, _CHUNK):
                if may_look and _is_resident(descriptor, size, offset):
                    continue
                if read - looked >= _LOOK_EVERY:
                    looked = read
                    _print_json({"read": read})
                    if available_bytes() < floor:
                        return read, "memory"
                if limit and read >= limit:
                    return read, "limit"
                read += max(0, os.preadv(descriptor, [buffer], offset))
                if rate:
                    time.sleep(max(0.0, read / rate - (time.monotonic() - began)))
        except OSError:
            continue  # a file that cannot be read is the server's to complain about
        finally:
            os.close(descriptor)
    return read, "done"


def _is_resident(descriptor: int, size: int, offset: int) -> bool:
    try:
        return all(pages >= length for length, pages in _windows(descriptor, size, offset, offset + _CHUNK))
    except OSError:
        return False


def _step_back() -> None:
    """Lowest priority for processor and disk, and dead as soon as the parent is."""
    libc = _libc()
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(19)
    number = _IOPRIO_SET.get(platform.machine())
    if number is not None:
        # Best effort: only some I/O schedulers know the idle class. The rate is what always holds.
        libc.syscall(number, 1, 0, _IDLE_CLASS)


def _print_json(words: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def _main() -> None:
    _step_back()
    order = json.loads(sys.stdin.readline())
    if os.getppid() != order["parent"]:
        return  # the parent died before the kernel was asked to tell
    read, reason = _read_all(order)
    _print_json({"read": read, "ended": reason})


if __name__ == "__main__":
    _main()
