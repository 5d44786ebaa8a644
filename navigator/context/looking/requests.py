"""What a model may ask for in a LOOK block, one request a line. Pure; nothing here is trusted or read."""

from __future__ import annotations

from collections.abc import Iterable
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
