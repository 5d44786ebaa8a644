"""The tables of a page of statistics as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.figures.intervals import ANECDOTAL_BELOW
from navigator.figures.page import Column, Row, Table, drawn
from navigator.model.text import safe_line
from navigator.tui.widgets.cells import Piece, cropped, fit, length, right, thousands
from navigator.tui.widgets.markdown import wrapped
from navigator.tui.widgets.page import Line

_FACT = 10
_WIDE = 110
"""Cells from which a page shows notes beside the rows."""

_NOTE, _LABEL, _PLOT = 20, 28, 24
"""Cells of the notes, of the labels beside a plot, and of the smallest plot that every column leaves room for."""

_MOST_LABEL = 56
"""Most cells of the labels: figures are near what they are about, however wide the screen."""

_MOST_PLOT = 64
"""Most cells of an interval's scale, for the same reason."""

_READABLE = 120
"""Cells of a sentence's line at most."""


def page_lines(found: Iterable[Table], missing: str, width: int, *, period: str = "") -> list[Line]:
    """A whole page's tables; `missing` where none has anything to say. `period` is the span of time it covers."""
    tables = drawn(found)
    if not tables:
        return [[], [(missing, "title")]]
    lines: list[Line] = []
    for number, table in enumerate(tables):
        lines += table_lines(table, width, period=period if number == 0 else "", beside=tables)
    return lines


def table_lines(table: Table, width: int, *, period: str = "", beside: Sequence[Table] = ()) -> list[Line]:
    """Title, answer, facts, rows and notes of one table.

    Args:
        beside: the tables of the page; those with the same columns get the same widths.
    """
    readable = min(width, _READABLE)
    about = ", ".join(word for word in (table.about, period) if word)
    title: list[Piece] = [(table.title, "title"), (f"   {about}" if about else "", "muted")]
    lines: list[Line] = [[], cropped(title, width)]
    if table.answer:
        lines += wrapped([(table.answer, "strong")], readable)
    named = max((length([(name, "")]) + 2 for name, _ in table.facts), default=0)
    named = min(max(_FACT, named), width // 3)
    for name, text in table.facts:
        lines += list(wrapped([(safe_line(text), "")], width, [(fit(name, named), "muted")], " " * named))
    if not table.rows:
        lines += wrapped([(table.empty, "muted")], readable) if table.empty else []
    elif table.columns:
        alike = [row for one in (table, *beside) if one.columns == table.columns for row in one.rows]
        lines += _columned(table, _layout(table.columns, alike, width), width)
    else:
        lines += _bars(table.rows, width)
    return [*lines, *(line for note in table.notes for line in wrapped([(note, "faint")], readable))]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Cells of the labels, of the plot and of the notes, and the width of each column there is room for."""

    label: int
    plot: int
    noted: int
    columns: dict[int, int]


def _layout(every: Sequence[Column], rows: Sequence[Row], width: int) -> _Layout:
    plotted = any(row.share is not None for row in rows)
    filled = [row.cells for row in rows if row.cells] or [("",) * len(every)]
    roomy = width >= _WIDE
    noted = _NOTE if roomy and plotted and any(row.note and row.cells for row in rows) else 0
    least = _LABEL + noted + (_PLOT if plotted else 0)
    wanted = {
        place: max(length([(text, "")]) for text in (column.name, *(cells[place] for cells in filled))) + 2
        for place, column in enumerate(every)
    }
    all_fit = sum(wanted.values()) + least <= width
    columns = {place: cells for place, cells in wanted.items() if all_fit or not every[place].wide}
    rest = width - sum(columns.values()) - noted
    label = _LABEL if roomy else min(_LABEL - 1, rest - 12)
    longest = max((length([(row.label, "")]) for row in rows), default=0)
    if not plotted or (not roomy and longest >= label):  # names before pictures
        return _Layout(max(12, min(_MOST_LABEL, rest)), 0, noted, columns)
    return _Layout(label, max(4, min(_MOST_PLOT, rest - label - 2)), noted, columns)


def _columned(table: Table, layout: _Layout, width: int) -> list[Line]:
    label, plot = layout.label, layout.plot
    scale = axis(plot) if any(row.share for row in table.rows) else " " * plot
    heads: list[Piece] = [(" " * label, ""), (f"{scale}  " if plot else "", "faint")]
    heads += [(right(table.columns[place].name, cells), "muted") for place, cells in layout.columns.items()]
    lines: list[Line] = [heads]
    for row in table.rows:
        lines.append(_row(row, table.columns, layout))
        if row.note and row.cells and not layout.noted and not row.share:
            lines.append(cropped([("  ", ""), (row.note, "muted")], width))
    return lines


def _row(row: Row, columns: Sequence[Column], layout: _Layout) -> Line:
    label, plot, noted = layout.label, layout.plot, layout.noted
    sure = row.share is None or row.share.n >= ANECDOTAL_BELOW
    style = "muted" if row.detail or not sure or not row.cells else ""
    pieces: list[Piece] = [(fit(row.label, label - 1) + " ", style)]
    if not row.cells:
        return [*pieces, (row.note, "faint")]
    if row.share is not None and plot:
        pieces += [*interval(row.share.low, row.share.rate, row.share.high, plot, sure=sure), ("  ", "")]
    elif plot:
        pieces.append((" " * (plot + 2), ""))
    first = True
    for place, wide in layout.columns.items():
        cell = row.cells[place]
        shown = "strong" if first and not style else style
        shown = "bad" if columns[place].name == "failed" and cell.strip("–") else shown
        pieces.append((right(cell, wide), shown))
        first = False
    if noted:
        pieces.append(("  " + fit(row.note, noted - 2), "muted"))
    return pieces


def _bars(rows: Sequence[Row], width: int) -> list[Line]:
    """Counts as bars, in the order of the rows."""
    label = 26
    most = max(row.count or 0 for row in rows) or 1
    figures = max(len(thousands(row.count or 0)) for row in rows) + 1
    room = max(1, min(60, width - label - figures))
    return [
        [
            (fit(row.label, label), ""),
            ("▬" * max(1, round(room * (row.count or 0) / most)), "accent"),
            (f" {thousands(row.count or 0)}", "strong"),
        ]
        for row in rows
    ]


# Plots in cells: an interval on a shared axis from 0 to 1.

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
) -> list[Piece]:
    """An interval as a line with its rate as a dot, to half a cell, on faint ticks.

    Args:
        low, high: limits between 0 and 1.
        rate: between them; None draws the ticks alone.
        width: cells from 0 to 1.
        sure: an anecdote gets a hollow dot and a muted line.
    """
    if width < 4:
        return [(" " * max(0, width), "")]
    ticks = {min(width - 1, int(mark * width)) for mark in _TICKS}
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
    return pieces
