"""One command, watched until it ends or passes a limit; then it is killed with everything it started."""

from __future__ import annotations

import contextlib
import math
import os
import stat
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from navigator.process.keeper import descendants
from navigator.process.runner import OUTPUT, run
from navigator.sandbox.folders import used_bytes

MIB = 1024 * 1024

KEPT_OUTPUT = 8 * MIB
"""Bytes of output after which a command is ended: nobody reads more, and names of failing tests fit many times over."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may take.

    Attributes:
        seconds: wall clock; then everything in the sandbox is killed.
        memory_mb: the setting `[checks] memory_mb`; of all its processes together, and of each one.
        processes: processes and threads at once.
        disk_mb: what it may add to the files it was given, and the size of one file.
        tmpfs_mb: of `/tmp`, which is memory; the home folder gets a quarter of it.
        output: bytes.
    """

    seconds: float
    memory_mb: int
    processes: int = 1024
    disk_mb: int = 2048
    tmpfs_mb: int = 512
    output: int = KEPT_OUTPUT


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended.

    `status` is its exit status, negative for a signal; `cut` says in words which limit ended it ("" when it ended by
    itself); `output` is what it wrote to both streams, in order.
    """

    status: int
    output: str
    seconds: float
    cut: str = ""


_LOOK_AT_PROCESSES = 0.2
_LOOK_AT_DISK = 0.5
_DISK_SHARE = 20
"""Looking at the disk takes at most one part in so many of the time."""

_LEAST_FREE = 512 * MIB
"""Bytes that stay free on the scratch's disk, whatever the limit would allow."""


def supervise(
    command: Sequence[str],
    limits: Limits,
    *,
    env: Mapping[str, str],
    cwd: Path,
    scratch: Path,
    cancel: threading.Event | None = None,
    kept: bool = False,
) -> Ran:
    """Run a command to its end.

    Args:
        command: the program and its arguments.
        env: its whole environment.
        cwd: where it starts.
        scratch: the folder whose growth counts against `limits.disk_mb`.
        cancel: when set, the command is killed.
        kept: it is in no sandbox that ends all its processes: a keeper does.

    Raises:
        OSError: it cannot be started.
    """
    began = time.monotonic()
    watch: UsageWatch | None = None

    def look(pid: int) -> str:
        nonlocal watch
        watch = watch or UsageWatch(pid, limits, scratch, began)
        return "cancelled" if cancel is not None and cancel.is_set() else watch.look()

    done = run(command, math.inf, most=limits.output, merged=True, look=look, env=env, cwd=cwd, kept=kept)
    return Ran(
        status=done.code,
        output=done.out.decode("utf-8", "replace"),
        seconds=time.monotonic() - began,
        cut=f"it wrote more than {limits.output >> 20} MiB" if done.cut == OUTPUT else done.cut,
    )


class UsageWatch:
    """What a running command takes, looked at from outside."""

    def __init__(self, pid: int, limits: Limits, scratch: Path, began: float) -> None:
        self.pid = pid
        self._limits = limits
        self._scratch = scratch
        self._deadline = began + limits.seconds
        self._next_processes = began + _LOOK_AT_PROCESSES
        self._next_disk = began + _LOOK_AT_DISK
        self._before = used_bytes(scratch)
        self._device = scratch.stat().st_dev
        self._unlinked = 0

    def look(self) -> str:
        """The limit that is passed, in words; "" while none is."""
        now = time.monotonic()
        if now >= self._deadline:
            return f"it did not end within {self._limits.seconds:g} s"
        if now >= self._next_processes:
            said = self._processes()
            took = time.monotonic() - now
            self._next_processes = now + max(_LOOK_AT_PROCESSES, took * _DISK_SHARE)
            if said:
                return said
        if now >= self._next_disk:
            said = self._disk()
            took = time.monotonic() - now
            self._next_disk = now + max(_LOOK_AT_DISK, took * _DISK_SHARE)
            return said
        return ""

    def _processes(self) -> str:
        pids = descendants(self.pid, most=self._limits.processes)
        if len(pids) >= self._limits.processes:
            return f"it ran {self._limits.processes} processes at once"
        in_memory, self._unlinked = held_open(pids, self._device)
        if used_memory(pids, in_memory) > self._limits.memory_mb * MIB:
            return f"it took more than {self._limits.memory_mb} MiB of memory"
        return ""

    def _disk(self) -> str:
        with contextlib.suppress(OSError):
            free = os.statvfs(self._scratch)
            if free.f_bavail * free.f_frsize < _LEAST_FREE:
                return "the disk is nearly full"
        used = used_bytes(self._scratch) - self._before + self._unlinked
        if used > self._limits.disk_mb * MIB:
            return f"it wrote more than {self._limits.disk_mb} MiB of files"
        return ""


def held_open(pids: Sequence[int], device: int) -> tuple[int, int]:
    """Bytes that processes keep in files without a name: in memory (`memfd_create`, a tmpfs), and on the disk `device`."""
    seen: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    found = entry.stat()
                    if found.st_nlink == 0 and stat.S_ISREG(found.st_mode):
                        seen[found.st_dev, found.st_ino] = found.st_blocks * 512
    disk = sum(size for (on, _), size in seen.items() if on == device)
    return sum(seen.values()) - disk, disk


def used_memory(pids: Sequence[int], held: int) -> int:
    """Bytes of memory that processes take together.

    Shared memory counts once: by each process's share where the plain sum, which counts it for each, would be too much.

    Args:
        held: bytes in files of memory that are open; they may be mapped too, or not.
    """
    sizes = [_fields(f"/proc/{pid}/status", ("RssAnon", "RssShmem")) for pid in pids]
    own, shared = (sum(size[place] for size in sizes) for place in (0, 1))
    if shared > held:
        shared = sum(_fields(f"/proc/{pid}/smaps_rollup", ("Pss_Shmem",))[0] for pid in pids) or shared
    return own + max(shared, held)


def _fields(path: str, names: Sequence[str]) -> list[int]:
    """Lines `NAME: N kB` of a file in /proc, in bytes; 0 for what it does not say, or where the process has ended."""
    try:
        lines = Path(path).read_text("ascii").splitlines()
    except (OSError, ValueError):
        return [0] * len(names)
    told = {line.partition(":")[0]: line.split() for line in lines}
    return [int(told[name][1]) * 1024 if name in told else 0 for name in names]
