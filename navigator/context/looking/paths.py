"""What is in a folder, which paths a model may have meant, and which files belong to one another by name. Pure."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable

from navigator.model import patterns

_OF_TESTS = patterns.compile(r"^tests?[_-]|[_.-](?:tests?|spec)$")
_FOLDERS = frozenset({"src", "lib", "test", "tests", "__tests__", "spec", "unit", "testing"})
"""Folders that say where code and tests are kept, and not what they are about."""

_MOST_COUNTERPARTS = 2


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


class Counterparts:
    """Files and their tests, known by their names: `pkg/view.go` and `pkg/view_test.go`, `src/a/b.py` and `tests/a/test_b.py`."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._named: defaultdict[str, list[str]] = defaultdict(list)
        for path in paths:
            self._named[_subject(path)].append(path)

    def of(self, path: str) -> list[str]:
        """At most two other files of the same name in the same place, one folder more or less aside."""
        others = [other for other in self._named[_subject(path)] if other != path and _beside(path, other)]
        return others[:_MOST_COUNTERPARTS]


def _subject(path: str) -> str:
    """A file's name without its extension and what makes it a test."""
    return _OF_TESTS.sub("", path.rsplit("/", 1)[-1].rsplit(".", 1)[0].casefold())


def _beside(path: str, other: str) -> bool:
    if path.rpartition("/")[0] == other.rpartition("/")[0]:
        return True
    a, b = ([part for part in each.split("/")[:-1] if part not in _FOLDERS] for each in (path, other))
    return a == b or a[1:] == b or b[1:] == a
