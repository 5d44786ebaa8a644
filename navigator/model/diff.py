"""A difference between two trees, as git made it, in a form that screens, prompts and anchors share.

Plain slotted dataclasses, not pydantic: one diff may hold 50,000 lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LineKind = Literal[" ", "+", "-"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a hunk, without its line ending.

    `old` and `new` are 1-based line numbers on their side, None where the line does not exist there.
    `no_newline` marks the last line of a file that ends without a newline.
    """

    kind: LineKind
    text: str
    old: int | None
    new: int | None
    no_newline: bool = False


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk. `label` counts through the whole proposal: "H1", "H2", …; `section` is git's function context."""

    label: str
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: str
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What happened to one path. `status` is git's letter (A, D, M, R, T); modes are octal strings or "" when absent."""

    status: str
    old_path: str
    new_path: str
    old_mode: str = ""
    new_mode: str = ""
    binary: bool = False
    hunks: tuple[Hunk, ...] = ()

    @property
    def path(self) -> str:
        """The path to show: the new one, or the old one of a deletion."""
        return self.new_path or self.old_path

    @property
    def added(self) -> int:
        """Lines added."""
        return sum(line.kind == "+" for hunk in self.hunks for line in hunk.lines)

    @property
    def removed(self) -> int:
        """Lines removed."""
        return sum(line.kind == "-" for hunk in self.hunks for line in hunk.lines)


def choices(file: FileDiff, number: int) -> tuple[str, ...]:
    """The labels by which parts of one file's change can be chosen: its hunks', or `F<number>` where no line changes.

    `number` is the file's place in the diff, from 1. A change without lines is a rename, a change of mode alone, or a file
    that is empty on the side it exists on. A change of mode beside hunks belongs to the first of them.
    """
    return tuple(hunk.label for hunk in file.hunks) or (f"F{number}",)


def what_happens(file: FileDiff) -> str:
    """A change without lines, in words."""
    match file.status[:1]:
        case "R":
            return f"renamed from {file.old_path}"
        case "A":
            return "a new empty file"
        case "D":
            return "an empty file is deleted"
    return f"mode {file.old_mode} becomes {file.new_mode}"
