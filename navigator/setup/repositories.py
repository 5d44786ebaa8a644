"""Repositories that can be added, found by looking at names alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_DEEPEST = 6
"""Folders below the start at most: a home's projects are not deeper."""

_PASSED_OVER = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "target", "dist", "build"})


def find_repositories(folder: Path) -> list[Path]:
    """Top folders of the checkouts and bare repositories under `folder`, resolved and in order of their names.

    A repository is not searched for others inside it; hidden folders, links and folders of dependencies are passed over.
    """
    return list(_walk(folder.resolve(), _DEEPEST))


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    if _is_repository(folder):
        yield folder
        return
    if depth == 0:
        return
    try:
        with os.scandir(folder) as entries:
            inner = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return  # a folder we may not read holds no project of ours
    for name in inner:
        if not name.startswith(".") and name not in _PASSED_OVER:
            yield from _walk(folder / name, depth - 1)


def repository_of(folder: Path) -> Path | None:
    """Top folder of the repository that `folder` is in, resolved; None where it is in none."""
    here = folder.resolve()
    return next((one for one in (here, *here.parents) if _is_repository(one)), None)


def _is_repository(folder: Path) -> bool:
    if (folder / ".git").exists():
        return True
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()
