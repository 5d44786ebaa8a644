"""Writes the difference between two texts as small SEARCH/REPLACE blocks whose SEARCH part occurs once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from navigator.exam.faults import lines_of


@dataclass(frozen=True, slots=True)
class Edit:
    """One block. `search` and `put` are lines without line endings; `form` says which block it becomes."""

    path: str
    search: tuple[str, ...]
    put: tuple[str, ...]
    form: Literal["edit", "new", "whole"] = "edit"

    def with_search(self, search: Sequence[str]) -> Edit:
        """The same edit with another SEARCH part."""
        return replace(self, search=tuple(search))


def edits_between(path: str, old: str, new: str) -> list[Edit]:
    """The blocks that turn `old` into `new`, to be applied in order, each to what the ones before left.

    A SEARCH part starts as the lines that change and takes in lines around them until it occurs once in the text as it
    is by then.
    """
    before, after = lines_of(old), lines_of(new)
    current = list(before)
    shift = 0
    edits: list[Edit] = []
    for i1, i2, j1, j2 in _changed_ranges(before, after):
        start, end = i1 + shift, i2 + shift
        put = after[j1:j2]
        low, high = _until_unique(current, start, end)
        search = current[low:high]
        new_lines = current[low:start] + put + current[end:high]
        edits.append(Edit(path, tuple(search), tuple(new_lines)))
        current[start:end] = put
        shift += len(put) - (end - start)
    return edits


def _changed_ranges(before: list[str], after: list[str]) -> list[tuple[int, int, int, int]]:
    """Ranges `(i1, i2, j1, j2)` that differ; ranges with at most one equal line between them become one."""
    matcher = SequenceMatcher(a=before, b=after, autojunk=False)
    ranges: list[tuple[int, int, int, int]] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            continue
        if ranges and i1 - ranges[-1][1] <= 1:
            ranges[-1] = (ranges[-1][0], i2, ranges[-1][2], j2)
        else:
            ranges.append((i1, i2, j1, j2))
    return ranges


def _until_unique(lines: list[str], start: int, end: int) -> tuple[int, int]:
    """The smallest range around `start:end`, grown by turns upwards and downwards, whose text occurs once."""
    text = "\n".join(lines)
    low, high = start, end
    upwards = True
    while True:
        part = "\n".join(lines[low:high])
        if part.strip() and _occurs_once(part, text):
            return low, high
        if low == 0 and high == len(lines):
            return low, high
        if (upwards and low > 0) or high == len(lines):
            low -= 1
        else:
            high += 1
        upwards = not upwards


def _occurs_once(part: str, text: str) -> bool:
    """Whether `part` occurs once, places that overlap counted too."""
    first = text.find(part)
    return first >= 0 and text.find(part, first + 1) < 0


def render_edits(edits: Sequence[Edit], marker: int = 7) -> str:
    """The blocks as an answer has them, with markers of the given length and a blank line between blocks."""
    return "\n\n".join(_render(edit, marker) for edit in edits)


def _render(edit: Edit, marker: int) -> str:
    opener, divider, closer = "<" * marker, "=" * marker, ">" * marker
    if edit.form == "whole":
        return "\n".join([edit.path, f"{opener} WHOLE", *edit.put, f"{closer} WHOLE"])
    return "\n".join([edit.path, f"{opener} SEARCH", *edit.search, divider, *edit.put, f"{closer} REPLACE"])


def apply_edits(text: str, edits: Sequence[Edit]) -> str | None:
    """What `text` becomes; None when a SEARCH part does not occur exactly once. Used to prove blocks before sending."""
    current = lines_of(text)
    for edit in edits:
        if edit.form in {"new", "whole"}:
            current = list(edit.put)
            continue
        size = len(edit.search)
        places = [
            at for at in range(len(current) - size + 1) if tuple(current[at : at + size]) == edit.search
        ]
        if len(places) != 1:
            return None
        current[places[0] : places[0] + size] = edit.put
    ending = "\n" if text.endswith("\n") or not text else ""
    return "\n".join(current) + ending
