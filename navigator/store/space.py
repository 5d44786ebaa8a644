"""Free space on the disk of the state folder, checked before work begins so that its results can be stored."""

from __future__ import annotations

import shutil
from pathlib import Path

from navigator.store.errors import DiskFull

RESERVE_BYTES = 64 * 1024 * 1024
"""Below this much free space nothing new begins: enough for the log of a session and the objects of its proposals."""


def free_bytes(folder: Path) -> int:
    """What this user may still write on the disk that holds `folder`; 0 if unknown."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


def is_low(folder: Path) -> bool:
    """Whether free space is below the reserve: nothing new begins, reading still works."""
    return free_bytes(folder) < RESERVE_BYTES


def require_space(folder: Path) -> None:
    """Raise `DiskFull` where the reserve is touched."""
    free = free_bytes(folder)
    if free < RESERVE_BYTES:
        raise DiskFull(
            f"The disk of {folder} is full: {free // 1_048_576} MB are free, {RESERVE_BYTES // 1_048_576} MB are reserved.",
            hint="Free some space. Reading still works, and a running conductor resumes automatically.",
        )
