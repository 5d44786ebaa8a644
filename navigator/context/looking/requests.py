"""What a model may ask for in a LOOK block, one request a line. Pure; nothing here is trusted or read."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from navigator.model import patterns
from navigator.model.states import LookKind

MOST_REQUESTS = 8
"""Requests of one turn that are answered."""

LONGEST_TARGET = 300
"""Characters of a path, a name or an expression."""


FORMS = {
    LookKind.READ: "read PATH or read PATH:FIRST-LAST",
    LookKind.SEARCH: "search REGEX or search REGEX GLOB",
    LookKind.LIST: "list FOLDER",
    LookKind.DEFINITION: "definition NAME",
    LookKind.USES: "uses NAME",
}
"""How each is written."""

_RANGE = patterns.compile(r":L?(\d{1,7})(?:\s*[-–:]\s*L?(\d{1,7}))?$")
_NAME = patterns.compile(r"[^\W\d]\w*[!?]?")
_BEFORE = patterns.compile(r"[\s>*+\-\d.)`]*([A-Za-z])?")


@dataclass(frozen=True, slots=True)
class LookRequest:
    """One request.

    Attributes:
        kind: what to do.
        target: a path, a name or a regular expression.
        first, last: lines of a file, 1-based and inclusive; 0 and 0 is all of it.
        glob: paths that a search is limited to; "" is everywhere.
    """

    kind: LookKind
    target: str
    first: int = 0
    last: int = 0
    glob: str = ""

    def __str__(self) -> str:
        lines = f":{self.first}-{self.last}" if self.first else ""
        return f"{self.kind.value} {self.target}{lines}{' ' + self.glob if self.glob else ''}"


@dataclass(frozen=True, slots=True)
class NotARequest:
    """A line of a LOOK block that asks for nothing known, and what is wrong with it."""

    line: str
    problem: str


def read_requests(lines: Iterable[str]) -> list[LookRequest | NotARequest]:
    """The requests of a LOOK block, the same one once. Never raises, whatever the text."""
    found: dict[LookRequest | NotARequest, None] = {}
    for line in lines:
        text = line.strip()
        if not text or text.startswith(("```", "~~~")):
            continue
        found[_request(text)] = None
    return list(found)


def _request(text: str) -> LookRequest | NotARequest:
    before = _BEFORE.match(text)
    bare = text[before.start(1) if before and before[1] else 0 :].strip().strip("`")
    word, _, rest = bare.partition(" ")
    target = rest.strip()
    try:
        kind = LookKind(word.rstrip(":").lower())
    except ValueError:
        forms = "; ".join(FORMS.values())
        return NotARequest(text[:LONGEST_TARGET], f"it is no request. Requests are: {forms}.")
    if kind is not LookKind.SEARCH:
        target = target.strip("`'\" ")
    if not target and kind is not LookKind.LIST:
        return NotARequest(text[:LONGEST_TARGET], f"it says not what. Write {FORMS[kind]}.")
    if len(target) > LONGEST_TARGET or not target.isprintable():
        return NotARequest(text[:LONGEST_TARGET], f"it is longer than {LONGEST_TARGET} characters.")
    if kind is LookKind.READ:
        return _reading(target)
    if kind is LookKind.SEARCH:
        return _searching(target)
    if kind is LookKind.LIST:
        return LookRequest(kind, _path(target))
    if not _NAME.search(target):
        return NotARequest(text[:LONGEST_TARGET], f"it names nothing. Write {FORMS[kind]}.")
    return LookRequest(kind, target.removesuffix("()"))


def _reading(target: str) -> LookRequest | NotARequest:
    match = _RANGE.search(target)
    if match is None:
        return LookRequest(LookKind.READ, _path(target))
    first = max(1, int(match[1]))
    last = int(match[2]) if match[2] else first
    if last < first:
        return NotARequest(target, f"line {last} is before line {first}.")
    return LookRequest(LookKind.READ, _path(target[: match.start()].rstrip("`'\" ")), first, last)


def _searching(target: str) -> LookRequest:
    """The expression, and the glob behind it: the last word, where it looks like a path and the rest is not empty."""
    head, _, tail = target.rpartition(" ")
    for whole, glob in ((target, ""), (head.rstrip(), tail)):
        if len(whole) > 2 and whole[0] in "\"'`/" and whole[-1] == whole[0]:
            return LookRequest(LookKind.SEARCH, whole[1:-1], glob=_glob(glob))
    if head and _is_glob(tail.strip("`'\"")):
        return LookRequest(LookKind.SEARCH, head.strip(), glob=_glob(tail))
    return LookRequest(LookKind.SEARCH, target)


def _is_glob(word: str) -> bool:
    """Whether a search's last word limits it: a path or a pattern of paths, and nothing an expression would end with."""
    if patterns.search(r"[\\()\[\]^$|+]", word):
        return False
    return (
        "/" in word.rstrip("/")
        or word.endswith("/")
        or patterns.fullmatch(r"\*(?:\.\w+)+|[\w*-]+\.\w{1,5}", word) is not None
    )


def _glob(word: str) -> str:
    return word.strip("`'\"").removeprefix("./")


def _path(text: str) -> str:
    """A path from the root as the project has it; `.` and `/` are the root."""
    path = text.replace("\\", "/").removeprefix("./").strip("/")
    return "" if path == "." else path


# Which lines of which files a model has in front of it, so that nothing is shown twice.

Lines = tuple[int, int]
"""First and last line, 1-based and inclusive."""


class Shown:
    """Grows with everything that is shown."""

    def __init__(self) -> None:
        self._lines: dict[str, list[Lines]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._lines

    def items(self) -> Iterator[tuple[str, list[Lines]]]:
        """Each path with its ranges, in order and apart from one another."""
        yield from self._lines.items()

    def add(self, path: str, first: int, last: int) -> None:
        """These lines of a file were shown."""
        joined: list[Lines] = []
        for a, b in sorted([*self._lines.get(path, ()), (first, last)]):
            if joined and a <= joined[-1][1] + 1:
                joined[-1] = (joined[-1][0], max(b, joined[-1][1]))
            else:
                joined.append((a, b))
        self._lines[path] = joined

    def has(self, path: str, first: int, last: int) -> bool:
        """Whether all of these lines were shown."""
        return not self.missing(path, first, last)

    def missing(self, path: str, first: int, last: int) -> list[Lines]:
        """The parts of these lines that were not shown."""
        found: list[Lines] = []
        at = first
        for a, b in self._lines.get(path, ()):
            if b < at:
                continue
            if a > last:
                break
            if a > at:
                found.append((at, a - 1))
            at = b + 1
        if at <= last:
            found.append((at, last))
        return found


# What is in a folder, which paths a model may have meant, and which files belong to one another by name. Pure.

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
