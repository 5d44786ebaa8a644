"""A git tree as files in a folder of its own; and folders that strangers filled: measured and removed however deep they are and
whatever modes they have.

Nothing here follows a link, recurses, or builds a path: a name is always looked up below an open folder.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from navigator.git.private import PrivateRepo
from navigator.git.runner import TreeEntry
from navigator.model.errors import NavigatorError
from navigator.model.text import safe_line

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


# A git tree as files: byte for byte as stored, without filters, and never outside of the folder

_SYMLINK, _GITLINK, _EXECUTABLE = "120000", "160000", "100755"
_AT_A_TIME = 32 * 1024 * 1024
_LONGEST_LINK = 4096
_SHOWN = 200

MOST_FILES = 200_000


class TreeRefused(NavigatorError):
    """A tree that is not written out: too large, or with names that lead out of its folder."""

    code: ClassVar[str] = "tree_refused"


class UnsafeTree(TreeRefused):
    """A tree with a path that cannot be checked out on this machine, or leads out of its folder."""

    code: ClassVar[str] = "path_refused"


_PATHS_FAULT = frozenset(
    {errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EILSEQ, errno.EINVAL}
)
"""Errors of the file system that a path is to blame for, not the machine's state."""


def write_out(
    private: PrivateRepo,
    tree: str,
    folder: Path,
    *,
    most_bytes: int,
    left_out: Callable[[str], bool] = lambda path: False,
) -> int:
    """Write every file of `tree` below `folder`, which must not exist yet. Returns the bytes written.

    Links are made last, so that no file is ever written through one; submodules are left out, and paths that `left_out` names.

    Raises:
        TreeRefused: more than `most_bytes` or `MOST_FILES`.
        PathRefused: a path that leads elsewhere, or that no file can have.
        OSError: the disk is full or the folder cannot be written.
    """
    entries = {path: entry for path, entry in private.tree_entries(tree).items() if not left_out(path)}
    total = sum(entry.size for entry in entries.values())
    if total > most_bytes or len(entries) > MOST_FILES:
        raise TreeRefused(
            f"The project has {len(entries)} files of {total >> 20} MiB in all: too much to write out for a check.",
            hint="Leave `check` empty for it, or run its tests yourself.",
        )
    try:
        _write_tree(private, entries, folder)
    except OSError as error:
        if error.errno not in _PATHS_FAULT:
            raise
        path = safe_line(os.fsdecode(error.filename or ""))[-_SHOWN:]
        raise UnsafeTree(
            f"A path cannot be checked out ({error.strerror}): …{path}", hint="Rename it."
        ) from error
    return total


def _write_tree(private: PrivateRepo, entries: Mapping[str, TreeEntry], folder: Path) -> None:
    folder.mkdir(mode=0o700)
    made: set[str] = {""}
    links: dict[str, str] = {}
    files: dict[str, TreeEntry] = {}
    for path, entry in entries.items():
        _require_inside(path)
        if entry.mode == _GITLINK:
            _make_folders(folder, f"{path}/.", made)
        elif entry.mode == _SYMLINK:
            if entry.size > _LONGEST_LINK:
                raise TreeRefused(f"{safe_line(path)} is a link of {entry.size} bytes.", hint="Repair it.")
            links[path] = entry.sha
        else:
            files[path] = entry
    for path, entry, content in _contents(private, files):
        _make_folders(folder, path, made)
        mode = 0o755 if entry.mode == _EXECUTABLE else 0o644
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(folder / path, flags, mode), "wb") as file:  # noqa: PTH123
            file.write(content)
    for path, sha in links.items():
        _make_folders(folder, path, made)
        os.symlink(private.read_blob(sha), os.fsencode(folder / path))  # noqa: PTH211


def _require_inside(path: str) -> None:
    parts = path.split("/")
    if "\0" in path or any(part in {"", ".", ".."} or part.casefold() == ".git" for part in parts):
        raise UnsafeTree(f"{safe_line(path)} leads out of the project.", hint="`git fsck` says more.")


def _make_folders(folder: Path, path: str, made: set[str]) -> None:
    """The folders above `path`. None of them can be a link, since those are made last."""
    missing: list[str] = []
    above = path.rpartition("/")[0]
    while above not in made:
        missing.append(above)
        above = above.rpartition("/")[0]
    for one in reversed(missing):
        (folder / one).mkdir(exist_ok=True)
        made.add(one)


def _contents(private: PrivateRepo, files: Mapping[str, TreeEntry]) -> Iterator[tuple[str, TreeEntry, bytes]]:
    """Every file with its content, some megabytes at a time, through one git process each."""
    some: list[tuple[str, TreeEntry]] = []
    size = 0
    for path, entry in files.items():
        some.append((path, entry))
        size += entry.size
        if size >= _AT_A_TIME:
            yield from _read_blobs(private, some)
            some, size = [], 0
    yield from _read_blobs(private, some)


def _read_blobs(
    private: PrivateRepo, some: list[tuple[str, TreeEntry]]
) -> Iterator[tuple[str, TreeEntry, bytes]]:
    """Not through the repository's cache of contents: a whole project would drive everything else out of it."""
    contents = private.git.contents((entry.sha for _, entry in some), max_output=1 << 32)
    return ((path, entry, contents[entry.sha]) for path, entry in some)
