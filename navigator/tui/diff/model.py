"""What the diff view is given beside the differences, what it points at, and where a finding or comment is placed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from navigator.model.diff import DiffLine, FileDiff, Hunk
from navigator.model.models import Finding
from navigator.model.states import Severity

Side = Literal["new", "old"]
Mode = Literal["unified", "split"]

SEVERITY_ORDER = (Severity.BLOCKER, Severity.MAJOR, Severity.MINOR, Severity.NIT)
"""From what blocks to what is taste."""


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
    author: str = "you"


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
    """One diff line by its place: file, hunk within the file, line within the hunk, all from 0."""

    file: int
    hunk: int
    line: int


@dataclass(slots=True)
class Placement:
    """Which annotations stand where, by index into the list that was placed.

    `elsewhere` holds those that do not stand under the very line they are about.
    """

    top: list[int] = field(default_factory=list)
    files: dict[int, list[int]] = field(default_factory=dict)
    hunks: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    lines: dict[LineRef, list[int]] = field(default_factory=dict)
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
        first, count = span_on(hunk, side)
        if not first <= number < first + count:
            continue
        for line_index, line in enumerate(hunk.lines):
            if number_on(line, side) == number:
                return LineRef(file_index, hunk_index, line_index)
    return None


def span_on(hunk: Hunk, side: Side) -> tuple[int, int]:
    """First line and number of lines of `hunk` on `side`."""
    return (hunk.new_start, hunk.new_count) if side == "new" else (hunk.old_start, hunk.old_count)


def place(files: Sequence[FileDiff], annotations: Iterable[Annotation]) -> Placement:
    """Put each annotation as near as can be to what it is about: its line, its hunk, its file, or the top."""
    placement = Placement()
    labels = {hunk.label: (f, h) for f, file in enumerate(files) for h, hunk in enumerate(file.hunks)}
    ordered = sorted(enumerate(annotations), key=lambda item: _severity_rank(item[1]))
    for index, annotation in ordered:
        if isinstance(annotation, LineComment):
            _place_at(placement, files, index, annotation.path, annotation.side, annotation.line, None)
            continue
        finding = annotation.finding
        if not finding.anchored:
            placement.top.append(index)
            placement.elsewhere.add(index)
            continue
        # A quote of the task has no line; a quote of the context is one of the new file.
        line = None if finding.side == "task" else finding.line
        side: Side = "old" if finding.side == "old" else "new"
        _place_at(placement, files, index, finding.path, side, line, labels.get(finding.hunk))
    return placement


def _severity_rank(annotation: Annotation) -> int:
    if isinstance(annotation, LineComment):
        return len(SEVERITY_ORDER)
    return SEVERITY_ORDER.index(annotation.finding.severity)


def _place_at(
    placement: Placement,
    files: Sequence[FileDiff],
    index: int,
    path: str,
    side: Side,
    line: int | None,
    hunk: tuple[int, int] | None,
) -> None:
    ref = find_line(files, path, side, line) if line is not None else None
    if ref is not None:
        placement.lines.setdefault(ref, []).append(index)
        return
    placement.elsewhere.add(index)
    if hunk is not None:
        placement.hunks.setdefault(hunk, []).append(index)
        return
    file_index = find_file(files, path)
    if file_index is not None:
        placement.files.setdefault(file_index, []).append(index)
        return
    placement.top.append(index)
