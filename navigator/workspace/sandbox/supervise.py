"""One command, watched until it ends or passes a limit; then it is killed with everything it started."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from navigator.workspace.sandbox.folders import used_bytes
from navigator.workspace.sandbox.limits import MIB, Limits, Ran

_TICK = 0.05
_LOOK_AT_PROCESSES = 0.2
_LOOK_AT_DISK = 0.5
_DISK_SHARE = 20
"""Looking at the disk takes at most one part in so many of the time."""

_LEAST_FREE = 512 * MIB
"""Bytes that stay free on the scratch's disk, whatever the limit would allow."""

_GONE = 5.0


def supervise(
    command: Sequence[str],
    limits: Limits,
    *,
    env: Mapping[str, str],
    cwd: Path,
    scratch: Path,
    cancel: threading.Event | None = None,
) -> Ran:
    """Run a command to its end.

    Args:
        command: the program and its arguments.
        env: its whole environment.
        cwd: where it starts.
        scratch: the folder whose growth counts against `limits.disk_mb`.
        cancel: when set, the command is killed.

    Raises:
        OSError: it cannot be started.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
    )
    watch = Watch(process.pid, limits, scratch, began)
    kept = bytearray()
    cut = ""
    assert process.stdout is not None
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if selector.select(_TICK):
                    chunk = os.read(process.stdout.fileno(), 1 << 18)
                    if not chunk:
                        break
                    kept += chunk
                    if len(kept) > limits.output:
                        cut = f"it wrote more than {limits.output >> 20} MiB"
                        break
                cut = "cancelled" if cancel is not None and cancel.is_set() else watch.look()
                # A process outside of a sandbox may leave the pipe to a child and end.
                if cut or (process.poll() is not None and not selector.select(_TICK)):
                    break
    finally:
        _end(process)
    seconds = time.monotonic() - began
    output = bytes(kept[: limits.output]).decode("utf-8", "replace")
    return Ran(status=process.returncode, output=output, seconds=seconds, cut=cut, timed_out=watch.timed_out)


class Watch:
    """What a running command takes, looked at from outside."""

    def __init__(self, pid: int, limits: Limits, scratch: Path, began: float) -> None:
        self.pid = pid
        self.timed_out = False
        self._limits = limits
        self._scratch = scratch
        self._deadline = began + limits.seconds
        self._next_processes = began
        self._next_disk = began + _LOOK_AT_DISK
        self._before = used_bytes(scratch)
        self._device = scratch.stat().st_dev
        self._held = Held()

    def look(self) -> str:
        """The limit that is passed, in words; "" while none is."""
        now = time.monotonic()
        if now >= self._deadline:
            self.timed_out = True
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
        self._held = held_open(pids, self._device)
        if used_memory(pids, self._held.memory) > self._limits.memory_mb * MIB:
            return f"it took more than {self._limits.memory_mb} MiB of memory"
        return ""

    def _disk(self) -> str:
        with contextlib.suppress(OSError):
            free = os.statvfs(self._scratch)
            if free.f_bavail * free.f_frsize < _LEAST_FREE:
                return "the disk is nearly full"
        used = used_bytes(self._scratch) - self._before + self._held.disk
        if used > self._limits.disk_mb * MIB:
            return f"it wrote more than {self._limits.disk_mb} MiB of files"
        return ""


def descendants(pid: int, *, most: int) -> list[int]:
    """`pid` and every process below it, as far as `most` of them."""
    found, at = [pid], 0
    while at < len(found) and len(found) < most:
        try:
            threads = os.listdir(f"/proc/{found[at]}/task")  # noqa: PTH208
            for thread in threads:
                children = Path(f"/proc/{found[at]}/task/{thread}/children").read_text("ascii")
                found += map(int, children.split())
        except (OSError, ValueError):
            # It ended while being looked at.
            pass
        at += 1
    return found


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of files that have no name any more and are open in some process."""

    memory: int = 0
    disk: int = 0


def held_open(pids: Sequence[int], device: int) -> Held:
    """What processes keep in files without a name: on the disk `device`, or in memory (`memfd_create`, a tmpfs)."""
    seen: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    found = entry.stat()
                    if found.st_nlink == 0 and stat.S_ISREG(found.st_mode):
                        seen[found.st_dev, found.st_ino] = found.st_blocks * 512
    disk = sum(size for (on, _), size in seen.items() if on == device)
    return Held(sum(seen.values()) - disk, disk)


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


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left, and wait until it is gone."""
    left = end_all(process.pid, leader_ended=process.poll() is not None)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
    await_gone(left)


def end_all(pid: int, *, leader_ended: bool) -> list[int]:
    """Kill a process group and everything below its leader; returns those that were running. The sandbox's first process
    takes its whole process namespace with it.

    Outside of a sandbox, what left the process group is found while it still hangs below the command.
    """
    left = [] if leader_ended else descendants(pid, most=100_000)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    for one in reversed(left[1:]):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(one, signal.SIGKILL)
    return left


def await_gone(pids: Sequence[int]) -> None:
    """Killed is not yet gone: a scratch is taken away only once nobody writes into it."""
    deadline = time.monotonic() + _GONE
    while time.monotonic() < deadline and any(map(_alive, pids)):
        time.sleep(0.005)


def _alive(pid: int) -> bool:
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0] not in "ZX"
        )
    except (OSError, IndexError):
        return False
