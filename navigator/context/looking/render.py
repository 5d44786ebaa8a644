"""How looks are shown: lines of files as they are, or numbered lines of many files, as much as there is room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from navigator.context.looking.requests import Lines, Shown
from navigator.context.pack import Count
from navigator.model.states import LookOutcome

DELIMITERS = 30
"""Tokens around each piece."""

_AS_DRAWN = ((3, 40), (1, 40), (0, 40), (0, 12), (0, 4), (0, 2))
"""Lines around a match, and matches of one file: the most for which there is room."""

_LONGEST_LINE = 300
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


@dataclass(frozen=True, slots=True)
class Drawn:
    """Matches as one piece; `left` are those there was no room for, `note` says so."""

    piece: LookPiece
    left: int
    note: str


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


def cut_to(lines: Sequence[str], room: int, count: Count) -> tuple[str, int]:
    """As many of the lines as fit, and how many do not. At least one line is tried."""
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if count("\n".join(lines[:middle]) + "\n") + DELIMITERS <= room:
            low = middle
        else:
            high = middle - 1
    return ("\n".join(lines[:low]) + "\n" if low else ""), len(lines) - low


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
    hits: Mapping[str, tuple[Sequence[str], Sequence[int]]], shown: Shown, room: int, count: Count
) -> Drawn:
    """Matches with as many lines around them as fit; lines that are shown above are named by their numbers only.

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
    note = f", {len(rest)} of the files not shown: narrow it with a GLOB" if rest else ""
    return Drawn(LookPiece("".join(kept) + named, lines=tuple(lines)), len(rest), note)


def _block(
    path: str, lines: Sequence[str], numbers: Sequence[int], shown: Shown, around: int, most: int
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
