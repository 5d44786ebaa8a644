"""What of this machine a project's tests see: folders that git ignores in the checkout, and what the user allows.

Everything here is read-only inside. The checkout is the user's own, the tree is not: a folder is bound only where the tree
has neither a file nor a link.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from navigator.model.json_text import table
from navigator.model.models import Project

_DEEPEST = 4
_MOST_LOOKED_AT = 20_000
_MOST_FOLDERS = 64
_NEVER = frozenset({".git", ".hg", ".svn"})


@dataclass(frozen=True, slots=True)
class Bind:
    """`source` of this machine is seen as `target` inside. Both absolute; read-only unless `writable`."""

    source: str
    target: str
    writable: bool = False

    def words(self) -> list[str]:
        """As bubblewrap wants it."""
        return ["--bind" if self.writable else "--ro-bind", self.source, self.target]


def dependency_folders(checkout: Path, tracked: Collection[str]) -> tuple[Bind, ...]:
    """Folders of dependencies in the user's checkout that the tree does not hold, top level first.

    Args:
        checkout: the user's checkout; nothing where there is none (a bare repository).
        tracked: every path of the tree that is checked.
    """
    held = {path for name in tracked for path in _above(name)}
    found: list[Bind] = []
    for folder in _candidates(checkout):
        inside = folder.relative_to(checkout).as_posix()
        # A parent that the tree does not have, or has as a file, leaves nothing to bind to.
        parent = inside.rpartition("/")[0]
        if inside in held or (parent and parent not in held) or parent in tracked:
            continue
        try:
            real = folder.resolve()
        except (OSError, RuntimeError):
            continue  # a link that leads to itself
        if real == checkout or checkout.is_relative_to(real) or Path.home().is_relative_to(real):
            continue
        found.append(Bind(str(real), str(folder)))
        if len(found) == _MOST_FOLDERS:
            break
    return tuple(found)


def _above(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:n]) for n in range(1, len(parts) + 1))


def _candidates(checkout: Path) -> Iterator[Path]:
    """Folders named like one of dependencies, or holding a Python environment, breadth first, within bounds."""
    level, looked_at = [checkout], 0
    known = table(__package__, "inside.toml")["dependencies"]
    for _ in range(_DEEPEST):
        below: list[Path] = []
        for folder in level:
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                looked_at += 1
                if looked_at > _MOST_LOOKED_AT:
                    return
                path = Path(entry.path)
                if entry.name in _NEVER or not _is_folder(entry):
                    continue
                environment = os.path.isfile(path / "pyvenv.cfg")  # noqa: PTH113 it answers for any path
                if environment or (entry.name in known and _may_follow(entry)):
                    yield path
                elif not entry.is_symlink() and not entry.name.startswith("."):
                    below.append(path)
        level = below


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads to itself, or a folder that may not be looked into


def _may_follow(entry: os.DirEntry[str]) -> bool:
    """A link of that name is followed only to a folder that is plainly what its name says."""
    return not entry.is_symlink() or entry.name == "node_modules"


def asked_mounts(project: Project, tracked: Collection[str] = ()) -> tuple[tuple[Bind, ...], tuple[str, ...]]:
    """The project's `check_mounts`, read-only at their own place: (those that are there, those that are not).

    A link that the repository holds leads wherever a commit wants it to: what lies behind one counts as not there.
    """
    there: list[Bind] = []
    absent: list[str] = []
    for named in project.check_mounts:
        place = Path(project.path, Path(named).expanduser()).absolute()
        if place.exists() and not _through_tracked_link(place, Path(project.path), tracked):
            there.append(Bind(str(place.resolve()), str(place)))
        else:
            absent.append(named)
    return tuple(there), tuple(absent)


def _through_tracked_link(place: Path, checkout: Path, tracked: Collection[str]) -> bool:
    inside = [step for step in (place, *place.parents) if checkout in step.parents]
    return any(step.is_symlink() and str(step.relative_to(checkout)) in tracked for step in inside)


def digest_of(binds: Collection[Bind]) -> list[str]:
    """What tells one state of the bound folders from another: their own times, and those of what installers rewrite."""
    told: list[str] = []
    for bind in binds:
        source = Path(bind.source)
        marks = [source, source / ".package-lock.json", source / "modules.txt", *_site_packages(source)]
        told += [f"{mark}:{_time(mark)}" for mark in marks]
    return told


def _site_packages(source: Path) -> list[Path]:
    if not (source / "pyvenv.cfg").is_file():
        return []
    return sorted(source.glob("lib*/python*/site-packages"))[:4]


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
