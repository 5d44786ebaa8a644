"""A run as a row of the list, and as a page: progress, decision, plots."""

from __future__ import annotations

import math

from navigator.figures.intervals import ANECDOTAL_BELOW
from navigator.lab.runs import LabRun, Plot, Point, figures, shown
from navigator.model.text import safe_line
from navigator.tui.answers.markdown import wrapped
from navigator.tui.clock import seconds_since
from navigator.tui.statistics.plot import interval
from navigator.tui.widgets.cells import Piece, bar, duration, fit, length, right
from navigator.tui.widgets.page import Line

_STATES = {
    "running": ("●", "good"),
    "complete": ("✓", "good"),
    "stopped": ("○", "muted"),
    "failed": ("✗", "bad"),
    "interrupted": ("◐", "warn"),
}
_READABLE = 110
_LABEL, _MOST_PLOT = 26, 60
_LEAST_PLOT = 12


def run_row(run: LabRun, width: int) -> list[Piece]:
    """Sign, name, progress, time left."""
    sign, style = _STATES[run.state]
    left = run.seconds_left
    said = run.state if left is None else f"{duration(left)} left"
    end: list[Piece] = [
        (right(f"{run.done}/{run.total}", 9), ""),
        (f"  {bar(_share(run), 10)}  ", "accent" if run.state == "running" else "muted"),
        (fit(said, 13), style if left is None else ""),
    ]
    room = width - 2 - length(end)
    return [(f"{sign} ", style), (fit(run.name, room), ""), *end]


def run_lines(run: LabRun, width: int) -> list[Line]:
    """The whole page of one run."""
    sign, style = _STATES[run.state]
    readable = min(width, _READABLE)
    lines: list[Line] = [[], *wrapped([(safe_line(run.about or run.name), "strong")], readable), []]
    state: list[Piece] = [(f"{sign} {run.state}", style), (f"   {run.kind}", "muted")]
    lines += [state, _progress(run)]
    if run.problem:
        lines += [[], *wrapped([(safe_line(run.problem), "bad")], readable)]
    if run.simulated:
        lines += [[], *wrapped([(safe_line(run.simulated), "warn")], readable)]
    if run.decision:
        lines += [[], [("DECISION", "title")], *wrapped([(safe_line(run.decision), "strong")], readable)]
    for plot in run.plots:
        lines += plot_lines(plot, width)
    lines += [[], *_fact("results", run.results, width), *_fact("go on", _command(run), width)]
    return lines


def _progress(run: LabRun) -> Line:
    left = run.seconds_left
    pieces: list[Piece] = [
        (bar(_share(run), 20), "accent"),
        (f"  {run.done} of {run.total} {safe_line(run.unit)}", ""),
    ]
    if left is not None:
        pieces.append((f"   about {duration(left)} left", ""))
    return [*pieces, (f"   changed {duration(seconds_since(run.updated))} ago", "muted")]


def plot_lines(plot: Plot, width: int) -> list[Line]:
    """Values with their intervals on one scale, the reference as a line, the figures beside it."""
    every = [figures(plot, point) for point in plot.points]
    cells = [max((len(row[column]) for row in every), default=0) + 2 for column in range(3)]
    label = min(_LABEL, max((len(safe_line(point.label)) for point in plot.points), default=0) + 1)
    notes = max((len(safe_line(point.note)) + 2 for point in plot.points if point.note), default=0)
    room = width - label - sum(cells) - notes - 2
    if room < _LEAST_PLOT:  # the plot shows the interval, too
        room, cells[1] = room + cells[1], 0
    room = min(_MOST_PLOT, room)
    low, high = _scale(plot)
    marks = () if plot.reference is None else ((plot.reference - low) / (high - low),)
    lines: list[Line] = [[], [(safe_line(plot.title), "title")]]
    axis = _axis(plot, low, high, room) if room >= _LEAST_PLOT else ""
    interval_head = right("95 %", cells[1]) if cells[1] else ""
    heads = right("", cells[0]) + interval_head + right("n", cells[2])
    lines.append([(" " * label, ""), (axis, "faint"), (heads, "muted")])
    for point, (value, between, number) in zip(plot.points, every, strict=True):
        drawn = _drawn(plot, point, low, high, room, marks) if room >= _LEAST_PLOT else []
        lines.append(
            [
                (fit(point.label, label), ""),
                *drawn,
                (right(value, cells[0]), "strong"),
                (right(between, cells[1]) if cells[1] else "", "muted"),
                (right(number, cells[2]), "muted"),
                (f"  {safe_line(point.note)}" if point.note else "", "muted"),
            ]
        )
    return lines


def _drawn(
    plot: Plot, point: Point, low: float, high: float, room: int, marks: tuple[float, ...]
) -> list[Piece]:
    def place(value: float) -> float:
        return (value - low) / (high - low)

    # A rate needs n; a gain rests on starts of a server, whose interval says it all.
    sure = plot.reference is not None or point.n is None or point.n >= ANECDOTAL_BELOW
    left = point.value if point.low is None else point.low
    right_end = point.value if point.high is None else point.high
    return [*interval(place(left), place(point.value), place(right_end), room, sure=sure, at=marks)]


def _scale(plot: Plot) -> tuple[float, float]:
    """The ends of the axis: shares from nothing to the whole, all else around what is shown."""
    if plot.unit == "%" and plot.reference is None:
        return 0.0, 1.0
    values = [
        value for point in plot.points for value in (point.low, point.value, point.high) if value is not None
    ]
    if plot.reference is not None:
        values.append(plot.reference)
    low, high = min(values, default=0.0), max(values, default=1.0)
    step = 10 ** math.floor(math.log10((high - low) or 1.0)) / 2
    return math.floor(low / step) * step, math.ceil(high / step + 0.01) * step


def _axis(plot: Plot, low: float, high: float, room: int) -> str:
    """The values at both ends and at the reference, as far as there is room."""
    first, last = shown(plot, low), shown(plot, high)
    cells = list(first + " " * (room - len(first) - len(last)) + last)
    if plot.reference is not None:
        label = shown(plot, plot.reference)
        start = round((plot.reference - low) / (high - low) * room) - len(label) // 2
        if start > len(first) and start + len(label) < room - len(last):
            cells[start : start + len(label)] = label
    return "".join(cells)


def _share(run: LabRun) -> float:
    return run.done / run.total if run.total else 0.0


def _command(run: LabRun) -> str:
    return f"navigator lab runs {run.name} --resume" if run.state not in ("complete", "running") else ""


def _fact(name: str, text: str, width: int) -> list[Line]:
    named = f"{name:<9}"
    return list(wrapped([(safe_line(text), "")], width, [(named, "muted")], " " * len(named))) if text else []
