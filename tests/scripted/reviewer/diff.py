"""The diff block of a review prompt, read back into files, hunks and lines, with removed and added lines paired."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from navigator.model import patterns

_FILE = patterns.compile(r"### (.+?)(?: \((new file|deleted)\))?")
_HUNK = patterns.compile(r"@@ (H\d+) @@ ?(.*)")
_LINE = patterns.compile(r" *(\d*)\|([ +-])(.*)")
_LONGEST_RUN = 80
_ALIKE = 0.6
_ALIKE_IN_PLACE = 0.3
"""Share of common characters from which a line counts as another's successor; less is enough in the same place."""


@dataclass(frozen=True, slots=True)
class Line:
    """One diff line; `number` is its line in the new file, 0 for a removed one."""

    kind: str
    text: str
    number: int


@dataclass(slots=True)
class ReadHunk:
    """One hunk as shown."""

    label: str
    section: str
    lines: list[Line] = field(default_factory=list)

    def of(self, kind: str) -> list[Line]:
        """Its lines of one kind: " ", "+" or "-"."""
        return [line for line in self.lines if line.kind == kind]

    def runs(self) -> Iterator[tuple[list[Line], list[Line]]]:
        """Each unbroken run of changes as (removed, added)."""
        removed: list[Line] = []
        added: list[Line] = []
        for line in [*self.lines, Line(" ", "", 0)]:
            if line.kind == " ":
                if removed or added:
                    yield removed, added
                removed, added = [], []
            else:
                (added if line.kind == "+" else removed).append(line)


@dataclass(slots=True)
class ReadFile:
    """One file of the diff. `status` is "", "new file" or "deleted"."""

    path: str
    status: str
    hunks: list[ReadHunk] = field(default_factory=list)

    @property
    def python(self) -> bool:
        """Whether its lines are Python."""
        return self.path.endswith((".py", ".pyi"))

    def of(self, kind: str) -> list[Line]:
        """Lines of one kind in all hunks."""
        return [line for hunk in self.hunks for line in hunk.of(kind)]


def read_diff(text: str) -> list[ReadFile]:
    """The files of a diff block. Lines that belong to nothing are passed over."""
    files: list[ReadFile] = []
    for row in text.split("\n"):
        line = _LINE.fullmatch(row)
        if line is not None:
            if files and files[-1].hunks:
                files[-1].hunks[-1].lines.append(Line(line[2], line[3], int(line[1] or 0)))
            continue
        hunk = _HUNK.fullmatch(row)
        if hunk is not None:
            if files:
                files[-1].hunks.append(ReadHunk(hunk[1], hunk[2]))
            continue
        head = _FILE.fullmatch(row)
        if head is not None:
            files.append(ReadFile(head[1].rpartition(" => ")[2], head[2] or ""))
    return files


def paired(hunk: ReadHunk) -> tuple[list[tuple[Line, Line]], list[Line]]:
    """Removed lines with the added line that took their place, and removed lines without one."""
    pairs: list[tuple[Line, Line]] = []
    lost: list[Line] = []
    for removed, added in hunk.runs():
        if max(len(removed), len(added)) > _LONGEST_RUN:
            pairs += zip(removed, added, strict=False)
            continue
        floor = _ALIKE_IN_PLACE if len(removed) == len(added) else _ALIKE
        at = 0
        for place, line in enumerate(removed):
            # As many lines in as out: most likely each took the place of its counterpart.
            options = range(place, place + 1) if len(removed) == len(added) else range(at, len(added))
            best, best_ratio = -1, floor
            for number in options:
                ratio = _likeness(line, added[number])
                if ratio > best_ratio:
                    best, best_ratio = number, ratio
            if best < 0:
                lost.append(line)
                continue
            pairs.append((line, added[best]))
            at = best + 1
    return pairs, lost


def _likeness(old: Line, new: Line) -> float:
    return SequenceMatcher(None, old.text.strip(), new.text.strip(), autojunk=False).ratio()
