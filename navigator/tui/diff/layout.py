"""The flat list of rows that a diff becomes, and how they stack.

A row is what the cursor can stand on; it may take several screen lines (a finding, a wrapped line). Building is one
pass over the diff; a change of width only measures the rows again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from enum import IntEnum
from itertools import accumulate
from typing import NamedTuple

from navigator.domain.diff import DiffLine, FileDiff, Hunk
from navigator.tui.diff.cells import rows_needed
from navigator.tui.diff.model import Mode, Placement

CONTEXT = 3
"""Context lines git puts around a change: fewer after the last change means that the file ends there."""


class Kind(IntEnum):
    """What a row shows."""

    FILE = 0
    HUNK = 1
    LINE = 2
    PAIR = 3
    BOX = 4
    GAP = 5
    TEXT = 6


class Row(NamedTuple):
    """One row. `file` and `hunk` are indices, -1 where there is none.

    `a` and `b` depend on the kind. LINE: a is the line in the hunk. PAIR: a is the line on the left, b on the right, -1
    where that half is empty. BOX: a is the annotation. GAP: the lines after the last hunk, not shown.
    """

    kind: Kind
    file: int
    hunk: int = -1
    a: int = -1
    b: int = -1


def pair_lines(lines: Sequence[DiffLine]) -> list[tuple[int, int]]:
    """Lines side by side: context with itself, and in each change the removed with the added, in order; -1 for none."""
    pairs: list[tuple[int, int]] = []
    removed: list[int] = []
    added: list[int] = []

    def flush() -> None:
        if not removed and not added:
            return
        both = min(len(removed), len(added))
        pairs.extend(zip(removed, added, strict=False))
        pairs.extend((left, -1) for left in removed[both:])
        pairs.extend((-1, right) for right in added[both:])
        removed.clear()
        added.clear()

    for index, line in enumerate(lines):
        match line.kind:
            case " ":
                flush()
                pairs.append((index, index))
            case "-":
                # A removal after an addition opens another change: pairing across it would swap their order.
                if added:
                    flush()
                removed.append(index)
            case "+":
                added.append(index)
    flush()
    return pairs


def hidden_above(file: FileDiff, hunk: int) -> int:
    """How many unchanged lines lie between this hunk and the one above it, or the start of the file."""
    this = file.hunks[hunk]
    if hunk == 0:
        return max(0, first_line(this.new_start, this.new_count) - 1)
    above = file.hunks[hunk - 1]
    return max(
        0,
        first_line(this.new_start, this.new_count)
        - first_line(above.new_start, above.new_count)
        - above.new_count,
    )


def first_line(start: int, count: int) -> int:
    """The first line of a span as git writes it; an empty span's start names the line before it."""
    return start if count else start + 1


def may_continue(file: FileDiff) -> bool:
    """Whether unchanged lines may follow the last hunk: git showed all the context it was asked for."""
    if not file.hunks or file.status in "AD":
        return False
    lines = file.hunks[-1].lines
    tail = lines[-CONTEXT:]
    return len(tail) == CONTEXT and all(line.kind == " " for line in tail) and not lines[-1].no_newline


def build_rows(
    files: Sequence[FileDiff],
    placement: Placement,
    mode: Mode,
    folded: Collection[int] = (),
    ended: Collection[int] = (),
) -> list[Row]:
    """Every row of the view, in order.

    `folded` are the files shown as their header alone; `ended` those known to have no lines after their last hunk.
    """
    rows = [Row(Kind.BOX, -1, -1, index) for index in placement.top]
    notes: dict[tuple[int, int], dict[int, list[int]]] = {}
    for ref, boxes in placement.lines.items():
        notes.setdefault((ref.file, ref.hunk), {})[ref.line] = boxes
    for f, file in enumerate(files):
        rows.append(Row(Kind.FILE, f))
        rows.extend(Row(Kind.BOX, f, -1, index) for index in placement.files.get(f, ()))
        if f in folded:
            continue
        if not file.hunks:
            rows.append(Row(Kind.TEXT, f))
            continue
        for h, hunk in enumerate(file.hunks):
            rows.append(Row(Kind.HUNK, f, h))
            rows.extend(Row(Kind.BOX, f, h, index) for index in placement.hunks.get((f, h), ()))
            rows.extend(_hunk_rows(f, h, hunk, mode, notes.get((f, h), {})))
        if f not in ended and may_continue(file):
            rows.append(Row(Kind.GAP, f, len(file.hunks) - 1))
    return rows


def _hunk_rows(f: int, h: int, hunk: Hunk, mode: Mode, notes: dict[int, list[int]]) -> list[Row]:
    if mode == "unified":
        plain = [Row(Kind.LINE, f, h, index) for index in range(len(hunk.lines))]
    else:
        plain = [Row(Kind.PAIR, f, h, left, right) for left, right in pair_lines(hunk.lines)]
    if not notes:
        return plain
    rows: list[Row] = []
    for row in plain:
        rows.append(row)
        for index in dict.fromkeys((row.a, row.b)):
            rows.extend(Row(Kind.BOX, f, h, note) for note in notes.get(index, ()))
    return rows


class Layout:
    """Rows with their heights: screen line ↔ row, and the places that navigation jumps to."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.starts: list[int] = []
        self.total = 0
        self.file_rows = [index for index, row in enumerate(rows) if row.kind == Kind.FILE]
        self.hunk_rows = [index for index, row in enumerate(rows) if row.kind == Kind.HUNK]
        self.box_rows = [index for index, row in enumerate(rows) if row.kind == Kind.BOX]

    def measure(
        self,
        files: Sequence[FileDiff],
        widths: tuple[int, int] | None,
        box_height: Callable[[Row], int],
    ) -> None:
        """Stack the rows. `widths` are the cells for text on the left and right (equal when unified), None: no wrap."""
        rows = self.rows
        heights = [1] * len(rows) if widths is None else self._wrapped(files, widths)
        for index in self.file_rows[1:] if rows and rows[0].kind == Kind.FILE else self.file_rows:
            heights[index] = 2
        for index in self.box_rows:
            heights[index] = box_height(rows[index])
        self.starts = list(accumulate(heights, initial=0))
        self.total = self.starts.pop()

    def _wrapped(self, files: Sequence[FileDiff], widths: tuple[int, int]) -> list[int]:
        left, right = widths
        heights: list[int] = []
        for kind, f, h, a, b in self.rows:
            if kind == Kind.LINE:
                heights.append(rows_needed(files[f].hunks[h].lines[a].text, right))
            elif kind == Kind.PAIR:
                lines = files[f].hunks[h].lines
                tall = rows_needed(lines[a].text, left) if a >= 0 else 1
                heights.append(max(tall, rows_needed(lines[b].text, right) if b >= 0 else 1))
            else:
                heights.append(1)
        return heights

    def at(self, y: int) -> tuple[int, int]:
        """The row on screen line `y` (from 0 at the top of the content), and which of its lines that is."""
        index = bisect_right(self.starts, y) - 1
        return index, y - self.starts[index]

    def height(self, index: int) -> int:
        """How many screen lines a row takes."""
        following = self.starts[index + 1] if index + 1 < len(self.starts) else self.total
        return following - self.starts[index]
