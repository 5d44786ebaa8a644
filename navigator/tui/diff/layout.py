"""What the diff view shows: annotations and where they stand, the flat list of rows, and how these stack."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import accumulate, repeat, zip_longest
from math import inf
from typing import Literal, NamedTuple

from rich.cells import cell_len

from navigator.model.diff import DiffLine, FileDiff
from navigator.model.models import Finding
from navigator.model.states import FindingKind, Severity
from navigator.tui.widgets.cells import Piece, clip, cropped, display, length
from navigator.tui.widgets.markdown import wrap_words

Side = Literal["new", "old"]
Mode = Literal["unified", "split"]


@dataclass(frozen=True, slots=True)
class FindingNote:
    """A finding as it is shown.

    `key` is unique in the view and comes back in its messages; `by` is a short name of who said it ("122B");
    `remarks` are lines to add under it, such as what an earlier round said.
    """

    key: str
    finding: Finding
    by: str = ""
    round: int | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LineComment:
    """The user's word on one line. `line` is 1-based on `side`; None means the whole file."""

    key: str
    path: str
    line: int | None
    text: str
    side: Side = "new"
    state: Literal["draft", "sent"] = "draft"


Annotation = FindingNote | LineComment


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place in the diff: the line `line` (1-based) of `side` of `path`, in the hunk labelled `hunk`.

    `line` is None on a header; `path` is empty above the first file.
    """

    path: str = ""
    side: Side = "new"
    line: int | None = None
    hunk: str = ""


class LineRef(NamedTuple):
    """One diff line by its place: file, hunk within the file, line within the hunk, all from 0; -1 where there is none."""

    file: int = -1
    hunk: int = -1
    line: int = -1


@dataclass(slots=True)
class Placement:
    """Which annotations stand where, by index into the list that was placed: under a line, else a hunk, a file, or on top.

    `elsewhere` holds those that do not stand under the very line they are about.
    """

    at: dict[LineRef, list[int]] = field(default_factory=dict)
    elsewhere: set[int] = field(default_factory=set)


def find_file(files: Sequence[FileDiff], path: str) -> int | None:
    """The index of the file that is or was called `path`; the new name wins."""
    for index, file in enumerate(files):
        if file.path == path:
            return index
    for index, file in enumerate(files):
        if file.old_path == path:
            return index
    return None


def number_on(line: DiffLine, side: Side) -> int | None:
    """The number of `line` on `side`, None if it is not there."""
    return line.new if side == "new" else line.old


def find_line(files: Sequence[FileDiff], path: str, side: Side, number: int) -> LineRef | None:
    """The diff line with `number` on `side` of `path`, None when the diff does not show it."""
    file_index = find_file(files, path)
    if file_index is None:
        return None
    for hunk_index, hunk in enumerate(files[file_index].hunks):
        span = (hunk.new_start, hunk.new_count) if side == "new" else (hunk.old_start, hunk.old_count)
        if not span[0] <= number < sum(span):
            continue
        for line_index, line in enumerate(hunk.lines):
            if number_on(line, side) == number:
                return LineRef(file_index, hunk_index, line_index)
    return None


def place(files: Sequence[FileDiff], annotations: Iterable[Annotation]) -> Placement:
    """Put each annotation as near as can be to what it is about: its line, its hunk, its file, or the top."""
    placement = Placement()
    labels = {hunk.label: LineRef(f, h) for f, file in enumerate(files) for h, hunk in enumerate(file.hunks)}
    for index, annotation in sorted(enumerate(annotations), key=lambda item: _severity_rank(item[1])):
        ref = _place_of(files, labels, annotation)
        placement.at.setdefault(ref, []).append(index)
        if ref.line < 0:
            placement.elsewhere.add(index)
    return placement


def _severity_rank(annotation: Annotation) -> int:
    if isinstance(annotation, LineComment):
        return len(Severity)
    return list(Severity).index(annotation.finding.severity)


def _place_of(files: Sequence[FileDiff], labels: dict[str, LineRef], annotation: Annotation) -> LineRef:
    hunk: LineRef | None = None
    if isinstance(annotation, LineComment):
        path, side, line = annotation.path, annotation.side, annotation.line
    else:
        finding = annotation.finding
        if not finding.anchored:
            return LineRef()
        path, hunk = finding.path, labels.get(finding.hunk)
        # A quote of the task has no line; a quote of the context is one of the new file.
        side, line = ("old" if finding.side == "old" else "new"), finding.line
        line = None if finding.side == "task" else line
    found = find_line(files, path, side, line) if line is not None else None
    file = find_file(files, path)
    return found or hunk or (LineRef() if file is None else LineRef(file))


# The flat list of rows that a diff becomes, and how they stack.


class RowKind(IntEnum):
    """What a row shows."""

    LINE = 0
    PAIR = 1
    FILE = 2
    HUNK = 3
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


def pairs(lines: Sequence[DiffLine]) -> list[tuple[int, int]]:
    """Lines side by side: context with itself, and in each change the removed with the added, in order; -1 for no line."""
    made: list[tuple[int, int]] = []
    removed: list[int] = []
    added: list[int] = []
    for index, line in enumerate(lines):
        if line.kind == "+":
            added.append(index)
            continue
        if added or (removed and line.kind == " "):
            # An addition before a removal, which git never writes, is a change of its own: order within a side is kept.
            made += zip_longest(removed, added, fillvalue=-1)
            removed, added = [], []
        if line.kind == "-":
            removed.append(index)
        else:
            made.append((index, index))
    return [*made, *zip_longest(removed, added, fillvalue=-1)]


def partners(lines: Sequence[DiffLine]) -> dict[int, int]:
    """Each line of a hunk that another one replaces or is replaced by, as they stand side by side: both ways."""
    changed = [(a, b) for a, b in pairs(lines) if a != b and min(a, b) >= 0]
    return dict(changed) | {b: a for a, b in changed}


def build_rows(files: Sequence[FileDiff], placement: Placement, mode: Mode) -> Iterator[list[DiffRow]]:
    """Every row of the view, in order, in parts that end with a hunk."""

    def boxes(ref: LineRef) -> Iterator[DiffRow]:
        return (DiffRow(RowKind.BOX, *ref[:2], index) for index in placement.at.get(ref, ()))

    rows = [*boxes(LineRef())]
    noted = {ref[:2] for ref in placement.at if ref.line >= 0}
    for f, file in enumerate(files):
        rows += [DiffRow(RowKind.FILE, f), *boxes(LineRef(f))]
        if not file.hunks:
            rows.append(DiffRow(RowKind.TEXT, f))
        for h, hunk in enumerate(file.hunks):
            rows += [DiffRow(RowKind.HUNK, f, h), *boxes(LineRef(f, h))]
            if mode == "split":
                kind = RowKind.PAIR
                made = [DiffRow(kind, f, h, left, right) for left, right in pairs(hunk.lines)]
            else:
                made = list(map(DiffRow, repeat(RowKind.LINE), repeat(f), repeat(h), range(len(hunk.lines))))
            if (f, h) not in noted:
                rows += made
                made = []
            for row in made:
                rows.append(row)
                for line in dict.fromkeys((row.a, row.b)):
                    rows += boxes(LineRef(f, h, line)) if line >= 0 else ()
            yield rows
            rows = []
    yield rows


class Layout:
    """Rows with their heights: screen line ↔ row, and the places that navigation jumps to. `grow` takes in more of them.

    Args:
        parts: the rows, as `build_rows` gives them.
        heights: how many screen lines each row of a part takes.
    """

    def __init__(
        self, parts: Iterable[list[DiffRow]], heights: Callable[[Sequence[DiffRow]], Iterable[int]]
    ) -> None:
        self.rows: list[DiffRow] = []
        self.whole = False
        self._parts, self._heights = iter(parts), heights
        self._places: dict[RowKind, list[int]] = {kind: [] for kind in RowKind}
        kinds = (RowKind.FILE, RowKind.HUNK, RowKind.BOX)
        self.file_rows, self.hunk_rows, self.box_rows = (self._places[kind] for kind in kinds)
        self._tops = [0]

    @property
    def total(self) -> int:
        """Screen lines of all rows."""
        return self._tops[-1]

    def grow(self, by: float = inf) -> None:
        """Stack at least so many rows more, or all there are."""
        wanted = len(self.rows) + by
        for part in self._parts:
            for index, row in enumerate(part, len(self.rows)):
                if row[0] > RowKind.PAIR:  # few, where lines are many
                    self._places[row.kind].append(index)
            self.rows += part
            self._tops += accumulate(self._heights(part), initial=self._tops.pop())
            if len(self.rows) >= wanted:
                return
        self.whole = True

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


def row_of_line(layout: Layout, ref: LineRef) -> int | None:
    """The row that shows a diff line."""
    at = bisect_left(layout.hunk_rows, ref[:2], key=lambda index: layout.rows[index][1:3])
    if at == len(layout.hunk_rows):
        return None
    for index in range(layout.hunk_rows[at] + 1, len(layout.rows)):
        row = layout.rows[index]
        if row[1:3] != ref[:2]:
            return None
        if row.kind in (RowKind.LINE, RowKind.PAIR) and ref.line in (row.a, row.b):
            return index
    return None


# Findings and comments as rows of prose: a bar, what kind of remark, the words, who said it.


MAX_WIDTH = 96
"""Cells of a box at most: longer lines of prose are hard to read."""

SEVERITY_GLYPHS = {Severity.BLOCKER: "◆", Severity.MAJOR: "●", Severity.MINOR: "○", Severity.NIT: "·"}
"""Shape carries the weight where colour is missing; the word always follows."""


BoxLine = Sequence[Piece]
"""Words, each with the name of the style that the painter gives them."""


def box_lines(annotation: Annotation, width: int, *, collapsed: bool, elsewhere: bool) -> list[BoxLine]:
    """The lines of one box, each at most `width` cells. `elsewhere`: it does not stand under the line it is about."""
    width = max(8, min(width, MAX_WIDTH))
    if isinstance(annotation, LineComment):
        return _comment(annotation, width, collapsed=collapsed, elsewhere=elsewhere)
    return _finding(annotation, width, collapsed=collapsed, elsewhere=elsewhere)


def _finding(note: FindingNote, width: int, *, collapsed: bool, elsewhere: bool) -> list[BoxLine]:
    finding = note.finding
    severity = f"severity-{finding.severity.value}"
    label = f"{SEVERITY_GLYPHS[finding.severity]} {finding.severity.value}"
    if collapsed:
        first = display(" ".join(finding.message.split()))
        room = width - cell_len(label) - 4
        return [
            (
                ("▸ ", "muted"),
                (label, severity),
                ("  ", "body"),
                (clip(first, room), "muted"),
            )
        ]
    about = f" · {finding.criterion.value}" + (" · missing" if finding.kind is FindingKind.MISSING else "")
    if not finding.anchored:
        about += f" · {finding.unanchored}"
    lines = [_headline(((label, severity), (about, "muted")), _who(note), width)]
    if elsewhere and (place := _place_words(finding)):
        lines.append(((clip(place, width), "muted"),))
    lines += _prose(finding.message, "body", width)
    if finding.quote and (elsewhere or finding.kind is FindingKind.MISSING):
        label = "asked for" if finding.side == "task" else "quotes"
        lines += _prose(f"{label}: {finding.quote}", "quote", width)
    if finding.trigger:
        lines += _prose(f"happens when: {finding.trigger}", "body", width)
    for remark in note.remarks:
        lines += _prose(remark, "muted", width)
    return lines


def _comment(comment: LineComment, width: int, *, collapsed: bool, elsewhere: bool) -> list[BoxLine]:
    author: Piece = ("you: ", "author")
    if collapsed:
        first = display(" ".join(comment.text.split()))
        return [(("▸ ", "muted"), author, (clip(first, width - 7), "muted"))]
    lines: list[BoxLine] = []
    if elsewhere and comment.line is not None:
        lines.append(((clip(display(f"{comment.path}:{comment.line}"), width), "muted"),))
    words = wrap_words(comment.text, max(8, width - 5 - len(comment.state) - 2))
    lines.append(_headline((author, (words[0], "body")), comment.state, width))
    return [*lines, *((("     ", "body"), (word, "body")) for word in words[1:])]


def _headline(left: tuple[Piece, ...], right: str, width: int) -> BoxLine:
    """`left`, and `right` at the far end where there is room for both; `left` is cut before it is lost."""
    used = length(left)
    if not right:
        return cropped(left, width)
    gap = width - used - cell_len(right)
    if gap >= 2:
        return (*left, (" " * gap, "body"), (right, "muted"))
    return cropped((*left, (f" · {right}", "muted")), width)


def _who(note: FindingNote) -> str:
    parts = [display(note.by)] if note.by else []
    if note.round is not None:
        parts.append(f"round {note.round}")
    return ", ".join(parts)


def _place_words(finding: Finding) -> str:
    """Where a finding belongs that could not be put there."""
    if finding.side == "task":
        return f"about the task, {finding.hunk}" if finding.hunk else "about the task"
    where = display(finding.path)
    if finding.line is not None:
        where += f":{finding.line}"
    return " · ".join(part for part in (where, display(finding.hunk)) if part)


def _prose(text: str, style: str, width: int) -> list[BoxLine]:
    return [((row, style),) for row in wrap_words(text, width)]
