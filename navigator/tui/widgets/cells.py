"""Text in columns of cells: cut, padded, safe."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from navigator.model.text import safe_line

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


def duration(seconds: float) -> str:
    """A length of time in few characters: `4 s`, `3 min`, `2 h 10 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds < 1 else f"{seconds:.0f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours // 24} d"
