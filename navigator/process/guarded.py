"""Files in folders that somebody else may shape: an agent, a test, a repository.

A name is looked up part by part, each below the open folder before it, and no part may be a link. Only plain files are read,
up to a size, and opening one never waits. A file is written beside its place and renamed. So a link, a FIFO or a folder
that is put there, even meanwhile, is an error or is replaced, and never leads elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}


class NotPlain(OSError):
    """Something else stands where a folder or a plain file is expected, or the file is too large; `strerror` says which."""


@contextmanager
def holding(top: Path | int, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The open folder that holds `name`, and the last part of `name`.

    Args:
        top: a folder, or its descriptor; the way to it is trusted.
        name: a path below it, with `/` between its parts.
        make: make the folders that are missing.

    Raises:
        NotPlain: a part is no folder, or leads up. OSError: a folder is missing or may not be opened.
    """
    *above, last = name.split("/")
    if "\0" in name or not {"", ".", ".."}.isdisjoint((*above, last)):
        raise NotPlain(errno.EINVAL, "it leads out of its folder", name)
    at = _top(top)
    try:
        for part in above:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=at)
            inner = _inner(at, part, name)
            os.close(at)
            at = inner
        yield at, last
    finally:
        os.close(at)


def _top(top: Path | int) -> int:
    return os.dup(top) if isinstance(top, int) else os.open(top, FOLDER & ~os.O_NOFOLLOW)


def _inner(at: int, part: str, name: str) -> int:
    try:
        return os.open(part, FOLDER, dir_fd=at)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise NotPlain(error.errno, f"{part} is {kind_of(at, part)}, not a folder", name) from None
        raise


def kind_of(top: Path | int, name: str) -> str:
    """What stands at `name`: "a file", "a folder", "a link", "a FIFO", "a socket", "a device"; "" where nothing does.

    Raises:
        NotPlain, OSError: see `holding`.
    """
    try:
        with holding(top, name) as (at, last):
            mode = os.stat(last, dir_fd=at, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return ""
    return _kind_of_file(mode)


def read_file(top: Path | int, name: str, most: int) -> bytes:
    """The content of a plain file of at most `most` bytes.

    Raises:
        NotPlain: it is a link, no plain file, or larger. FileNotFoundError, OSError: it cannot be read.
    """
    return read_with_mode(top, name, most)[0]


def read_with_mode(top: Path | int, name: str, most: int) -> tuple[bytes, int]:
    """`read_file`, and the file's mode."""
    with holding(top, name) as (at, last):
        try:
            descriptor = os.open(last, _FILE, dir_fd=at)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):  # a link; a socket or a FIFO without a reader
                raise NotPlain(error.errno, f"it is {kind_of(at, last)}", name) from None
            raise
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise NotPlain(errno.EINVAL, f"it is {_kind_of_file(found.st_mode)}", name)
            with open(descriptor, "rb", closefd=False) as file:
                content = file.read(most + 1) if found.st_size <= most else b""
            if max(found.st_size, len(content)) > most:
                raise NotPlain(errno.EFBIG, f"it is larger than {most} bytes", name)
            return content, found.st_mode
        finally:
            os.close(descriptor)


def _kind_of_file(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "a device")


def write_file(
    top: Path | int, name: str, data: bytes, mode: int = 0o644, *, new: bool = False, sync: bool = False
) -> None:
    """Put `data` at `name`, whole or not at all, in place of whatever is there; folders on the way are made.

    Args:
        new: leave what is there, and raise FileExistsError.
        sync: it is on the disk before it takes the place.

    Raises:
        NotPlain: a folder on the way is something else. OSError: it cannot be written; a folder is at its place.
    """
    with holding(top, name, make=True) as (at, last):
        temporary = f".{os.urandom(8).hex()}.new"
        descriptor = os.open(temporary, _NEW, mode, dir_fd=at)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123
                os.fchmod(descriptor, mode)
                file.write(data)
                file.flush()
                if sync:
                    os.fsync(descriptor)
            if new:
                os.link(temporary, last, src_dir_fd=at, dst_dir_fd=at)  # never replaces
            else:
                os.rename(temporary, last, src_dir_fd=at, dst_dir_fd=at)
                temporary = ""
        finally:
            # A signal may have come between the renaming and the next line.
            with suppress(FileNotFoundError):
                if temporary:
                    os.unlink(temporary, dir_fd=at)


def walk(top: Path | int, *, most: int, deepest: int) -> Iterator[tuple[str, int, str]]:
    """Every entry below a folder that is no folder: its path, and the open folder that holds it with its name there.

    Folders deeper than `deepest`, and those that may not be opened, are given like files. `.git` is passed over.

    Raises:
        NotPlain: there are more than `most` entries.
    """
    count = 0
    way: list[tuple[str, int, Iterator[str] | None]] = [("", _top(top), None)]
    try:
        while way:
            above, folder, names = way.pop()
            if names is None:
                way.append((above, folder, iter(())))  # closed even where it cannot be read
                found = _names_in(folder, most - count)
                count += len(found)
                way[-1] = (above, folder, iter(found))
                continue
            name = next(names, None)
            if name is None:
                os.close(folder)
                continue
            way.append((above, folder, names))
            if name.casefold() == ".git":
                continue
            inner = _folder_or_none(folder, name) if above.count("/") < deepest else None
            if inner is None:
                yield f"{above}{name}", folder, name
            else:
                way.append((f"{above}{name}/", inner, None))
    finally:
        for _, folder, _ in way:
            os.close(folder)


def _folder_or_none(at: int, name: str) -> int | None:
    try:
        return os.open(name, FOLDER, dir_fd=at)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.ENOENT, errno.EACCES):
            return None
        raise


def _names_in(folder: int, most: int) -> list[str]:
    found: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            found.append(entry.name)
            if len(found) > most:
                raise NotPlain(errno.EMFILE, "there are too many files")
    return sorted(found)
