"""What is in a folder, and which paths a model may have meant. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def entries_of(folder: str, paths: Iterable[str]) -> list[str]:
    """The files and folders directly in a folder, "" being the root; folders with how many files are below them."""
    start = f"{folder}/" if folder else ""
    inside: dict[str, int] = {}
    for path in paths:
        if path.startswith(start):
            name, slash, _ = path.removeprefix(start).partition("/")
            inside[name + slash] = inside.get(name + slash, 0) + 1
    return [f"{name} ({n} files)" if name.endswith("/") else name for name, n in sorted(inside.items())]


def alike(path: str, paths: Iterable[str]) -> list[str]:
    """The paths whose last part is that of a path, or nearly."""
    name = path.rsplit("/", 1)[-1]
    last = {other: other.rsplit("/", 1)[-1] for other in paths}
    same = [other for other, its in last.items() if its == name]
    if same:
        return same
    close = set(difflib.get_close_matches(name, set(last.values()), 3, 0.8))
    return [other for other, its in last.items() if its in close]
