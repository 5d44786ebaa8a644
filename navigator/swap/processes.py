"""Processes that outlive the one that started them: recorded, identified, ended. Linux only (`/proc`).

A process id alone proves nothing, because the kernel reuses it. The record is enough to prove that a live process is the
one that was started: the boot, the start time in clock ticks, the whole command line,
and a mark in its environment that names the folder it was started for. Only such a process is ever signalled.
"""

from __future__ import annotations

import json
import os
import signal
from dataclasses import asdict, dataclass
from pathlib import Path

from navigator.config.paths import write_private
from navigator.model.json_text import read_json
from navigator.process import runner

MARK = "NAVIGATOR_REHEARSAL_HOME"
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """One started process.

    Attributes:
        pid: its process id.
        started: field 22 of `/proc/PID/stat`, clock ticks since boot.
        boot: the boot's id, so that a record does not survive a restart of the machine.
        argv: its command line, word for word.
        home: the folder it was started for, as in its environment under `MARK`.
        role: what it plays.
        port: where it listens on the loopback; 0 while it has not said so.
        stamp: what else must agree before it is used again.
    """

    pid: int
    started: int
    boot: str
    argv: tuple[str, ...]
    home: str
    role: str
    port: int
    stamp: str


def boot_id() -> str:
    """The kernel's id of this boot, "" where there is none."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def start_ticks(pid: int) -> int | None:
    """When the process began, in clock ticks since boot; None when it is gone or only waits to be reaped."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The second field is the name in parentheses and may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20 or fields[0] in ("Z", "X"):
        return None
    return int(fields[19])


def is_alive(record: ProcessRecord) -> bool:
    """Whether the recorded process still runs, proved by all that was written down."""
    return (
        record.boot == boot_id()
        and start_ticks(record.pid) == record.started
        and _proc_words(record.pid, "cmdline") == record.argv
        and f"{MARK}={record.home}" in _proc_words(record.pid, "environ")
    )


def strays(home: str, argv_start: tuple[str, ...]) -> list[ProcessRecord]:
    """Living processes that carry `home`'s mark and whose command line begins with `argv_start`.

    They were started and never written down: the conductor died in between.
    """
    found = []
    boot = boot_id()
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if not entry.name.isdecimal():
            continue
        pid = int(entry.name)
        argv = _proc_words(pid, "cmdline")
        if argv[: len(argv_start)] != argv_start or f"{MARK}={home}" not in _proc_words(pid, "environ"):
            continue
        started = start_ticks(pid)
        if started is not None:
            found.append(ProcessRecord(pid, started, boot, argv, home, "", 0, ""))
    return found


def send(record: ProcessRecord, number: signal.Signals) -> bool:
    """Signal the recorded process, if it is proved to be the one; False when it is gone."""
    return runner.send(record.pid, number, lambda: is_alive(record))


def save(path: Path, record: ProcessRecord) -> None:
    """Write the record, whole or not at all, readable by this user only."""
    write_private(path, json.dumps(asdict(record)).encode())


def load(path: Path) -> ProcessRecord | None:
    """The record, or None where there is none that can be read."""
    try:
        fields = read_json(path.read_bytes())
        record = ProcessRecord(**{**fields, "argv": tuple(fields["argv"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    numbers = (record.pid, record.started, record.port)
    words = (record.boot, record.home, record.role, record.stamp, *record.argv)
    fits = all(type(number) is int and number >= 0 for number in numbers) and record.pid > 1
    return record if fits and all(isinstance(word, str) for word in words) else None


def _proc_words(pid: int, name: str) -> tuple[str, ...]:
    """A NUL-separated file of `/proc`; () when it cannot be read (gone, or another user's)."""
    try:
        raw = (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return ()
    return tuple(os.fsdecode(word) for word in raw.split(b"\0")[:-1])
