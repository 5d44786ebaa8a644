"""Text in columns of cells: cut, padded, wrapped, safe."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from rich.cells import cell_len, chop_cells, set_cell_size

from navigator.model.text import safe_line, safe_text

Piece = tuple[str, str]
"""Text, and the name of the style it is drawn in ("" for plain); see `RowList`."""

ELLIPSIS = "…"


def fit(text: str, width: int) -> str:
    """Untrusted text in exactly `width` cells: made safe, cut with an ellipsis, padded on the right."""
    if width <= 0:
        return ""
    text = safe_line(text)
    if cell_len(text) > width:
        return set_cell_size(set_cell_size(text, width - 1).rstrip() + ELLIPSIS, width)
    return set_cell_size(text, width)


def clip(text: str, width: int) -> str:
    """Untrusted text in at most `width` cells."""
    return fit(text, width).rstrip()


def right(text: str, width: int) -> str:
    """Text at the right edge of `width` cells; cut where it is longer."""
    text = safe_line(text)
    missing = width - cell_len(text)
    return " " * missing + text if missing >= 0 else fit(text, width)


def length(pieces: Sequence[Piece]) -> int:
    """Cells that pieces take."""
    return sum(cell_len(text) for text, _ in pieces)


def justified(left: Sequence[Piece], end: Sequence[Piece], width: int, gap: int = 2) -> list[Piece]:
    """`left` at the left and `end` at the right edge of `width` cells; `left` gives way where there is too little room."""
    room = width - length(end)
    kept = cropped(left, room - gap if end else room)
    return [*kept, (" " * max(0, room - length(kept)), ""), *end]


def cropped(pieces: Sequence[Piece], width: int) -> list[Piece]:
    """The first `width` cells of pieces, with an ellipsis where something was cut."""
    kept: list[Piece] = []
    for text, style in pieces:
        used = cell_len(text)
        if used > width:
            kept.append((fit(text, width), style))
            break
        kept.append((text, style))
        width -= used
    return kept


def bar(share: float, width: int) -> str:
    """A bar of `width` cells: `▰▰▰▱▱`."""
    filled = max(0, min(width, round(share * width)))
    return "▰" * filled + "▱" * (width - filled)


def thousands(number: float) -> str:
    """`1,420`."""
    return f"{number:,.0f}"


def short_duration(seconds: float) -> str:
    """A length of time in few characters: `4 s`, `3 min`, `2 h 10 min`."""
    if seconds < 1:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} d"


# Text measured in terminal cells: what a raw line looks like on screen, where it is cut and where it wraps.


TAB = 4
"""Columns between tab stops."""

LONG = 4096
"""Characters from which a line is no longer measured cluster by cluster: tabs have a fixed width, and rows break by the
number of characters, at half the width where some may be wide."""


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
    ends = accumulate(map(len, chop_cells(text, width)), initial=0)
    return tuple(dict.fromkeys(ends))[:-1] or (0,)


def fit_left(text: str, width: int) -> str:
    """A displayed text cut to `width` cells that keeps its end: what matters in a path is its last part."""
    if cell_len(text) <= width:
        return text
    while text and (over := cell_len(text) - width + 1) > 0:
        text = text[max(1, over // 2) :]
    return ELLIPSIS + text if width > 0 else ""
