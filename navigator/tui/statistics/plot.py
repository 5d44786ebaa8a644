"""Plots in cells: an interval on a shared axis from 0 to 1, parts of a whole."""

from __future__ import annotations

from collections.abc import Sequence

from navigator.cascade.views.statistics.chart import joined
from navigator.tui.widgets.cells import Piece, fit

_TICKS = (0.25, 0.5, 0.75)


def axis(width: int) -> str:
    """The labels over `interval` rows of the same width: `0%   25%   50%   75%   100%`, as far as there is room."""
    if width < 8:
        return " " * max(0, width)
    between = () if width < 14 else (0.5,) if width < 28 else _TICKS
    marks = (0.0, *between, 1.0)
    cells = [" "] * width
    for mark in marks:
        label = f"{100 * mark:.0f}%"
        start = min(
            max(0, round(mark * width) - (len(label) // 2 if 0 < mark < 1 else 0)), width - len(label)
        )
        cells[start : start + len(label)] = label
    return "".join(cells)


def interval(
    low: float,
    rate: float | None,
    high: float,
    width: int,
    *,
    sure: bool = True,
    at: Sequence[float] = _TICKS,
) -> list[Piece]:
    """An interval as a line with its rate as a dot, to half a cell, on faint ticks.

    Args:
        low, high: limits between 0 and 1.
        rate: between them; None draws the ticks alone.
        width: cells from 0 to 1.
        sure: an anecdote gets a hollow dot and a muted line.
        at: where the ticks are.
    """
    if width < 4:
        return [(" " * max(0, width), "")]
    ticks = {min(width - 1, int(mark * width)) for mark in at}
    dot = -1 if rate is None else min(width - 1, int(rate * width))
    pieces: list[Piece] = []
    for cell in range(width):
        left = rate is not None and low * width <= cell + 0.25 < high * width
        right = rate is not None and low * width <= cell + 0.75 < high * width
        if cell == dot:
            pieces.append(("●" if sure else "○", "accent" if sure else "muted"))
        elif left or right:
            glyph = "━" if left and right else "╸" if left else "╺"
            pieces.append((glyph, "accent" if sure else "muted"))
        else:
            pieces.append(("┊" if cell in ticks else " ", "faint"))
    return joined(pieces)


def parts(values: Sequence[tuple[str, float]], width: int) -> list[Piece]:
    """Named durations as stretches of one line, in turns strong and faint, each at least a cell wide."""
    total = sum(value for _, value in values)
    if total <= 0 or width < 2 * len(values):
        return [(" " * max(0, width), "")]
    room = width - len(values)
    pieces: list[Piece] = []
    reached = 0.0
    drawn = 0
    for place, (_, value) in enumerate(values):
        reached += value
        upto = round(room * reached / total)
        pieces.append(("━" * (upto - drawn + 1), "muted" if place % 2 else "accent"))
        drawn = upto
    return pieces


def named_parts(values: Sequence[tuple[str, float]], width: int) -> list[Piece]:
    """The words for `parts`: `drain 0.4  stop 2.1  …`."""
    pieces: list[Piece] = []
    for place, (name, value) in enumerate(values):
        text = f"{name} {value:.1f}"
        pieces.append((fit(text, len(text)), "muted" if place % 2 else ""))
        pieces.append(("  ", ""))
    return pieces
