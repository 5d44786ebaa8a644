"""Text measured in terminal cells: what a raw line looks like on screen, where it is cut and where it wraps.

Everything here is pure. Lines of plain ASCII take constant-time paths; other lines are measured cluster by cluster (a
character with the zero-width characters that follow it), so that a wide character is never cut in half.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from rich.cells import cell_len, get_character_cell_size

from navigator.model.models import Finding
from navigator.model.states import FindingKind, Severity
from navigator.model.text import safe_text
from navigator.tui.diff.model import Annotation, FindingNote, LineComment
from navigator.tui.widgets.cells import ELLIPSIS, Piece, clip, cropped, length

TAB = 4
"""Columns between tab stops."""

LONG = 4096
"""Characters from which a line is no longer measured cluster by cluster: tabs have a fixed width, and rows break by the
number of characters, at half the width where some may be wide."""

_VARIATION_SELECTOR = "\ufe0f"


def display(text: str, upto: int | None = None) -> str:
    """`text` as it may reach the terminal: one line, unsafe characters made visible, tabs expanded to spaces.

    With `upto`, only its first so many characters, which come out as they would at the start of the whole.
    """
    part = text if upto is None else text[:upto]
    if part.isascii() and part.isprintable():
        return part
    return _display_long(part) if len(text) > LONG else _display(part)


@lru_cache(maxsize=512)
def _display(text: str) -> str:
    safe = safe_text(text).replace("\n", "\u240a")
    return safe if "\t" not in safe else _expand_tabs(safe)


@lru_cache(maxsize=64)
def _display_long(text: str) -> str:
    return safe_text(text).replace("\n", "\u240a").replace("\t", " " * TAB)


def display_enough(text: str, width: int) -> tuple[str, bool]:
    """The start of `text` as displayed, at least `width` cells of it where it has them, and whether that is all of it.

    So that what a line costs goes with what is seen of it.
    """
    upto = 2 * width + 64
    while upto < len(text):
        shown = display(text, upto)
        if cell_len(shown) > width + 2:
            return shown, False
        upto *= 2
    return display(text), True


def _expand_tabs(text: str) -> str:
    parts: list[str] = []
    column = 0
    for index, part in enumerate(text.split("\t")):
        if index:
            spaces = TAB - column % TAB
            parts.append(" " * spaces)
            column += spaces
        parts.append(part)
        column += cell_len(part)
    return "".join(parts)


def rows_needed(text: str, width: int) -> int:
    """How many rows the raw line `text` takes when wrapped at `width` cells; at least one."""
    if text.isascii() and text.isprintable():
        return max(1, -(-len(text) // width))
    return len(wrap(display(text), width))


@lru_cache(maxsize=256)
def _edges(text: str) -> tuple[array[int], array[int]]:
    """For a displayed line: the first character of every cluster, and the cell it starts at; both end with the end."""
    starts: array[int] = array("L")
    columns: array[int] = array("L")
    column = 0
    width = 0
    for index, character in enumerate(text):
        if character == _VARIATION_SELECTOR and starts:
            # Emoji presentation: the whole cluster is as wide as rich says it is.
            wide = cell_len(text[starts[-1] : index + 1])
            column += wide - width
            width = wide
            continue
        size = get_character_cell_size(character)
        if size == 0 and starts:
            continue
        starts.append(index)
        columns.append(column)
        width = size
        column += size
    starts.append(len(text))
    columns.append(column)
    return starts, columns


def wrap(text: str, width: int) -> tuple[int, ...]:
    """Where each row of the displayed line `text` starts, in characters, when rows are `width` cells; (0,) if empty.

    Rows break anywhere: code has no words. A cluster wider than `width` is alone and is cut when drawn.
    """
    if text.isascii():
        return tuple(range(0, len(text), width)) or (0,)
    if len(text) > LONG:
        return tuple(range(0, len(text), max(1, width // 2)))
    return _wrap_wide(text, width)


@lru_cache(maxsize=256)
def _wrap_wide(text: str, width: int) -> tuple[int, ...]:
    starts, columns = _edges(text)
    last = len(starts) - 1
    breaks: list[int] = []
    cluster = 0
    while cluster < last:
        breaks.append(starts[cluster])
        following = bisect_right(columns, columns[cluster] + width) - 1
        cluster = max(following, cluster + 1)
    return tuple(breaks) or (0,)


def wrap_words(text: str, width: int) -> list[str]:
    """Prose wrapped between words at `width` cells, words longer than that broken. `text` may be raw and hold newlines.

    Returns at least one row; every row is safe to draw.
    """
    rows: list[str] = []
    for paragraph in text.split("\n"):
        rows.extend(_wrap_paragraph(display(paragraph), max(width, 1)))
    return rows


def _wrap_paragraph(text: str, width: int) -> list[str]:
    rows: list[str] = []
    row = ""
    room = width
    for word in text.split():
        size = cell_len(word)
        if row and size + 1 <= room:
            row += " " + word
            room -= size + 1
            continue
        if row:
            rows.append(row)
        breaks = (*wrap(word, width), len(word))
        pieces = [word[start:stop] for start, stop in pairwise(breaks)]
        rows.extend(pieces[:-1])
        row = pieces[-1]
        room = width - cell_len(row)
    rows.append(row)
    return rows


def fit_left(text: str, width: int) -> str:
    """A displayed text cut to `width` cells that keeps its end: what matters in a path is its last part."""
    if cell_len(text) <= width:
        return text
    while text and (over := cell_len(text) - width + 1) > 0:
        text = text[max(1, over // 2) :]
    return ELLIPSIS + text if width > 0 else ""


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
        about += f" · {finding.why_unanchored}"
    lines = [_headline(((label, severity), (about, "muted")), _who(note), width)]
    if elsewhere and (place := _place_words(finding)):
        lines.append(((clip(place, width), "muted"),))
    lines += _prose(finding.message, "body", width)
    if finding.quote and (elsewhere or finding.kind is FindingKind.MISSING):
        lines += _labelled(
            "asked for: " if finding.side == "task" else "quotes: ", finding.quote, "quote", width
        )
    if finding.trigger:
        lines += _labelled("happens when: ", finding.trigger, "body", width)
    for remark in note.remarks:
        lines += _prose(remark, "muted", width)
    return lines


def _comment(comment: LineComment, width: int, *, collapsed: bool, elsewhere: bool) -> list[BoxLine]:
    author = display(comment.author)
    if collapsed:
        first = display(" ".join(comment.text.split()))
        room = width - cell_len(author) - 4
        return [(("▸ ", "muted"), (f"{author}: ", "author"), (clip(first, room), "muted"))]
    lines: list[BoxLine] = []
    if elsewhere and comment.line is not None:
        place = clip(display(f"{comment.path}:{comment.line}"), width)
        lines.append(((place, "muted"),))
    state_room = len(comment.state) + 2
    words = wrap_words(comment.text, max(8, width - cell_len(author) - 2 - state_room))
    head = ((f"{author}: ", "author"), (words[0], "body"))
    lines.append(_headline(head, comment.state, width))
    indent = (" " * (cell_len(author) + 2), "body")
    lines += [(indent, (word, "body")) for word in words[1:]]
    return lines


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


def _labelled(label: str, text: str, style: str, width: int) -> list[BoxLine]:
    """A word of introduction, then the text with its further rows under its first."""
    indent = len(label)
    if width - indent < 20:
        return _prose(label + text, style, width)
    rows = wrap_words(text, width - indent)
    return [
        ((label if index == 0 else " " * indent, "muted"), (row, style)) for index, row in enumerate(rows)
    ]
