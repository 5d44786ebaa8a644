"""The flat list of rows that a diff becomes, and how they stack.

A row is what the cursor can be on; it may take several screen lines (a finding, a wrapped line). Rows are not kept one
by one but as runs: consecutive lines of a hunk are one run, told by its first line and its length. So the cost of opening
a diff goes with the number of its changes, not of its lines; a change of width only measures again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import accumulate, groupby
from operator import attrgetter
from typing import NamedTuple, overload

from navigator.model.diff import DiffLine, FileDiff, Hunk
from navigator.tui.diff.cells import rows_needed
from navigator.tui.diff.model import Mode, Placement

_KIND = attrgetter("kind")


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


class RowRun(NamedTuple):
    """`size` rows of one kind, one after the other: in each next row, `a` and `b` are one more where they are not -1."""

    kind: RowKind
    file: int
    hunk: int = -1
    a: int = -1
    b: int = -1
    size: int = 1

    def row(self, place: int) -> DiffRow:
        """Row number `place` of the run."""
        a = self.a + place if self.a >= 0 else -1
        b = self.b + place if self.b >= 0 else -1
        return DiffRow(self.kind, self.file, self.hunk, a, b)

    def part(self, first: int, last: int) -> RowRun:
        """Rows `first` up to `last` as a run."""
        return RowRun(*self.row(first), last - first)


class Rows(Sequence[DiffRow]):
    """Runs as the flat list they represent."""

    def __init__(self, runs: Sequence[RowRun]) -> None:
        self.runs = runs
        self.firsts = list(accumulate((run.size for run in runs), initial=0))
        self._length = self.firsts.pop()

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> DiffRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[DiffRow]: ...
    def __getitem__(self, index: int | slice) -> DiffRow | list[DiffRow]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        index %= self._length
        at = self.run_of(index)
        return self.runs[at].row(index - self.firsts[at])

    def __iter__(self) -> Iterator[DiffRow]:
        return (run.row(place) for run in self.runs for place in range(run.size))

    def run_of(self, index: int) -> int:
        """Which run row `index` is in."""
        return bisect_right(self.firsts, index) - 1


def pair_runs(f: int, h: int, lines: Sequence[DiffLine]) -> list[RowRun]:
    """Lines side by side: context with itself, and in each change the removed with the added, in order."""
    runs: list[RowRun] = []
    add, pair = runs.append, RowKind.PAIR
    # As `RowRun(…)`, at a third of its price: a long diff has a run or three for every change.
    new = tuple.__new__
    at = removed = 0

    def change(start: int, added: int) -> None:
        middle, both = start + removed, min(removed, added)
        alone = ((start + both, -1, removed - both), (-1, middle + both, added - both))
        for a, b, size in ((start, middle, both), *alone):
            if size:
                add(new(RowRun, (pair, f, h, a, b, size)))

    for kind, same in groupby(lines, _KIND):
        count = len(list(same))
        if removed or kind == "+":
            # An addition before a removal, which git never writes, is a change of its own: order within a side is kept.
            change(at - removed, count if kind == "+" else 0)
            removed = 0
        if kind == "-":
            removed = count
        elif kind == " ":
            add(new(RowRun, (pair, f, h, at, at, count)))
        at += count
    if removed:
        change(at - removed, 0)
    return runs


def hidden_above(file: FileDiff, hunk: int) -> int:
    """How many unchanged lines lie between this hunk and the one above it, or the start of the file."""
    this = file.hunks[hunk]
    end = 1
    if hunk:
        above = file.hunks[hunk - 1]
        end = _first_line(above.new_start, above.new_count) + above.new_count
    return max(0, _first_line(this.new_start, this.new_count) - end)


def _first_line(start: int, count: int) -> int:
    """The first line of a span as git writes it; an empty span's start names the line before it."""
    return start if count else start + 1


def build_rows(files: Sequence[FileDiff], placement: Placement, mode: Mode) -> Rows:
    """Every row of the view, in order."""
    runs = [RowRun(RowKind.BOX, -1, -1, index) for index in placement.top]
    notes: dict[tuple[int, int], dict[int, list[int]]] = {}
    for ref, boxes in placement.lines.items():
        notes.setdefault((ref.file, ref.hunk), {})[ref.line] = boxes
    for f, file in enumerate(files):
        runs.append(RowRun(RowKind.FILE, f))
        runs.extend(RowRun(RowKind.BOX, f, -1, index) for index in placement.files.get(f, ()))
        if not file.hunks:
            runs.append(RowRun(RowKind.TEXT, f))
            continue
        for h, hunk in enumerate(file.hunks):
            runs.append(RowRun(RowKind.HUNK, f, h))
            runs.extend(RowRun(RowKind.BOX, f, h, index) for index in placement.hunks.get((f, h), ()))
            lines = _hunk_runs(f, h, hunk, mode)
            here = notes.get((f, h))
            runs.extend(lines if here is None else _with_boxes(lines, here))
    return Rows(runs)


def _hunk_runs(f: int, h: int, hunk: Hunk, mode: Mode) -> list[RowRun]:
    if mode == "split":
        return pair_runs(f, h, hunk.lines)
    return [RowRun(RowKind.LINE, f, h, 0, -1, len(hunk.lines))] if hunk.lines else []


def _with_boxes(lines: Sequence[RowRun], notes: Mapping[int, Sequence[int]]) -> list[RowRun]:
    """Runs cut after every line that has notes, with the boxes put in."""
    runs: list[RowRun] = []
    for run in lines:
        starts = [start for start in dict.fromkeys((run.a, run.b)) if start >= 0]
        noted = sorted({line - start for start in starts for line in notes if 0 <= line - start < run.size})
        done = 0
        for place in noted:
            runs.append(run.part(done, place + 1))
            done = place + 1
            for start in starts:
                boxes = notes.get(start + place, ())
                runs.extend(RowRun(RowKind.BOX, run.file, run.hunk, box) for box in boxes)
        if done < run.size:
            runs.append(run.part(done, run.size))
    return runs


class Layout:
    """Rows with their heights: screen line ↔ row, and the places that navigation jumps to."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.total = 0
        self.file_rows: list[int] = []
        self.hunk_rows: list[int] = []
        self.box_rows: list[int] = []
        jumps = {RowKind.FILE: self.file_rows, RowKind.HUNK: self.hunk_rows, RowKind.BOX: self.box_rows}
        for first, run in zip(rows.firsts, rows.runs, strict=True):
            if (jump := jumps.get(run.kind)) is not None:
                jump.append(first)
        # Where runs start on the screen; and rows, once lines wrap and a run no longer says where its rows are.
        self._run_tops: list[int] = []
        self._row_tops: list[int] | None = None

    def measure(
        self,
        files: Sequence[FileDiff],
        widths: tuple[int, int] | None,
        box_height: Callable[[DiffRow], int],
    ) -> None:
        """Stack the rows. `widths` are the cells for text on the left and right (equal when unified), None: no wrap."""
        if widths is None:
            heights = [run.size for run in self.rows.runs]
            place_of: Callable[[int], int] = self.rows.run_of
        else:
            heights = self._wrapped(files, widths)
            place_of = int
        opening = self.rows[0].kind if self.rows else None
        for index in self.file_rows[1:] if opening == RowKind.FILE else self.file_rows:
            heights[place_of(index)] = 2
        for index in self.box_rows:
            heights[place_of(index)] = box_height(self.rows[index])
        tops = list(accumulate(heights, initial=0))
        self.total = tops.pop()
        if widths is None:
            self._run_tops, self._row_tops = tops, None
        else:
            self._run_tops, self._row_tops = [], tops

    def _wrapped(self, files: Sequence[FileDiff], widths: tuple[int, int]) -> list[int]:
        left, right = widths
        heights: list[int] = []
        for run in self.rows.runs:
            if run.kind not in (RowKind.LINE, RowKind.PAIR):
                heights.append(1)
                continue
            lines = files[run.file].hunks[run.hunk].lines
            # A unified line is measured as the right half of a row, whose width is all there is.
            sides = [(run.a, right)] if run.kind == RowKind.LINE else [(run.a, left), (run.b, right)]
            columns = [
                [rows_needed(line.text, width) for line in lines[start : start + run.size]]
                for start, width in sides
                if start >= 0
            ]
            heights.extend(columns[0] if len(columns) == 1 else map(max, *columns))
        return heights

    def at(self, y: int) -> tuple[int, int]:
        """The row on screen line `y` (from 0 at the top of the content), and which of its lines that is."""
        if self._row_tops is not None:
            index = bisect_right(self._row_tops, y) - 1
            return index, y - self._row_tops[index]
        run = bisect_right(self._run_tops, y) - 1
        down = y - self._run_tops[run]
        first = self.rows.firsts[run]
        return (first, down) if self.rows.runs[run].size == 1 else (first + down, 0)

    def top(self, index: int) -> int:
        """The screen line that row `index` starts on; the end of all for an index past the last."""
        if index >= len(self.rows):
            return self.total
        if self._row_tops is not None:
            return self._row_tops[index]
        run = self.rows.run_of(index)
        return self._run_tops[run] + index - self.rows.firsts[run]

    def height(self, index: int) -> int:
        """How many screen lines a row takes."""
        return self.top(index + 1) - self.top(index)
