"""Lab: the runs, the one under the cursor with its decision and plots; start one, stop it, go on, write it to a file."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import math
import shlex
from functools import partial
from pathlib import Path

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container
from textual.worker import Worker

from navigator.config.paths import write_new
from navigator.figures.intervals import ANECDOTAL_BELOW
from navigator.lab import runs as lab
from navigator.lab.runs import LabRun, Plot, Point, Started, figures, shown
from navigator.model.errors import NavigatorError
from navigator.model.text import safe_line
from navigator.tui.answers.markdown import wrapped
from navigator.tui.clock import seconds_since
from navigator.tui.dialogs.confirm import ConfirmDialog
from navigator.tui.dialogs.pick import FileDialog, LineDialog
from navigator.tui.keys.registry import Action
from navigator.tui.statistics.draw import interval
from navigator.tui.statistics.export import as_text
from navigator.tui.widgets.cells import Piece, bar, duration, fit, length, right
from navigator.tui.widgets.page import Line, Page
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import NavScreen

_READ = 1.0
"""Seconds between two looks at the runs' files while the screen is in front."""

_BEGIN = 0.1


class LabScreen(NavScreen):
    """Runs are processes of their own: they go on when the screens are left, and their files are read in a thread."""

    SCOPE = "lab"
    TITLE = "lab"
    CSS_PATH = "lab.tcss"
    AUTO_FOCUS = "#runs"

    def __init__(self) -> None:
        super().__init__()
        self._reading: Worker[None] | None = None

    def compose_body(self) -> ComposeResult:
        """The list, and the run under the cursor."""
        with Container(id="both"):
            yield RowList[LabRun](
                lambda run: run.name,
                run_row,
                heading=self._heading,
                empty=(
                    "Nothing was measured yet.",
                    "",
                    "The lab measures, on your own card, whether speculative decoding pays,",
                    f"and compares models on your own tasks. {self.app.keymap.shown('lab.add')} starts a run;",
                    "`navigator lab --help` and docs/lab.md say what there is.",
                ),
                id="runs",
            )
            yield Page(self._details, id="run")

    def on_mount(self) -> None:
        """Begin to look."""
        self.set_interval(_READ, self._read_if_shown)

    def on_screen_resume(self) -> None:
        """In front again: look at once."""
        super().on_screen_resume()
        self._read_if_shown()

    @property
    def rows(self) -> RowList[LabRun]:
        """The list."""
        return self.query_one("#runs", RowList)

    def _read_if_shown(self) -> None:
        if self.is_current:
            self._reading = self.run_worker(self._read, group="read", exclusive=True)

    async def _read(self) -> None:
        try:
            found = await asyncio.to_thread(lab.runs)
        except (NavigatorError, OSError) as error:
            self.app.toast(str(error), "error")
            return
        if found != list(self.rows.rows):
            self.rows.set_rows(found)
        self.set_class(not found, "-empty")
        self.query_one("#run", Page).redraw()
        self.refresh_keys()

    def _heading(self, width: int) -> list[Piece]:
        working = sum(run.state == "running" for run in self.rows.rows)
        note = f"   {working} running" if working else ""
        return [("  RUNS", "heading"), (f"  {len(self.rows.rows)}", "title"), (note, "muted")]

    def _details(self, width: int) -> list[Line]:
        run = self.rows.current
        return [] if run is None else run_lines(run, width)

    @on(RowList.Moved)
    def _moved(self) -> None:
        page = self.query_one("#run", Page)
        page.scroll_to(y=0, animate=False, force=True)
        page.redraw()
        self.refresh_bindings()
        self.refresh_keys()

    def offers(self, action: Action) -> bool:
        """What the run under the cursor allows."""
        run = self.rows.current
        if action.id == "lab.retry":
            return run is not None and run.state not in ("running", "complete")
        if action.id == "lab.stop":
            return run is not None and run.state == "running"
        return run is not None or action.id != "lab.write"

    # Actions

    def action_next_pane(self) -> None:
        """Between the list and the run."""
        (self.query_one("#run", Page) if self.rows.has_focus else self.rows).focus()

    @work
    async def action_add(self) -> None:
        """Ask what to measure, and start it."""
        known = ", ".join(" ".join(words) for words in lab.STARTS)
        dialog = LineDialog(
            "Start a run?",
            (f"The words after `navigator lab`: {known}, with their files.", f"Folder: {Path.cwd()}"),
            text="speculation measure ",
            yes="start",
            problem=_not_a_run,
        )
        text: str | None = await self.app.push_screen_wait(dialog)
        if text is not None:
            await self._begin(partial(lab.start, ("lab", *shlex.split(text)), Path.cwd()))

    @work
    async def action_retry(self) -> None:
        """Go on with the run under the cursor."""
        run = self.rows.current
        if run is not None:
            await self._begin(partial(lab.resume, run))

    async def _begin(self, begin: partial[Started]) -> None:
        """Start a process, and wait until it works or has failed."""
        try:
            started = await asyncio.to_thread(begin)
        except (NavigatorError, OSError) as error:
            self.app.toast(str(error), "error")
            return
        while not (started.over or await asyncio.to_thread(lambda: started.works)):
            await asyncio.sleep(_BEGIN)
        problem = await asyncio.to_thread(started.problem)
        if problem:
            self.app.toast(problem, "error")
        await self._read()
        for run in self.rows.rows:
            if run.pid == started.pid:
                self.rows.move_to_key(run.name)

    @work
    async def action_stop(self) -> None:
        """Stop the run under the cursor, after a question."""
        run = self.rows.current
        if run is None:
            return
        lines = ("What was measured is kept; it can go on later.", "A start that is under way is repeated.")
        if run.state == "running" and not await self.app.push_screen_wait(
            ConfirmDialog(f"Stop {run.name}?", lines, yes="stop")
        ):
            return
        try:
            lab.stop(run)
        except NavigatorError as error:
            self.app.toast(str(error), "error")

    @work
    async def action_write(self) -> None:
        """Ask for a file's name, and write the run there."""
        run = self.rows.current
        if run is None:
            return
        lines = (
            "The ending says what is written: .csv has one plotted figure a row,",
            f".json the run as it is, .txt this page. All measurements: {run.results}",
        )
        dialog = FileDialog(
            f"Write {run.name} to a file?", lines, name=f"navigator-{run.name}.csv", endings=ENDINGS
        )
        path: Path | None = await self.app.push_screen_wait(dialog)
        if path is None:
            return
        try:
            write_new(path, contents(run, path.suffix).encode())
        except OSError as error:
            self.app.toast(f"{path} cannot be written: {error.strerror}.", "error")
        else:
            self.app.toast(f"Wrote {path}.")


def _not_a_run(text: str) -> str:
    """Why these words do not make a run; "" where they do."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        return f"The words cannot be read: {error}."
    if not any(words[: len(start)] == start for start in lab.STARTS):
        return f"Begin with {' or '.join(' '.join(start) for start in lab.STARTS)}."
    return ""


# A run as the contents of a file.

ENDINGS = (".csv", ".json", ".txt")
"""What a run can be written as."""

_WIDTH = 100


def contents(run: LabRun, ending: str) -> str:
    """One run in the format of an ending."""
    if ending == ".csv":
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("run", "plot", "label", "value", "low", "high", "n", "unit", "note", "simulated"))
        for plot in run.plots:
            for point in plot.points:
                figures = (point.value, point.low, point.high, point.n, plot.unit, point.note)
                writer.writerow((run.name, plot.title, point.label, *figures, run.simulated))
        return stream.getvalue()
    if ending == ".json":
        return json.dumps(run.document(), indent=2, ensure_ascii=True) + "\n"
    return as_text(run_lines(run, _WIDTH))


# A run as a row of the list, and as a page: progress, decision, plots.

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
