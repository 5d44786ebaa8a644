"""The drawing half of the diff view: rows on the line API, a cache of strips, syntax from a worker thread."""

from __future__ import annotations

from rich.segment import Segment
from textual import on
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.theme import Theme
from textual.worker import Worker, WorkerState

from navigator.model.diff import FileDiff
from navigator.tui.diff.cells import cells
from navigator.tui.diff.highlight import Result, Spans, SyntaxStore, lex
from navigator.tui.diff.layout import DiffRow, Layout, RowKind, Rows
from navigator.tui.diff.model import Mode
from navigator.tui.diff.paint import Cursor, Painter, Scene
from navigator.tui.theme import palette_for

STRIPS = 2048
"""Strips kept: some thirty screens."""

EMPTY = "reading the change…"

MAX_PAN = 20_000
"""Cells that code can be moved sideways; to read on in a line that is longer, wrap it."""

_WORKERS = "diff-syntax"

_StripKey = tuple[int, int, Cursor, bool]


class SyntaxReady(Message):
    """From the worker thread to the canvas: colours for some lines."""

    def __init__(self, generation: int, result: Result) -> None:
        super().__init__()
        self.generation = generation
        self.result = result


class DiffCanvas(ScrollView, inherit_bindings=False):
    """Draws a scene's rows. Scrolls down as any view does; sideways only the code moves, under fixed numbers."""

    ALLOW_SELECT = False

    mode: var[Mode] = var("unified", init=False)
    wrap: var[bool] = var(False, init=False)

    def __init__(
        self,
        *,
        mode: Mode,
        wrap: bool,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self.set_reactive(DiffCanvas.mode, mode)
        self.set_reactive(DiffCanvas.wrap, wrap)
        self._files: list[FileDiff] = []
        self._scene = Scene(())
        self._layout = Layout(Rows(()))
        self._painter: Painter | None = None
        self._strips: LRUCache[_StripKey, Strip] = LRUCache(STRIPS)
        self._syntax = SyntaxStore()
        self._lexing = False
        self._offset = 0
        self._widest: int | None = None
        self._cursor = 0

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, self._theme_changed)

    def _theme_changed(self, _: Theme) -> None:
        if self._painter is not None:
            self._repaint()

    # Layout

    def _set_scene(self, scene: Scene, rows: Rows) -> None:
        """Other rows: the diff, the annotations or the mode changed."""
        self._scene = scene
        self._layout = Layout(rows)
        self._cursor = min(self._cursor, max(0, len(rows) - 1))
        self._stack()

    def _stack(self) -> None:
        """The same rows, laid out again: their heights depend on the width and on wrapping."""
        painter = self._repaint()
        widths = painter.text_widths if self.wrap else None
        self._layout.measure(self._scene.files, widths, painter.box_height)
        self.virtual_size = Size(painter.width, self._layout.total)

    def _repaint(self) -> Painter:
        """Another painter: colours, the offset sideways or anything above changed."""
        self._painter = Painter(
            self._scene,
            palette_for(self.app.current_theme),
            mode=self.mode,
            width=self.scrollable_content_region.width,
            wrap=self.wrap,
            offset=self._offset,
        )
        self._strips.clear()
        self.refresh()
        return self._painter

    def _refresh_row(self, index: int) -> None:
        if index < len(self._layout.rows):
            self.refresh_lines(self._layout.top(index), self._layout.height(index))

    # Drawing

    def render_line(self, y: int) -> Strip:
        """One line of the screen: a search among the rows, and a strip from the cache."""
        painter = self._painter
        if painter is None:
            return Strip.blank(self.size.width, self.rich_style)
        top = round(self.scroll_y)
        if y == 0 and (header := self._sticky(top)) is not None:
            return painter.strip(DiffRow(RowKind.FILE, header), 0, 1)
        if top + y >= self._layout.total:
            return self._below(painter, top + y)
        index, sub = self._layout.at(top + y)
        row = self._layout.rows[index]
        syntax, known = self._syntax_of(row)
        key = (index, sub, self._cursor_on(index), known)
        strip = self._strips.get(key)
        if strip is None:
            strip = painter.strip(row, sub, self._layout.height(index), key[2], syntax)
            self._strips[key] = strip
        return strip

    def _below(self, painter: Painter, y: int) -> Strip:
        if y == 1 and not self._layout.rows:
            text = f"  {EMPTY}"[: painter.width].ljust(painter.width)
            return Strip([Segment(text, painter.palette.muted)], painter.width)
        return Strip.blank(painter.width, painter.palette.base)

    def _sticky(self, top: int) -> int | None:
        """The file whose header stays on the first line while its rows scroll under it."""
        if top == 0 or top >= self._layout.total:
            return None
        row = self._layout.rows[self._layout.at(top)[0]]
        return None if row.kind == RowKind.FILE or row.file < 0 else row.file

    def _cursor_on(self, index: int) -> Cursor:
        if index != self._cursor:
            return Cursor.AWAY
        return Cursor.FOCUSED if self.has_focus else Cursor.BLURRED

    def on_focus(self) -> None:
        self._refresh_row(self._cursor)

    def on_blur(self) -> None:
        self._refresh_row(self._cursor)

    # Syntax

    def _syntax_of(self, row: DiffRow) -> tuple[tuple[Spans, Spans], bool]:
        """Spans of the row's two lines, and whether they are known; unknown ones are sent for."""
        if row.kind not in (RowKind.LINE, RowKind.PAIR):
            return ((), ()), True
        first = self._syntax.spans(row.file, row.hunk, row.a) if row.a >= 0 else ()
        second = self._syntax.spans(row.file, row.hunk, row.b) if row.b >= 0 else ()
        if first is not None and second is not None:
            return (first, second), True
        if not self._lexing:
            self._lexing = True
            self.call_later(self._start_lexing)
        return (first or (), second or ()), False

    def _start_lexing(self) -> None:
        jobs = self._syntax.take_jobs(self._scene.files)
        if not jobs:
            self._lexing = False
            return
        generation = self._syntax.generation

        def work() -> None:
            self.post_message(SyntaxReady(generation, lex(jobs)))

        # A lexer that fails costs the colours of its lines, not the application.
        self.run_worker(work, thread=True, group=_WORKERS, exit_on_error=False)

    @on(SyntaxReady)
    def _take_syntax(self, message: SyntaxReady) -> None:
        message.stop()
        self._lexing = False
        self._syntax.add(message.generation, message.result)
        self.refresh()

    @on(Worker.StateChanged)
    def _watch_lexer(self, event: Worker.StateChanged) -> None:
        if event.worker.group != _WORKERS:
            return
        event.stop()
        if event.state is WorkerState.ERROR:
            self._lexing = False
            self._syntax.give_up()
            self.log.warning(f"no syntax colours for some lines: {event.worker.error!r}")

    # Sideways

    def _pan(self, by: int) -> None:
        """Move the code sideways, no further than the widest line needs."""
        if self.wrap or self._painter is None:
            return
        if self._widest is None:
            lines = (line.text for file in self._scene.files for hunk in file.hunks for line in hunk.lines)
            self._widest = max((MAX_PAN if len(line) > MAX_PAN else cells(line) for line in lines), default=0)
        room = min(self._painter.text_widths)
        offset = max(0, min(self._offset + by, min(self._widest, MAX_PAN) - room))
        if offset != self._offset:
            self._offset = offset
            self._repaint()
