"""A page of drawn lines to read and scroll: no cursor, one widget however long it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from navigator.model.text import safe_line
from navigator.tui.keys import bindings_of
from navigator.tui.widgets.cells import Piece
from navigator.tui.widgets.rows import ListKeys, drawn
from navigator.tui.widgets.strip import content_of

Line = Sequence[Piece]
"""One line as pieces; see `cells.Piece`."""

_NOT_HERE = frozenset({"list.select", "list.select_all"})


class Page(ListKeys, can_focus=True, inherit_bindings=False):
    """Lines that a function draws for a width.

    Args:
        draw: the lines, each at most as wide as it is told.
        follow: keep the last line in sight until the user scrolls up.
    """

    DEFAULT_CSS = """
    Page {
        background: $background;
        overflow-x: hidden;
        overflow-y: auto;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in bindings_of("list")
        if isinstance(binding, Binding) and binding.id not in _NOT_HERE
    ]

    def __init__(
        self, draw: Callable[[int], Sequence[Line]], *, follow: bool = False, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._draw = draw
        self._follow = follow
        self._lines: Sequence[Line] | None = None

    @property
    def lines(self) -> Sequence[Line]:
        """What is drawn at the present width."""
        if self._lines is None:
            width = self.scrollable_content_region.width
            self._lines = self._draw(width) if width > 0 else ()
        return self._lines

    def redraw(self) -> None:
        """Draw again."""
        at_end = self._follow and 0 < self.max_scroll_y <= self.scroll_offset.y
        self._lines = None
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.lines))
        if at_end:
            self.scroll_end(animate=False, force=True)
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """Another width."""
        self.redraw()

    def render_line(self, y: int) -> Strip:
        """One line of the widget."""
        width, base = self.scrollable_content_region.width, self.rich_style
        index = y + self.scroll_offset.y
        pieces = self.lines[index] if index < len(self.lines) else ()
        return drawn(self, pieces, width, base)

    @property
    def page_rows(self) -> int:
        """Lines that are on the screen at once, less one that stays."""
        return max(1, self.scrollable_content_region.height - 1)

    def go_by(self, rows: int) -> None:
        """Scroll."""
        self.scroll_to(y=self.scroll_offset.y + rows, animate=False, force=True)


# A few lines of pieces, drawn for the width there is.

Lines = Callable[[int], Sequence[Sequence[Piece]]]


class PieceLines(Widget):
    """Shows what a function makes for a width; its height is the number of lines, at most `most`."""

    DEFAULT_CSS = """
    PieceLines { height: auto; padding: 0 1; }
    """

    def __init__(self, *, most: int = 99, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._make: Lines = lambda width: ()
        self._most = most

    def show(self, make: Lines) -> None:
        """Show other lines."""
        self._make = make
        self.refresh(layout=True)

    def lines(self, width: int) -> list[Sequence[Piece]]:
        """The lines for a width; where there are too many, the last one says how many are left out."""
        made = list(self._make(width))
        if len(made) <= self._most:
            return made
        left = len(made) - self._most + 1
        return [*made[: self._most - 1], [(f"and {left} more", "muted")]]

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """One row a line."""
        return len(self.lines(width))

    def render(self) -> Content:
        """The lines."""
        return Content("\n").join(
            content_of([(safe_line(text), style) for text, style in line])
            for line in self.lines(self.content_size.width)
        )
