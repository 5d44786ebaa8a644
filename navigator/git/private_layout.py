"""How a private repository is laid out on disk: bare, with section headings for hunks; and what a killed git left."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from navigator.config.paths import write_private
from navigator.git.diffs import path_bytes
from navigator.git.facts import RepoFacts
from navigator.git.runner import Git
from navigator.model.json_text import table


def create(git_dir: Path, facts: RepoFacts) -> None:
    """Make an empty bare repository beside its place and move it there, so that a half-made one is never
    met."""
    git_dir.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=git_dir.parent) as folder:
        made = Path(folder) / "made.git"
        made.mkdir(mode=0o700)
        Git(made, outside=facts.outside).run(
            "init",
            "--bare",
            "--quiet",
            "--template=",
            f"--object-format={facts.object_format}",
            "--initial-branch=none",
            config=("init.defaultRefFormat=files",),
        )
        (made / "info").mkdir(exist_ok=True)
        (made / "info" / "attributes").write_text(_attributes(), "ascii")
        (made / "objects" / "info").mkdir(exist_ok=True)
        try:
            made.rename(git_dir)
        except OSError:
            # Somebody else was quicker; theirs is as good.
            if not (git_dir / "HEAD").exists():
                raise


def _attributes() -> str:
    drivers = table(__package__, "git.toml")["drivers"].items()
    return "".join(f"{pattern} diff={driver}\n" for driver, patterns in drivers for pattern in patterns)


OWN_OBJECTS = "navigator/own"


def borrow_objects(git_dir: Path, others: str = "") -> None:
    """Have a private repository find its own new objects, and those in the folder `others`, which may have moved.

    New objects are written to a folder of their own: git sets the time of an object that it is about to write and finds
    somewhere, the user's objects among them. There it is compared with what is there and with the private packs alone.
    """
    alternates = git_dir / "objects" / "info" / "alternates"
    listed = path_bytes("".join(f"{one}\n" for one in (others, f"../{OWN_OBJECTS}") if one))
    if not alternates.exists() or alternates.read_bytes() != listed:
        write_private(alternates, listed)
    folder = git_dir / OWN_OBJECTS
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (folder / "pack").symlink_to("../../objects/pack")


# What a killed git left

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
