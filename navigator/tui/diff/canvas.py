"""The drawing half of the diff view: rows on the line API, a cache of strips, syntax after the paint."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from textual.cache import LRUCache
from textual.geometry import Size
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.theme import Theme

from navigator.model.diff import FileDiff
from navigator.tui.diff.highlight import Spans, SyntaxStore
from navigator.tui.diff.layout import DiffRow, Layout, RowKind
from navigator.tui.diff.model import Mode
from navigator.tui.diff.paint import Cursor, Painter, Scene
from navigator.tui.theme import palette_for

STRIPS = 2048
"""Strips kept: some thirty screens."""

EMPTY = "reading the change…"

_StripKey = tuple[int, int, Cursor, bool]


class DiffCanvas(ScrollView, inherit_bindings=False):
    """Draws a scene's rows."""

    ALLOW_SELECT = False

    mode: var[Mode] = var("unified", init=False)
    wrap: var[bool] = var(False, init=False)

    def __init__(self, *, mode: Mode = "unified", wrap: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self.set_reactive(DiffCanvas.mode, mode)
        self.set_reactive(DiffCanvas.wrap, wrap)
        self._files: list[FileDiff] = []
        self._scene = Scene(())
        self._layout = Layout(())
        self._painter: Painter | None = None
        self._strips: LRUCache[_StripKey, Strip] = LRUCache(STRIPS)
        self._syntax = SyntaxStore()
        self._lexing = False
        self._cursor = 0

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, self._theme_changed)

    def _theme_changed(self, _: Theme) -> None:
        if self._painter is not None:
            self._repaint()

    # Layout

    def _set_scene(self, scene: Scene, rows: Sequence[DiffRow]) -> None:
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
        """Another painter: colours or anything above changed."""
        self._painter = Painter(
            self._scene,
            palette_for(self.app.current_theme),
            mode=self.mode,
            width=self.scrollable_content_region.width,
            wrap=self.wrap,
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
        """Spans of the row's two lines, and whether they are known; unknown ones are lexed after the paint."""
        if row.kind not in (RowKind.LINE, RowKind.PAIR):
            return ((), ()), True
        first = self._syntax.spans(row.file, row.hunk, row.a) if row.a >= 0 else ()
        second = self._syntax.spans(row.file, row.hunk, row.b) if row.b >= 0 else ()
        if first is not None and second is not None:
            return (first, second), True
        if not self._lexing:
            self._lexing = True
            self.call_after_refresh(self._lex)
        return (first or (), second or ()), False

    def _lex(self) -> None:
        self._lexing = False
        self._syntax.lex_wanted(self._scene.files)
        self.refresh()
