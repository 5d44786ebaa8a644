"""The kernel lock of a state folder: who holds it is the only writer.

`flock` is released by the kernel when the holder dies, however it dies. The descriptor is closed on exec, so that a
model server or a test run started by the conductor does not keep the lock alive.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from navigator.model.json_text import read_json
from navigator.store.errors import StoreError

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths

_GONE = 0.1
"""Seconds after which the lock of a holder that is dead is held by somebody else."""

_PAUSE = 0.02


class FileLock:
    """A lock that one process holds; one instance holds it at most once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self, blocking: bool = False, *, patience: float = 0.0) -> bool:
        """Take the lock and note who holds it.

        Args:
            blocking: wait until it is free.
            patience: seconds to wait for a holder that lives.

        Returns:
            False when another process holds it.

        Raises:
            StoreError: the file cannot be opened for writing.
        """
        if self._descriptor is not None:
            return True
        # O_CLOEXEC is Python's default; it is written out because the lock depends on it.
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(
                f"{self._path} cannot be opened for writing: {error.strerror}.",
                hint="The state folder is read-only or belongs to another user.",
            ) from error
        try:
            os.fchmod(descriptor, 0o600)
            if not _take(descriptor, self._path, blocking=blocking, patience=patience):
                os.close(descriptor)
                return False
            os.ftruncate(descriptor, 0)
            # On a full disk the lock is held without saying by whom.
            with suppress(OSError):
                os.pwrite(descriptor, json.dumps(_own_note()).encode(), 0)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Release it; nothing happens when it is not held."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        os.ftruncate(descriptor, 0)
        os.close(descriptor)

    def holder(self) -> dict[str, Any] | None:
        """Who holds the lock: `{"pid", "boot", "ticks", "started", "command"}`, or None when it is free."""
        return read_holder(self._path)


class StateLock(FileLock):
    """The lock of one state folder."""

    def __init__(self, paths: StatePaths) -> None:
        super().__init__(paths.lock)


def read_holder(path: Path) -> dict[str, Any] | None:
    """The note of a living holder of the lock file `path`, or None.

    The note is trusted only while its process lives: same boot, same pid, same start. Where it seems dead (or lives in
    another pid namespace) the lock itself is tried for an instant.
    """
    note = _read_note(path)
    if note is None:
        return None
    if _alive(note):
        return note
    return note if _is_locked(path) else None


def describe_holder(path: Path) -> str:
    """The holder in words: `process 123 (navigator run, since …)`, or `another process`."""
    note = read_holder(path)
    if note is None:
        return "another process"
    return f"process {note.get('pid')} ({note.get('command')}, since {note.get('started')})"


def _take(descriptor: int, path: Path, *, blocking: bool, patience: float) -> bool:
    if blocking:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return True
    began = time.monotonic()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note = _read_note(path)
            # Of a dead holder: perhaps only a reader tries, in `_is_locked`, whether its lock is free.
            alive = note is not None and _alive(note)
            if time.monotonic() - began >= (patience if alive else max(patience, _GONE)):
                return False
            time.sleep(_PAUSE)
        else:
            return True


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _own_note() -> dict[str, Any]:
    from navigator.model.models import utc_now  # late: reading the lock needs no model

    pid = os.getpid()
    words = [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv else []
    return {
        "pid": pid,
        "boot": _boot_id(),
        "ticks": _start_ticks(pid),
        "started": utc_now(),
        "command": " ".join(words)[:200],
    }


def _read_note(path: Path) -> dict[str, Any] | None:
    try:
        note = read_json(path.read_bytes())
    except (OSError, ValueError):
        return None
    return note if isinstance(note, dict) and isinstance(note.get("pid"), int) else None


def _alive(note: dict[str, Any]) -> bool:
    if note.get("boot") != _boot_id():
        return False
    ticks = _start_ticks(note["pid"])
    return ticks is not None and ticks == note.get("ticks")


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot (field 22 of proc_pid_stat(5)); None when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field is the command in parentheses and may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])
