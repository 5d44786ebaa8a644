"""What a model may ask for in a LOOK block, one request a line. Pure; nothing here is trusted or read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from navigator.context.pack import Count, fitting, joined
from navigator.model import patterns
from navigator.model.states import LookKind, LookOutcome

# How looks are shown: lines of files as they are, or numbered lines of many files, as much as there is room for.

DELIMITERS = 30
"""Tokens around each piece."""

_AS_DRAWN = ((3, 40), (1, 40), (0, 40), (0, 12), (0, 4), (0, 2))
"""Lines around a match, and matches of one file: the most for which there is room."""

_LONGEST_LINE = 300
_MOST_COMPARED = 5_000
_FOR_NAMES = 5
"""Of the room, one part in so many is for the names of files whose matches have none."""


@dataclass(frozen=True, slots=True)
class LookPiece:
    """One block of an answer.

    Attributes:
        text: what is shown.
        path: the file whose lines these are, as they are; "" for a list, or for lines of many files.
        first: number of the first line; 0 without a path.
        whole: it is the whole file.
        lines: the (path, first, last) that can be read in it in full.
    """

    text: str
    path: str = ""
    first: int = 0
    whole: bool = False
    lines: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class LookAnswer:
    """What one request was answered with.

    Attributes:
        asked: the request as it was read.
        kind: its first word; "" where it is none.
        note: what is to be said about it; "" where the pieces say all.
        pieces: what is shown.
        paths: the files whose lines are shown, once each.
        tokens: of the pieces and what is around them.
    """

    asked: str
    kind: str
    outcome: LookOutcome
    note: str = ""
    pieces: tuple[LookPiece, ...] = ()
    paths: tuple[str, ...] = ()
    tokens: int = 0


def cut_to(lines: Sequence[str], room: int, count: Count) -> tuple[str, int]:
    """As many of the lines as fit, and how many do not. At least one line is tried."""
    ended = [f"{line}\n" for line in lines]
    fit = fitting(ended, room - DELIMITERS, count)
    return "".join(ended[:fit]), len(lines) - fit


def pieces_of(
    path: str, lines: Sequence[str], ranges: Sequence[Lines], room: int, count: Count
) -> tuple[list[LookPiece], int]:
    """Lines of one file as pieces, and the first line for which there was no room (0 where all fit)."""
    pieces: list[LookPiece] = []
    for first, last in ranges:
        text, rest = cut_to(lines[first - 1 : last], room, count)
        end = last - rest
        if text:
            whole = (first, end) == (1, len(lines))
            pieces.append(LookPiece(text, path, first, whole, ((path, first, end),)))
            room -= count(text) + DELIMITERS
        if rest:
            return pieces, end + 1
    return pieces, 0


def draw_matches(
    hits: Mapping[str, tuple[Sequence[str], Sequence[int]]], shown: ShownSoFar, room: int, count: Count
) -> tuple[LookPiece, int]:
    """Matches with as many lines around them as fit, and how many files there was no room for.

    Lines that are shown above are named by their numbers only.

    Args:
        hits: path -> its lines, and the numbers of those that match.
    """
    for around, most in _AS_DRAWN:
        blocks = [_block(path, *found, shown, around, most) for path, found in hits.items()]
        spent = count("".join(block for block, _ in blocks)) + DELIMITERS
        if spent <= room:
            break
    rest: list[str] = []
    left = room if spent <= room else room - room // _FOR_NAMES
    kept: list[str] = []
    lines: list[tuple[str, int, int]] = []
    spent = DELIMITERS
    for path, (block, of_block) in zip(hits, blocks, strict=True):
        tokens = count(block)
        if spent + tokens > left:
            rest.append(path)
            continue
        kept.append(block)
        lines += of_block
        spent += tokens
    named, _ = cut_to([f"{path} ({len(hits[path][1])})" for path in rest], room - spent + DELIMITERS, count)
    return LookPiece("".join(kept) + named, lines=tuple(lines)), len(rest)


def _block(
    path: str, lines: Sequence[str], numbers: Sequence[int], shown: ShownSoFar, around: int, most: int
) -> tuple[str, tuple[tuple[str, int, int], ...]]:
    """One file's matches, numbered, and the lines that can be read in it in full."""
    above = [number for number in numbers if shown.has(path, number, number)]
    fresh = [number for number in numbers if number not in set(above)]
    more, fresh = len(fresh) - most, fresh[:most]
    wanted = sorted(
        {number for hit in fresh for number in range(max(1, hit - around), min(len(lines), hit + around) + 1)}
    )
    drawn = [f"{path}"]
    if above:
        drawn.append(f"       shown above: {', '.join(map(str, above[:most]))}")
    read: list[tuple[str, int, int]] = []
    for number in wanted:
        line = lines[number - 1]
        if len(line) > _LONGEST_LINE:
            drawn.append(f"{number:>6}| {line[:_LONGEST_LINE]}… (cut)")
            continue
        drawn.append(f"{number:>6}| {line}")
        if read and read[-1][2] == number - 1:
            read[-1] = (path, read[-1][1], number)
        else:
            read.append((path, number, number))
    if more > 0:
        drawn.append(f"       … {more} more")
    return "\n".join(drawn) + "\n", tuple(read)


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
_NAME = patterns.compile(r"[^\W\d]")
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


class ShownSoFar:
    """Grows with everything that is shown. `lines`: each path with its ranges, in order and apart from one another."""

    def __init__(self) -> None:
        self.lines: dict[str, list[Lines]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self.lines

    def add(self, path: str, first: int, last: int) -> None:
        """These lines of a file were shown."""
        self.lines[path] = joined([*self.lines.get(path, ()), (first, last)])

    def has(self, path: str, first: int, last: int) -> bool:
        """Whether all of these lines were shown."""
        return not self.missing(path, first, last)

    def missing(self, path: str, first: int, last: int) -> list[Lines]:
        """The parts of these lines that were not shown."""
        found: list[Lines] = []
        at = first
        for a, b in self.lines.get(path, ()):
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


# What is in a folder, and which paths a model may have meant. Pure.


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
    """The paths whose last part is that of a path, or nearly; no more than 5,000 names are compared."""
    name = path.rsplit("/", 1)[-1].casefold()
    last = {other: other.rsplit("/", 1)[-1].casefold() for other in paths}
    same = [other for other, its in last.items() if its == name]
    if same:
        return same
    names = islice(dict.fromkeys(last.values()), _MOST_COMPARED)
    close = difflib.get_close_matches(name[:_LONGEST_LINE], list(names), 3, 0.8)
    return [other for other, its in last.items() if its in close]
