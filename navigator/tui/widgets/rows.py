"""A list of any length on the line API: only the rows on the screen are ever drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from navigator.tui.keys import bindings_of
from navigator.tui.theme import piece_styles
from navigator.tui.widgets.cells import Piece, length

R = TypeVar("R")

GUTTER = 2
"""Cells before a row: the cursor's mark and the selection's."""


def drawn(widget: Widget, pieces: Sequence[Piece], width: int, base: Style) -> Strip:
    """Pieces as a strip of `width` cells, in the styles of the theme."""
    styles = piece_styles(widget.app.current_theme)
    segments = [Segment(text, base + styles[name]) for text, name in pieces if text]
    return Strip(segments, length(pieces)).adjust_cell_length(width, base)


class ListKeys(ScrollView):
    """The keys that move through a list, a page or a diff; a subclass says how with `go_by`, and how far a page is."""

    def go_by(self, rows: int) -> None:
        """Go so many rows down, or up; to the end where there are fewer."""
        raise NotImplementedError

    def page_by(self, rows: int) -> None:
        """Go as many rows as a page or half of it has, down or up."""
        self.go_by(rows)

    @property
    def page_rows(self) -> int:
        """Rows that are on the screen at once."""
        raise NotImplementedError

    def action_down(self) -> None:
        """Down."""
        self.go_by(1)

    def action_up(self) -> None:
        """Up."""
        self.go_by(-1)

    def action_half_page_down(self) -> None:
        """Half a page down."""
        self.page_by(self.page_rows // 2)

    def action_half_page_up(self) -> None:
        """Half a page up."""
        self.page_by(-(self.page_rows // 2))

    def action_page_down(self) -> None:
        """A page down."""
        self.page_by(self.page_rows)

    def action_page_up(self) -> None:
        """A page up."""
        self.page_by(-self.page_rows)

    def action_first(self) -> None:
        """To the first row."""
        self.go_by(-self.virtual_size.height)

    def action_last(self) -> None:
        """To the last row."""
        self.go_by(self.virtual_size.height)


class RowList(ListKeys, Generic[R], can_focus=True, inherit_bindings=False):
    """Rows under a heading that stays, with a cursor and, if wanted, a selection.

    The cursor and the selection follow rows by their keys when other rows are set.

    Attributes:
        rows: those that are set (`set_rows`).
        cursor: the index of the row under the cursor.

    Args:
        key: a row's key, unique among the rows.
        draw: a row as pieces that fill the width it is given.
        heading: the line above the rows as pieces, given its width; None for no such line.
        selectable: space selects.
        empty: shown where there are no rows, a few lines.
    """

    DEFAULT_CSS = """
    RowList {
        background: $background;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("list")

    @dataclass
    class Moved(Message):
        """The cursor is on another row."""

        rows: RowList[Any]

    class Chosen(Moved):
        """A row was double-clicked."""

    class Selected(Moved):
        """The selection changed."""

    def __init__(
        self,
        key: Callable[[R], str],
        draw: Callable[[R, int], Sequence[Piece]],
        *,
        heading: Callable[[int], Sequence[Piece]] | None = None,
        selectable: bool = False,
        empty: Sequence[str] = (),
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._key = key
        self._draw = draw
        self._heading = heading
        self._selectable = selectable
        self.empty = tuple(empty)
        self.rows: Sequence[R] = ()
        self.cursor = 0
        self._selection: set[str] = set()

    # What is shown

    @property
    def current(self) -> R | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.rows else None

    @property
    def selection(self) -> frozenset[str]:
        """Keys of the selected rows."""
        return frozenset(self._selection)

    @property
    def selected_rows(self) -> list[R]:
        """The selected rows, in order."""
        return [row for row in self.rows if self._key(row) in self._selection] if self._selection else []

    def set_rows(self, rows: Sequence[R]) -> None:
        """Show other rows. The cursor stays on its row where that is still there, else at its place."""
        if rows is self.rows:
            return
        current = self.current
        held = self._key(current) if current is not None else None
        before = self.cursor
        self.rows = rows
        if held is not None and not (before < len(rows) and self._key(rows[before]) == held):
            place = next((index for index, row in enumerate(rows) if self._key(row) == held), None)
            if place is not None:
                self.cursor = place
        self.cursor = max(0, min(self.cursor, len(rows) - 1))
        if self._selection:
            self._selection &= {self._key(row) for row in rows}
        self._resize_content()
        if self.cursor != before:
            self._reveal()
        self.refresh()
        now = self.current
        if (self._key(now) if now is not None else None) != held:
            self.post_message(self.Moved(self))

    def clear_selection(self) -> bool:
        """Select nothing; says whether something was selected."""
        if not self._selection:
            return False
        self._selection.clear()
        self.refresh()
        self.post_message(self.Selected(self))
        return True

    def move_to_key(self, key: str) -> None:
        """Put the cursor on the row with this key, if it is there."""
        place = next((index for index, row in enumerate(self.rows) if self._key(row) == key), None)
        if place is not None:
            self._move(place)

    def show_top(self) -> None:
        """Scroll up as far as the cursor stays in sight."""
        self.scroll_to(y=max(0, self.cursor - self.page_rows + 1), animate=False, immediate=True, force=True)

    # Drawing

    @property
    def _top(self) -> int:
        return 1 if self._heading else 0

    @property
    def page_rows(self) -> int:
        """Rows that are on the screen at once."""
        return max(1, self.size.height - self._top)

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    def _resize_content(self) -> None:
        self.virtual_size = Size(self._width, len(self.rows) + self._top)

    def on_resize(self) -> None:
        """The width follows the screen; the cursor stays in sight."""
        self._resize_content()
        self._reveal()

    def render_line(self, y: int) -> Strip:
        """One line of the widget."""
        width = self._width
        if self._heading is not None and y == 0:
            pieces = [*self._heading(width)]
            if self.has_focus:  # said here, too: an empty list has no cursor
                title, style = pieces[0]
                pieces[:1] = [
                    ("▌ ", "accent"),
                    (title.removeprefix("  "), "title" if title.strip() else style),
                ]
            return drawn(self, pieces, width, self.rich_style)
        index = y - self._top + round(self.scroll_y)
        if index >= len(self.rows):
            line = index if not self.rows else -1
            text = self.empty[line] if 0 <= line < len(self.empty) else ""
            return drawn(self, [(" " * GUTTER + text, "muted")], width, self.rich_style)
        row = self.rows[index]
        base, here = self.rich_style, index == self.cursor
        if here and self.has_focus:
            base += piece_styles(self.app.current_theme)["cursor"]
        selected = self._key(row) in self._selection
        gutter = [("▸" if here and self.has_focus else " ", "accent"), ("◆" if selected else " ", "accent")]
        pieces = [*gutter, *self._draw(row, width - GUTTER)]
        return drawn(self, pieces, width, base)

    # Moving

    def _move(self, to: int) -> None:
        to = max(0, min(to, len(self.rows) - 1))
        if to == self.cursor or not self.rows:
            return
        before, self.cursor = self.cursor, to
        if not self._reveal():
            for index in (before, to):
                self.refresh(Region(0, index - round(self.scroll_y) + self._top, self._width, 1))
        self.post_message(self.Moved(self))

    def _reveal(self) -> bool:
        """Scroll so that the cursor is on the screen; says whether it had to. Rows may be set before there is a screen."""
        if not self.is_attached:
            return False
        top = round(self.scroll_y)
        target = min(max(top, self.cursor - self.page_rows + 1), self.cursor)
        if target == top:
            return False
        self.scroll_to(y=target, animate=False, immediate=True, force=True)
        return True

    def on_focus(self) -> None:
        """The cursor shows that keys come here."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor shows that keys go elsewhere."""
        self.refresh()

    def go_by(self, rows: int) -> None:
        """Move the cursor."""
        self._move(self.cursor + rows)

    def action_select(self) -> None:
        """Select the row or not, and go on to the next."""
        if self._selectable and self._toggle(self.cursor):
            self._move(self.cursor + 1)

    def action_select_all(self) -> None:
        """Select every row, or none where all are."""
        if not self._selectable:
            return
        keys = {self._key(row) for row in self.rows}
        self._selection = set() if keys <= self._selection else keys
        self.refresh()
        self.post_message(self.Selected(self))

    def _toggle(self, index: int) -> bool:
        if not 0 <= index < len(self.rows):
            return False
        self._selection ^= {self._key(self.rows[index])}
        self.refresh()
        self.post_message(self.Selected(self))
        return True

    # The mouse

    def on_click(self, event: events.Click) -> None:
        """A click puts the cursor on a row, in the gutter it selects, a second one opens the row."""
        place = event.get_content_offset(self)
        if place is None:
            return
        index = place.y - self._top + round(self.scroll_y)
        if place.y < self._top or index >= len(self.rows):
            return
        self._move(index)
        if place.x < GUTTER and self._selectable:
            self._toggle(index)
        elif event.chain == 2:
            self.post_message(self.Chosen(self))
