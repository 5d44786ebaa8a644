"""Fits ranked files into a number of tokens: whole where they are short enough for their rank, else the parts that matter.

An excerpt is made of whole lines as they are in the file, so that an edit can quote it. Parts follow the file's own
structure: a definition, or a stretch of lines where no grammar is known.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from navigator.context.files import MapFile
from navigator.context.tags import WORD, parts

Count = Callable[[str], int]

MAX_FILE_BYTES = 400_000
"""A larger file is never shown, whole or in part: no budget of a local model takes it."""

_MOST_CHARS_PER_TOKEN = 6
"""A text that would need more to fit is not counted."""

_STRETCH = 30
_LINES_AROUND = 4
_MOST_PARTS = 4
_DELIMITERS = 30
"""Tokens around each part."""

_SMALLEST_SHARE = 40
_MOST_OUTLINED = 4


LEAST_SCORE = 0.05
"""Files that score less than this share of the best are not shown."""

_WHOLE = (0.3, 0.03)
"""Share of all tokens for files that the first file may take whole, and that a file far down may."""
_PARTS = (0.2, 0.03)
"""The same for excerpts."""
_HALVING = 4.0
"""After how many files a share has gone half the way from first to last."""


def fitting(pieces: Sequence[str], budget: int, count: Count) -> int:
    """How many of the pieces, the first ones, fit into `budget` tokens. By halving: counting is what takes time."""
    return bisect_right(range(1, len(pieces) + 1), budget, key=lambda n: count("".join(pieces[:n])))


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return lines


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A file, or consecutive lines of it, with LF line endings.

    Attributes:
        path: from the project's root.
        text: what is shown.
        why: why it is shown ("named", "defines `total_price`", …).
        tokens: of the text.
        whole: the whole file.
        first: number of the first line shown, 1-based.
    """

    path: str
    text: str
    why: str
    tokens: int
    whole: bool = True
    first: int = 1


def _share_of(shares: tuple[float, float], place: int) -> float:
    """The share of the file at `place` (0 is the best): from the first towards the last."""
    first, last = shares
    return last + (first - last) * math.pow(0.5, place / _HALVING)


def pack(
    ranked: Iterable[MapFile],
    read: Callable[[str], str | None],
    why: Callable[[str], str],
    stems: Mapping[str, float],
    budget: int,
    count: Count,
) -> list[ContextFile]:
    """Fill a budget with files, the best first, until nothing more fits.

    Args:
        ranked: the files, best first.
        read: the text of a path; None where it must not be shown.
        why: why a path is shown.
        stems: the task's stems with their weights; they choose what is shown of a file.
        budget: tokens.
    """
    shown: list[ContextFile] = []
    spent, place = 0, 0
    smallest = max(budget // _SMALLEST_SHARE, 60)
    for file in ranked:
        left = budget - spent
        if left < smallest:
            break
        text = read(file.path) if file.size <= MAX_FILE_BYTES else None
        if not text:
            continue
        whole = min(left, int(budget * _share_of(_WHOLE, place)))
        part = min(left, int(budget * _share_of(_PARTS, place)))
        pieces = fit(file, text, why(file.path), stems, max(whole, smallest), max(part, smallest), count)
        place += bool(pieces)
        shown += pieces
        spent += sum(piece.tokens + _DELIMITERS for piece in pieces)
    return shown


def fit(
    file: MapFile, text: str, why: str, stems: Mapping[str, float], whole: int, part: int, count: Count
) -> list[ContextFile]:
    """The file whole in at most `whole` tokens, else its best parts in at most `part`; none where not even one fits."""
    if len(text) <= whole * _MOST_CHARS_PER_TOKEN and (tokens := count(text)) <= whole:
        return [ContextFile(file.path, text, why, tokens)]
    return [
        ContextFile(file.path, shown, why, count(shown), whole=False, first=first)
        for first, shown in excerpt(file, text, stems, part, count)
    ]


def excerpt(
    file: MapFile, text: str, stems: Mapping[str, float], budget: int, count: Count
) -> list[tuple[int, str]]:
    """The stretches of a file that speak most of the task, in order, within `budget` tokens: first line (1-based) and text."""
    lines = lines_of(text)
    chosen: list[tuple[int, int]] = []
    spent = 0
    for first, last in _scored(_ranges(file, len(lines)), lines, stems):
        first, last = max(1, first - _LINES_AROUND), min(len(lines), last + _LINES_AROUND)
        cost = count("\n".join(lines[first - 1 : last]) + "\n") + _DELIMITERS
        if spent + cost > budget:
            continue
        chosen.append((first, last))
        spent += cost
        if budget - spent < 2 * _DELIMITERS or len(chosen) >= _MOST_PARTS:
            break
    return [(first, "\n".join(lines[first - 1 : last]) + "\n") for first, last in joined(chosen)]


def _ranges(file: MapFile, length: int) -> list[tuple[int, int]]:
    """Line ranges that cover the file: innermost definitions, and what is between them."""
    starts = {1}
    for definition in file.definitions:
        if definition.first <= length:
            starts.add(definition.first)
            starts.add(min(definition.last + 1, length + 1))
    ordered = [*sorted(start for start in starts if start <= length), length + 1]
    ranges: list[tuple[int, int]] = []
    for first, after in itertools.pairwise(ordered):
        # A decorator or a comment above belongs to what follows; very short ranges join the one before.
        if ranges and after - first <= 2 and ranges[-1][1] - ranges[-1][0] < _STRETCH:
            ranges[-1] = (ranges[-1][0], after - 1)
            continue
        ranges.extend((at, min(at + _STRETCH, after) - 1) for at in range(first, after, _STRETCH))
    return ranges


def _scored(
    ranges: Sequence[tuple[int, int]], lines: Sequence[str], stems: Mapping[str, float]
) -> list[tuple[int, int]]:
    """The ranges, those that hold most of the task's stems first; the file's head counts a little anyway."""
    held = [_stems_of(lines[first - 1 : last]) & stems.keys() for first, last in ranges]
    spread: dict[str, int] = {}
    for found in held:
        for stem in found:
            spread[stem] = spread.get(stem, 0) + 1
    scores = []
    for (first, last), found in zip(ranges, held, strict=True):
        told = sum(stems[stem] * math.log(1 + len(ranges) / spread[stem]) for stem in found)
        named = _stems_of(lines[first - 1 : first + 1]) & stems.keys()
        told += sum(0.7 * stems[stem] * math.log(1 + len(ranges) / spread[stem]) for stem in named)
        head = 0.8 if first == 1 else 0.0
        scores.append(told / (1 + (last - first + 1) / 120) + head)
    order = sorted(range(len(ranges)), key=lambda n: (-scores[n], n))
    return [ranges[n] for n in order]


def _stems_of(lines: Iterable[str]) -> set[str]:
    return {stem for line in lines for word in WORD.findall(line) for stem in parts(word)}


def joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of lines in order; those that touch become one."""
    apart: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if apart and first <= apart[-1][1] + 1:
            apart[-1] = (apart[-1][0], max(last, apart[-1][1]))
        else:
            apart.append((first, last))
    return apart


def outline(files: Sequence[MapFile], budget: int, count: Count) -> tuple[str, int]:
    """As many of the files, the first ones first, as fit into `budget` tokens.

    Returns:
        The text and its tokens; ("", 0) where not one file fits.
    """
    blocks = [_block(file) for file in files if file.definitions and not file.withheld]
    text = "".join(blocks[: fitting(blocks, budget, count)]) if budget > 0 else ""
    return text, count(text) if text else 0


def _block(file: MapFile) -> str:
    """One file and its first definitions."""
    shown = file.definitions[:_MOST_OUTLINED]
    lines = [f"{definition.first:>5} {definition.signature}" for definition in shown]
    if len(shown) < len(file.definitions):
        lines.append(f"      … {len(file.definitions) - len(shown)} more")
    return "\n".join([f"{file.path}:", *lines, ""])
