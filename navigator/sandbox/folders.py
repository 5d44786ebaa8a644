"""Folders that strangers filled: measured and removed however deep they are and whatever modes they have.

Nothing here follows a link, recurses, or builds a path: a name is always looked up below an open folder.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
from pathlib import Path

log = logging.getLogger(__name__)

SET_ASIDE = "set-aside-"
"""Begins the name of a folder that could not be removed."""

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST_PATH = 2_000
"""Characters of a path below an open folder; a longer one continues below a separate folder."""

_MOST_ENTRIES = 400_000


def remove(folder: Path) -> bool:
    """Remove a folder with all that is in it. What cannot be removed is renamed to begin with `SET_ASIDE`, and logged.

    Folders within folders are moved up before they are emptied, so that depth does not matter.

    Returns:
        Whether it is gone.
    """
    try:
        top = _opened(folder.name, folder.parent)
        try:
            lifted = f"{secrets.token_hex(8)}-"
            count = 0
            while names := os.listdir(top):  # noqa: PTH208
                for name in names:
                    count = _flatten(top, name, lifted, count)
        finally:
            os.close(top)
        folder.rmdir()
    except FileNotFoundError:
        return not folder.exists()
    except OSError as error:
        log.warning("%s could not be removed: %s", folder, error)
        if not folder.name.startswith(SET_ASIDE):
            with contextlib.suppress(OSError):
                folder.rename(folder.with_name(f"{SET_ASIDE}{secrets.token_hex(4)}"))
        return False
    return True


def _flatten(top: int, name: str, lifted: str, count: int) -> int:
    """Remove one entry of `top`; folders in it become entries of `top`. Returns how many were moved so far."""
    try:
        os.unlink(name, dir_fd=top)
    except IsADirectoryError:
        folder = _opened(name, top)
    except PermissionError:
        if not _is_folder(name, top):
            raise
        folder = _opened(name, top)
    else:
        return count
    try:
        for inner in os.listdir(folder):  # noqa: PTH208
            if _is_folder(inner, folder):
                # A folder's own mode has to allow its parent to change.
                os.chmod(inner, 0o700, dir_fd=folder)
                os.rename(inner, f"{lifted}{count}", src_dir_fd=folder, dst_dir_fd=top)
                count += 1
            else:
                os.unlink(inner, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)
    return count


def _is_folder(name: str, parent: int) -> bool:
    return os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode & 0o170000 == 0o040000


def _opened(name: str, parent: int | Path) -> int:
    """A folder, open, and with a mode that lets it be emptied."""
    above = (
        parent if isinstance(parent, int) else os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    )
    try:
        if not _is_folder(name, above):
            raise NotADirectoryError(name)
        os.chmod(name, 0o700, dir_fd=above)
        return os.open(name, _OPEN, dir_fd=above)
    finally:
        if not isinstance(parent, int):
            os.close(above)


def used_bytes(folder: Path) -> int:
    """Bytes on disk below a folder. Links are not followed; folders with very many entries count as endless."""
    total, seen = 0, 0
    try:
        stack: list[tuple[int, str]] = [(os.open(folder, _OPEN), "")]
    except OSError:
        return 0
    try:
        while stack:
            base, path = stack.pop()
            if not path:
                opened = base
                stack.append((base, "/"))  # closed once everything below it is seen
            elif path == "/":
                os.close(base)
                continue
            else:
                try:
                    opened = os.open(path, _OPEN, dir_fd=base)
                except OSError:
                    continue
            deep = bool(path) and len(path) > _LONGEST_PATH
            if deep:
                stack.append((opened, "/"))
            with contextlib.suppress(OSError), os.scandir(opened) as entries:
                for entry in entries:
                    seen += 1
                    with contextlib.suppress(OSError):
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                        if entry.is_dir(follow_symlinks=False):
                            below = entry.name if deep or not path else f"{path}/{entry.name}"
                            stack.append((opened if deep else base, below))
            if path and not deep:
                os.close(opened)
            if seen > _MOST_ENTRIES:
                return 1 << 62
    finally:
        for base in {base for base, path in stack if path == "/"}:
            os.close(base)
    return total
