"""A git tree as files in a folder of its own; and folders that strangers filled: measured and removed however deep they are and
whatever modes they have, by the system's own programs, which follow no link.
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
from navigator.git.runner import TreeEntry, safe_path
from navigator.model.errors import NavigatorError
from navigator.model.text import safe_line
from navigator.process.runner import Ended, run

log = logging.getLogger(__name__)

SET_ASIDE = "set-aside-"
"""Begins the name of a folder that could not be removed."""

_SECONDS = 600.0
_COUNTING = 10.0
_ENDLESS = 1 << 62


def remove(folder: Path) -> bool:
    """Remove a folder with all that is in it. What cannot be removed is renamed to begin with `SET_ASIDE`, and logged.

    Returns:
        Whether it is gone.
    """
    for words in (("rm", "-rf"), ("chmod", "-R", "u+rwx"), ("rm", "-rf")):
        done = _system(*words, str(folder))
        if not os.path.lexists(folder):
            return True
    log.warning("%s could not be removed: %s", folder, done.last_words)
    if not folder.name.startswith(SET_ASIDE):
        with contextlib.suppress(OSError):
            folder.rename(folder.with_name(f"{SET_ASIDE}{secrets.token_hex(4)}"))
    return False


def used_bytes(folder: Path, seconds: float = _COUNTING) -> int:
    """Bytes on disk below a folder; one that takes longer to count is endless: a run's other limits wait meanwhile."""
    done = _system("du", "-sk", str(folder), seconds=seconds)
    said = done.out.split()
    return int(said[0]) * 1024 if said else _ENDLESS if done.cut else 0


def _system(*words: str, seconds: float = _SECONDS) -> Ended:
    return run([*words[:-1], "--", words[-1]], seconds, env={"PATH": safe_path(), "LC_ALL": "C"}, cwd="/")


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
        with open(os.open(f"{folder}/{path}", flags, mode), "wb") as file:  # noqa: PTH123
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
