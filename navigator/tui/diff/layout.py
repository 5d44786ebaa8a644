"""The flat list of rows that a diff becomes, and how they stack.

A row is what the cursor can be on; it may take several screen lines (a finding, a wrapped line).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from itertools import accumulate, zip_longest
from typing import NamedTuple

from navigator.model.diff import DiffLine, FileDiff
from navigator.tui.diff.cells import rows_needed
from navigator.tui.diff.model import Mode, Placement


class RowKind(IntEnum):
    """What a row shows."""

    FILE = 0
    HUNK = 1
    LINE = 2
    PAIR = 3
    BOX = 4
    TEXT = 5


class DiffRow(NamedTuple):
    """One row. `file` and `hunk` are indices, -1 where there is none.

    `a` and `b` depend on the kind. LINE: a is the line in the hunk. PAIR: a is the line on the left, b on the right, -1
    where that half is empty. BOX: a is the annotation.
    """

    kind: RowKind
    file: int
    hunk: int = -1
    a: int = -1
    b: int = -1


def pair_rows(f: int, h: int, lines: Sequence[DiffLine]) -> Iterator[DiffRow]:
    """Lines side by side: context with itself, and in each change the removed with the added, in order."""
    removed: list[int] = []
    added: list[int] = []

    def change() -> Iterator[DiffRow]:
        for a, b in zip_longest(removed, added, fillvalue=-1):
            yield DiffRow(RowKind.PAIR, f, h, a, b)
        removed.clear()
        added.clear()

    for index, line in enumerate(lines):
        if line.kind == "+":
            added.append(index)
            continue
        if line.kind == " " or added:
            # An addition before a removal, which git never writes, is a change of its own: order within a side is kept.
            yield from change()
        if line.kind == "-":
            removed.append(index)
        else:
            yield DiffRow(RowKind.PAIR, f, h, index, index)
    yield from change()


def partners(lines: Sequence[DiffLine]) -> dict[int, int]:
    """Each line of a hunk that another one replaces or is replaced by, as they stand side by side: both ways."""
    pairs = [(row.a, row.b) for row in pair_rows(0, 0, lines) if row.a != row.b and min(row.a, row.b) >= 0]
    return dict(pairs) | {b: a for a, b in pairs}


def hidden_above(file: FileDiff, hunk: int) -> int:
    """How many unchanged lines lie between this hunk and the one above it, or the start of the file."""
    this = file.hunks[hunk]
    end = 1
    if hunk:
        above = file.hunks[hunk - 1]
        end = _span_start(above.new_start, above.new_count) + above.new_count
    return max(0, _span_start(this.new_start, this.new_count) - end)


def _span_start(start: int, count: int) -> int:
    """The first line of a span as git writes it; an empty span's start names the line before it."""
    return start if count else start + 1


def build_rows(files: Sequence[FileDiff], placement: Placement, mode: Mode) -> list[DiffRow]:
    """Every row of the view, in order."""
    rows = [DiffRow(RowKind.BOX, -1, -1, index) for index in placement.top]
    notes: dict[tuple[int, int], dict[int, list[int]]] = {}
    for ref, boxes in placement.lines.items():
        notes.setdefault((ref.file, ref.hunk), {})[ref.line] = boxes
    for f, file in enumerate(files):
        rows.append(DiffRow(RowKind.FILE, f))
        rows += [DiffRow(RowKind.BOX, f, -1, index) for index in placement.files.get(f, ())]
        if not file.hunks:
            rows.append(DiffRow(RowKind.TEXT, f))
        for h, hunk in enumerate(file.hunks):
            rows.append(DiffRow(RowKind.HUNK, f, h))
            rows += [DiffRow(RowKind.BOX, f, h, index) for index in placement.hunks.get((f, h), ())]
            here = notes.get((f, h), {})
            lines: Iterator[DiffRow] = (DiffRow(RowKind.LINE, f, h, a) for a in range(len(hunk.lines)))
            for row in pair_rows(f, h, hunk.lines) if mode == "split" else lines:
                rows.append(row)
                for line in dict.fromkeys((row.a, row.b)) if here else ():
                    rows += [DiffRow(RowKind.BOX, f, h, index) for index in here.get(line, ())]
    return rows


class Layout:
    """Rows with their heights: screen line ↔ row, and the places that navigation jumps to."""

    def __init__(self, rows: Sequence[DiffRow]) -> None:
        self.rows = rows
        self.file_rows = [index for index, row in enumerate(rows) if row.kind == RowKind.FILE]
        self.hunk_rows = [index for index, row in enumerate(rows) if row.kind == RowKind.HUNK]
        self.box_rows = [index for index, row in enumerate(rows) if row.kind == RowKind.BOX]
        self._tops = [0]

    @property
    def total(self) -> int:
        """Screen lines of all rows."""
        return self._tops[-1]

    def measure(
        self,
        files: Sequence[FileDiff],
        widths: tuple[int, int] | None,
        box_height: Callable[[DiffRow], int],
    ) -> None:
        """Stack the rows. `widths` are the cells for text on the left and right (equal when unified), None: no wrap."""
        heights = [1] * len(self.rows) if widths is None else _wrapped(self.rows, files, widths)
        for index in self.file_rows:
            heights[index] = 2 if index else 1
        for index in self.box_rows:
            heights[index] = box_height(self.rows[index])
        self._tops = list(accumulate(heights, initial=0))

    def at(self, y: int) -> tuple[int, int]:
        """The row on screen line `y` (from 0 at the top of the content), and which of its lines that is."""
        index = bisect_right(self._tops, y) - 1
        return index, y - self._tops[index]

    def top(self, index: int) -> int:
        """The screen line that row `index` starts on; the end of all for an index past the last."""
        return self._tops[min(index, len(self.rows))]

    def height(self, index: int) -> int:
        """How many screen lines a row takes."""
        return self.top(index + 1) - self.top(index)


def _wrapped(rows: Sequence[DiffRow], files: Sequence[FileDiff], widths: tuple[int, int]) -> list[int]:
    """Heights of the rows whose lines wrap; a unified line is measured as the right half, whose width is all there is."""
    heights = []
    for row in rows:
        sides = [(row.a, widths[0]), (row.b, widths[1])] if row.kind == RowKind.PAIR else []
        sides += [(row.a, widths[1])] if row.kind == RowKind.LINE else []
        lines = files[row.file].hunks[row.hunk].lines if sides else ()
        heights.append(max((rows_needed(lines[a].text, width) for a, width in sides if a >= 0), default=1))
    return heights
