"""Where Navigator keeps things: the settings file, and the state folder, which only this user may read."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from navigator.model.errors import ConfigError, MissingPart
from navigator.process import guarded

CONFIG_VARIABLE = "NAVIGATOR_CONFIG"
STATE_VARIABLE = "NAVIGATOR_STATE"

SOCKET_PATH_LIMIT = 107
"""Bytes of a Unix socket's path that fit into `sockaddr_un.sun_path` on Linux, its final NUL left out."""

_APP = "navigator"
_OURS = frozenset({"navigator.db", "conductor.lock", "navigator.log", "private", "backups", "rehearsal"})


def typed_path(text: str | Path) -> Path:
    """A path as somebody typed it, made absolute. `~name` stays as it is where there is no such user."""
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError:
        return Path(text).absolute()


def is_folder(path: Path) -> bool:
    """Whether it is a folder that may be looked at."""
    try:
        return path.is_dir()
    except OSError:
        return False  # its parent is closed, or the name is too long


def config_path() -> Path:
    """The settings file (it may be absent): `NAVIGATOR_CONFIG`, or `config.toml` in the user's folder.

    Raises:
        ConfigError: the user has no home folder.
    """
    named = os.environ.get(CONFIG_VARIABLE, "")
    if named:
        return typed_path(named)
    return _user_folder("XDG_CONFIG_HOME", "~/.config") / "config.toml"


def state_dir() -> Path:
    """The state folder: `NAVIGATOR_STATE`, or the user's state folder; made if absent, always 0700.

    Raises:
        ConfigError: the path is no folder, belongs to another user, or is open to others and not empty; the user has no
            home folder.
    """
    named = os.environ.get(STATE_VARIABLE, "")
    if named:
        return private_folder(typed_path(named))
    return private_folder(_user_folder("XDG_STATE_HOME", "~/.local/state"))


def _user_folder(variable: str, usual: str) -> Path:
    """Our folder in the one that a variable names, by an absolute path, else in the system's usual one. As platformdirs has it.

    Sources: https://specifications.freedesktop.org/basedir/latest/, Apple's File System Programming Guide.

    Raises:
        ConfigError: neither HOME nor the list of users names a home folder.
    """
    parent = Path(os.environ.get(variable, ""))
    if not parent.is_absolute():
        parent = Path("~/Library/Application Support" if sys.platform == "darwin" else usual)
    try:
        return parent.expanduser() / _APP
    except RuntimeError:
        hint = f"Set HOME, or {CONFIG_VARIABLE} and {STATE_VARIABLE}."
        raise ConfigError("This user has no home folder.", hint=hint) from None


def private_folder(path: Path) -> Path:
    """Make `path` a folder that only this user can enter (0700), and return it.

    A wider mode is narrowed only where the folder is empty or holds Navigator's own files:
    `NAVIGATOR_STATE=/home/me` is a mistake, and must not lock a home against its other uses.

    Raises:
        ConfigError: see `state_dir`.
    """
    hint = f"Point {STATE_VARIABLE} at a folder of your own."
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except FileExistsError:
        raise ConfigError(
            f"{path} is not a folder, so Navigator cannot keep its state there.", hint=hint
        ) from None
    except OSError as error:
        raise ConfigError(f"The folder {path} cannot be made: {error.strerror}.", hint=hint) from error
    if status.st_uid != os.geteuid():
        raise ConfigError(f"The folder {path} belongs to another user.", hint=hint)
    if stat.S_IMODE(status.st_mode) & 0o777 == 0o700:
        return path
    try:
        names = {entry.name for entry in path.iterdir()}
        if names and names.isdisjoint(_OURS):
            raise ConfigError(f"The folder {path} is open to others and holds other files.", hint=hint)
        path.chmod(0o700)
    except OSError as error:
        raise ConfigError(
            f"The folder {path} cannot be made private: {error.strerror}.", hint=hint
        ) from error
    return path


def write_private(path: Path, data: bytes) -> None:
    """Put `data` at `path` with mode 0600, whole or not at all."""
    write_whole(path, data, 0o600)


def write_whole(path: Path, data: bytes, mode: int) -> None:
    """Put `data` at `path`, whole or not at all (written beside it, then renamed), with its mode from the start."""
    guarded.write_file(path.parent, path.name, data, mode, sync=True)


def write_new(path: Path, data: bytes) -> None:
    """Put `data` at `path`, whole or not at all, with the mode that the process's umask gives to new files."""
    mask = os.umask(0)
    os.umask(mask)
    write_whole(path, data, 0o666 & ~mask)


class _Below:
    """A name in a state folder."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, paths: StatePaths, _: object) -> Path:
        return paths.root / self._name


@dataclass(frozen=True, slots=True)
class StatePaths:
    """The names inside one state folder.

    Attributes:
        database: the SQLite database.
        lock: the file whose kernel lock says who may write.
        log: the conductor's log.
        private: the private bare repositories, one a project.
        backups: copies of the database.
        agents: folders of coding agents' runs.
        rehearsal: sample repositories and logs of the embedded stand-in.
        commits: where commit hooks note commits: a folder for each project, in it an empty file named by each commit.
    """

    root: Path

    database = _Below("navigator.db")
    lock = _Below("conductor.lock")
    log = _Below("navigator.log")
    private = _Below("private")
    backups = _Below("backups")
    agents = _Below("agents")
    rehearsal = _Below("rehearsal")
    commits = _Below("commits")

    @property
    def socket(self) -> Path:
        """The conductor's Unix socket.

        A path that the kernel would refuse as too long gives way to one in a 0700 folder of this user below /tmp, which
        every client finds whatever its environment.

        Raises:
            ConfigError: that folder is somebody else's, or cannot be made.
        """
        plain = self.root / "conductor.sock"
        if len(os.fsencode(plain)) <= SOCKET_PATH_LIMIT:
            return plain
        import hashlib

        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:16]
        short = Path("/tmp") / f"{_APP}-{os.geteuid()}-{digest}"
        if not _is_private(private_folder(short)):
            raise ConfigError(
                f"{short}, for the socket of {self.root}, is not a folder of yours alone.",
                hint=f"Remove it, or choose a shorter {STATE_VARIABLE}.",
            )
        return short / "conductor.sock"

    def ensure(self) -> StatePaths:
        """Make the folder and its inner folders, each 0700, and return self.

        Raises:
            ConfigError: see `private_folder`.
        """
        private_folder(self.root)
        for folder in (self.private, self.backups, self.rehearsal):
            # One that is right already is left alone: a folder that can only be read can still be read.
            if _is_private(folder):
                continue
            try:
                folder.mkdir(mode=0o700, exist_ok=True)
                folder.chmod(0o700)
            except OSError as error:
                raise ConfigError(
                    f"The folder {folder} cannot be made: {error.strerror}.",
                    hint=f"Point {STATE_VARIABLE} at a folder that you can write.",
                ) from error
        return self


def _is_private(folder: Path) -> bool:
    """Whether `folder` is a real folder (no link) of this user that no other user may enter."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and stat.S_IMODE(status.st_mode) & 0o077 == 0
    )


_PACKAGE = Path(__file__).resolve().parent.parent


def resource_dir(name: str) -> Path:
    """The folder `prompts`, `swap` or `docs` (of which a wheel has the glossary only).

    Raises:
        MissingPart: the installation is incomplete.
    """
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise MissingPart(
        f"The folder {name}/ is missing from this installation of Navigator.",
        hint="Reinstall the package navigator-cascade.",
    )
