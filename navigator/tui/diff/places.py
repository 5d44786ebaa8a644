"""From rows to places in the diff and back: what the cursor is on, and where that moved when the rows changed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from navigator.model.diff import FileDiff
from navigator.tui.diff.layout import Kind, Layout
from navigator.tui.diff.model import Anchor, Annotation, LineRef, Side, find_file, find_line


class Mark(NamedTuple):
    """A place that survives a change of rows: what kind of row, the anchor, and the annotation's key in a box."""

    kind: Kind
    anchor: Anchor
    key: str = ""


def anchor_of(files: Sequence[FileDiff], layout: Layout, index: int, side: Side) -> Anchor:
    """The place of row `index`. `side` is the side wanted where a pair has both; boxes belong to the line above them."""
    rows = layout.rows
    if not 0 <= index < len(rows):
        return Anchor()
    while index and rows[index].kind == Kind.BOX:
        index -= 1
    row = rows[index]
    if row.file < 0:
        return Anchor()
    file = files[row.file]
    if row.hunk < 0:
        return Anchor(file.path)
    hunk = file.hunks[row.hunk]
    if row.kind not in (Kind.LINE, Kind.PAIR):
        return Anchor(file.path, "new", None, hunk.label)
    if row.kind == Kind.LINE:
        line = hunk.lines[row.a]
        where: Side = "old" if line.kind == "-" else "new"
    else:
        where = side
        if row.a < 0 or row.b < 0:
            where = "new" if row.a < 0 else "old"
        line = hunk.lines[row.a if where == "old" else row.b]
    return Anchor(file.path, where, line.old if where == "old" else line.new, hunk.label)


def mark_of(
    files: Sequence[FileDiff], layout: Layout, annotations: Sequence[Annotation], index: int, side: Side
) -> Mark | None:
    """A mark for row `index`; None when there are no rows."""
    if not 0 <= index < len(layout.rows):
        return None
    row = layout.rows[index]
    key = annotations[row.a].key if row.kind == Kind.BOX else ""
    return Mark(row.kind, anchor_of(files, layout, index, side), key)


def row_of_mark(
    files: Sequence[FileDiff], layout: Layout, annotations: Sequence[Annotation], mark: Mark
) -> int | None:
    """The row a mark is about now: the same box, line or header, or the nearest header above; None when all is gone."""
    if mark.key and (box := row_of_key(layout, annotations, mark.key)) is not None:
        return box
    anchor = mark.anchor
    if anchor.line is not None:
        ref = find_line(files, anchor.path, anchor.side, anchor.line)
        if ref is not None and (line := row_of_line(layout, ref)) is not None:
            return line
    file = find_file(files, anchor.path) if anchor.path else None
    if file is None:
        return 0 if layout.rows else None
    if mark.kind == Kind.GAP:
        gap = next(
            (i for i, row in enumerate(layout.rows) if row.kind == Kind.GAP and row.file == file), None
        )
        if gap is not None:
            return gap
    for index in layout.hunk_rows:
        row = layout.rows[index]
        if row.file == file and files[file].hunks[row.hunk].label == anchor.hunk:
            return index
    return next((index for index in layout.file_rows if layout.rows[index].file == file), None)


def row_of_key(layout: Layout, annotations: Sequence[Annotation], key: str) -> int | None:
    """The row of the box of the finding or comment `key`."""
    return next((index for index in layout.box_rows if annotations[layout.rows[index].a].key == key), None)


def row_of_line(layout: Layout, ref: LineRef) -> int | None:
    """The row that shows a diff line; None when its file is folded."""
    at = bisect_left(layout.hunk_rows, ref[:2], key=lambda index: layout.rows[index][1:3])
    if at == len(layout.hunk_rows):
        return None
    rows = layout.rows
    for place in range(rows.run_of(layout.hunk_rows[at]), len(rows.runs)):
        run = rows.runs[place]
        if run[1:3] != ref[:2]:
            return None
        if run.kind not in (Kind.LINE, Kind.PAIR):
            continue
        for start in (run.a, run.b):
            if 0 <= start <= ref.line < start + run.size:
                return rows.firsts[place] + ref.line - start
    return None
