"""Locks that a git of ours left when it was killed, told from those that somebody holds.

git guards a reference with a file beside it (`refs/heads/main.lock`) and cleans up on every signal but SIGKILL. What a
kill or a power cut leaves there stops every later git in the repository, the developer's own commits included. A lock
is taken away only for a plan that the journal says was begun and not ended, and only where the file itself agrees.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

_SETTLED = 1.0
"""Seconds for which a lock must not change before it counts as left behind: git holds one for milliseconds."""

_POLL = 0.05
_LARGEST = 4096


def clear_private_locks(git_dir: Path) -> list[Path]:
    """Remove what a killed git left in a private repository, which only the caller uses."""
    places = [*git_dir.glob("*.lock"), *(git_dir / "refs").rglob("*.lock")]
    if (git_dir / "packed-refs.new").exists():
        places.append(git_dir / "packed-refs.new")
    return clear(places, lambda path: True)


def clear(places: Iterable[Path], ours: Callable[[Path], bool]) -> list[Path]:
    """Remove those of `places` that exist, are `ours`, do not change for a moment, and that no process has open."""
    return [path for path in places if _is_left(path, ours) and _removed(path)]


def _is_left(path: Path, ours: Callable[[Path], bool]) -> bool:
    seen, until = _identity(path), time.monotonic() + _SETTLED
    while seen is not None and time.monotonic() < until:
        time.sleep(_POLL)
        now = _identity(path)
        if now != seen:
            # Somebody is alive and at work on it.
            seen, until = now, time.monotonic() + _SETTLED
    if seen is None or (seen[1] > _LARGEST and path.name != "packed-refs.new"):
        return False
    try:
        return ours(path) and not _is_open(path)
    except OSError:
        return False


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _removed(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _is_open(path: Path) -> bool:
    """Whether a process that we may look into has the file open (Linux; elsewhere that is unknown)."""
    wanted = str(path.resolve())
    for descriptors in Path("/proc").glob("[0-9]*/fd"):
        try:
            if any(str(entry.readlink()) == wanted for entry in descriptors.iterdir()):
                return True
        except OSError:
            continue  # it ended meanwhile, or is another user's
    return False
