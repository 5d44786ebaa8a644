"""A rate over time with its intervals, in cells of a terminal.

Shape carries the meaning: nothing is lost without colour. The styles name what a piece is; a client may ignore them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import pairwise

from navigator.figures.intervals import ANECDOTAL_BELOW, Share
from navigator.model.text import safe_line
from navigator.sheet.statistics.page import RatePlot

Pieces = list[tuple[str, str]]
"""One line: texts with the names of their styles."""

_SIDE = 6
"""Cells left of a rate's plot: `100% │`."""

_TOPS = (0.2, 0.4, 0.6, 0.8, 1.0)
_FEWEST, _MOST_MARKS = 3, 6
"""Periods from which a plot says more than the rows, and marks that it has room for."""

_DATE = 10
"""Cells from one date on the axis to the next, at least."""


def chart(plot: RatePlot, width: int) -> list[Pieces]:
    """A plot in lines of at most `width` cells, names in the legend aside; nothing where there is no room or no point."""
    height = 6 if width < 100 else 8 if width < 160 else 10
    return _rates(plot, min(width, 150), height)


def top_of(points: Sequence[tuple[str, Share]]) -> float:
    """Where the axis of a rate ends: a fifth, two, three, four fifths or the whole."""
    highest = max((found.high for _, found in points if found.n), default=1.0)
    return next(top for top in _TOPS if top >= min(1.0, highest))


def place_in_time(plot: RatePlot) -> tuple[dict[str, float], list[tuple[float, str, str]]]:
    """Where the points and the marks lie between 0 (the first period's begin) and 1 (the last one's end).

    Returns:
        The middle of each point's period by its day, and (place, day, label) of each mark that falls into the plot.
    """
    days = [date.fromisoformat(day).toordinal() for day, _ in plot.points]
    step = min((after - before for before, after in pairwise(days)), default=7) or 1
    first, span = days[0], days[-1] + step - days[0]
    places = {
        day: (number + step / 2 - first) / span for (day, _), number in zip(plot.points, days, strict=True)
    }
    marks = []
    for at, label in plot.marks:
        place = (date.fromisoformat(at[:10]).toordinal() - first) / span
        if 0 <= place <= 1:
            marks.append((place, at[:10], label))
    return places, marks


def short_date(day: str) -> str:
    """`Nov 3`."""
    found = date.fromisoformat(day[:10])
    return f"{found.strftime('%b')} {found.day}"


def _rates(plot: RatePlot, width: int, height: int) -> list[Pieces]:
    room = width - _SIDE
    shown = [(day, found) for day, found in plot.points if found.n]
    if room < 2 * _DATE or len(shown) < _FEWEST:
        return []
    top = top_of(shown)
    places, every = place_in_time(plot)
    marks = every[-_MOST_MARKS:]
    columns = {day: min(room - 1, int(place * room)) for day, place in places.items()}
    grid: list[list[tuple[str, str]]] = [[(" ", "")] * room for _ in range(height)]
    for letter, (place, _, _) in zip("abcdef", marks, strict=False):
        column = min(room - 1, int(place * room))
        for row in grid:
            row[column] = ("┊", "faint")
        grid[0][column] = (letter, "muted")
    for day, found in shown:
        _draw_interval(grid, columns[day], found, top)
    lines = []
    for number, row in enumerate(grid):
        value = top * (height - number) / height
        named = number in (0, height // 2)
        label = f"{100 * value:3.0f}% " if named else " " * 5
        lines.append([(label, "faint"), ("┤" if named else "│", "faint"), *joined(row)])
    lines.append([("  0% └" + "─" * room, "faint")])
    lines.append([(" " * _SIDE + _dates(columns, room), "faint")])
    lines += [
        [(f"{' ' * _SIDE}{letter}  ", "muted"), (f"{short_date(day)}  {safe_line(label)}", "muted")]
        for letter, (_, day, label) in zip("abcdef", marks, strict=False)
    ]
    if len(every) > len(marks):
        lines.append([(f"{' ' * _SIDE}{len(every) - len(marks)} earlier changes are not marked", "faint")])
    return lines


def _draw_interval(grid: list[list[tuple[str, str]]], column: int, found: Share, top: float) -> None:
    """A vertical line from the lower to the upper limit, to half a cell, with the rate as a dot."""
    height = len(grid)
    sure = found.n >= ANECDOTAL_BELOW
    style = "accent" if sure else "muted"
    half = 2 * height / top
    low, high = int(found.low * half), max(int(found.low * half) + 1, round(found.high * half))
    for row in range(height):
        lower = low <= 2 * row < high
        upper = low <= 2 * row + 1 < high
        if lower or upper:
            glyph = "│" if lower and upper else "╷" if lower else "╵"
            grid[height - 1 - row][column] = (glyph, style)
    dot = min(height - 1, int((found.rate or 0.0) / top * height))
    grid[height - 1 - dot][column] = ("●" if sure else "○", style)


def _dates(columns: dict[str, int], room: int) -> str:
    cells = [" "] * room
    free = 0
    for day, column in columns.items():
        label = short_date(day)
        start = min(max(0, column - len(label) // 2), room - len(label))
        if start >= free:
            cells[start : start + len(label)] = label
            free = start + max(_DATE, len(label) + 2)
    return "".join(cells).rstrip()


def joined(pieces: Sequence[tuple[str, str]]) -> Pieces:
    """Neighbours of one style as one piece: fewer segments to draw."""
    made: Pieces = []
    for text, style in pieces:
        if made and made[-1][1] == style:
            made[-1] = (made[-1][0] + text, style)
        else:
            made.append((text, style))
    return made
