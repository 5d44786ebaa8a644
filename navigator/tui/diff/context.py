"""Hunks extended with the unchanged lines around them, as the file itself has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from navigator.domain.diff import DiffLine, FileDiff, Hunk
from navigator.tui.diff.layout import first_line, hidden_above


def with_lines_above(file: FileDiff, hunk: int, lines: Sequence[str]) -> FileDiff:
    """`file` with unchanged `lines`, in file order, put right above hunk number `hunk`.

    More lines than are hidden there are cut from the top: hunks never overlap.
    """
    this = file.hunks[hunk]
    room = hidden_above(file, hunk)
    kept = list(lines)[max(0, len(lines) - room) :]
    old = first_line(this.old_start, this.old_count) - len(kept)
    new = first_line(this.new_start, this.new_count) - len(kept)
    more = tuple(DiffLine(" ", text, old + index, new + index) for index, text in enumerate(kept))
    return _replace(
        file,
        hunk,
        replace(
            this,
            old_start=old,
            new_start=new,
            old_count=this.old_count + len(kept),
            new_count=this.new_count + len(kept),
            lines=more + this.lines,
        ),
    )


def with_lines_below(file: FileDiff, lines: Sequence[str], *, no_newline: bool = False) -> FileDiff:
    """`file` with unchanged `lines`, in file order, put below its last hunk.

    `no_newline`: the last of them ends the file without a newline.
    """
    last = len(file.hunks) - 1
    this = file.hunks[last]
    old = first_line(this.old_start, this.old_count) + this.old_count
    new = first_line(this.new_start, this.new_count) + this.new_count
    ends = len(lines) - 1 if no_newline else -1
    more = tuple(
        DiffLine(" ", text, old + index, new + index, no_newline=index == ends)
        for index, text in enumerate(lines)
    )
    extended = replace(
        this,
        old_count=this.old_count + len(more),
        new_count=this.new_count + len(more),
        lines=this.lines + more,
    )
    return _replace(file, last, extended)


def _replace(file: FileDiff, index: int, hunk: Hunk) -> FileDiff:
    return replace(file, hunks=(*file.hunks[:index], hunk, *file.hunks[index + 1 :]))
