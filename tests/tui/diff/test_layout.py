"""Rows: any diff at any width shows every line once and in order, and every box once."""

from __future__ import annotations

from collections import Counter
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from navigator.model.diff import FileDiff
from navigator.tui.diff.layout import (
    DiffRow,
    FindingNote,
    LineComment,
    LineRef,
    Mode,
    RowKind,
    build_rows,
    place,
)
from tests.tui.diff.samples import FILES, comments_on, diffs, finding

MODES = st.sampled_from(["unified", "split"])


def rows_for(files: list[FileDiff], comments: list[LineComment], mode: Mode) -> list[DiffRow]:
    return [*chain.from_iterable(build_rows(files, place(files, comments), mode))]


@given(st.data(), diffs(), MODES)
def test_every_line_is_there_once_and_in_order(
    data: st.DataObject, files: list[FileDiff], mode: Mode
) -> None:
    comments = data.draw(comments_on(files))
    rows = rows_for(files, comments, mode)
    for f, file in enumerate(files):
        for h, hunk in enumerate(file.hunks):
            here = [row for row in rows if row[1:3] == (f, h)]
            if mode == "unified":
                assert [row.a for row in here if row.kind == RowKind.LINE] == list(range(len(hunk.lines)))
                continue
            pairs = [row for row in here if row.kind == RowKind.PAIR]
            left = [row.a for row in pairs if row.a >= 0]
            right = [row.b for row in pairs if row.b >= 0]
            assert left == [i for i, line in enumerate(hunk.lines) if line.kind != "+"]
            assert right == [i for i, line in enumerate(hunk.lines) if line.kind != "-"]
            assert all(
                hunk.lines[r.a].kind == "-" and hunk.lines[r.b].kind == "+"
                for r in pairs
                if r.a != r.b and min(r.a, r.b) >= 0
            )
    assert Counter(row.a for row in rows if row.kind == RowKind.BOX) == Counter(range(len(comments)))
    assert [row.file for row in rows if row.kind == RowKind.FILE] == list(range(len(files)))


def test_findings_go_to_their_line_their_hunk_their_file_or_the_top() -> None:
    notes = [
        FindingNote("line", finding()),
        FindingNote("old", finding(line=22, side="old")),
        FindingNote("hunk", finding(line=40)),
        FindingNote("task", finding(line=None, side="task", kind="missing")),
        FindingNote("file", finding(line=40, hunk="H99")),
        FindingNote("nowhere", finding(path="gone.py", hunk="")),
        FindingNote("loose", finding(anchored=False)),
    ]
    placement = place(FILES, notes)
    assert placement.at == {
        LineRef(1, 1, 12): [0],
        LineRef(1, 1, 10): [1],
        LineRef(1, 1): [2, 3],
        LineRef(1): [4],
        LineRef(): [5, 6],
    }
    assert placement.elsewhere == {2, 3, 4, 5, 6}


def test_the_heaviest_finding_is_first_and_comments_last() -> None:
    notes = [
        LineComment("c", "billing/totals.py", 23, "hm"),
        FindingNote("nit", finding(severity="nit")),
        FindingNote("blocker", finding(severity="blocker")),
        FindingNote("minor", finding(severity="minor")),
    ]
    assert place(FILES, notes).at == {LineRef(1, 1, 12): [2, 3, 1, 0]}


def test_a_renamed_file_is_found_by_either_name() -> None:
    renamed = FileDiff("R100", "before.py", "after.py", hunks=FILES[0].hunks)
    comments = [LineComment("a", "before.py", 1, "?", "old"), LineComment("b", "after.py", 1, "?", "old")]
    assert place([renamed], comments).at == {LineRef(0, 0, 0): [0, 1]}
