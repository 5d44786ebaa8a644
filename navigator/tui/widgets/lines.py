"""A few lines of pieces, drawn for the width there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content
from textual.widget import Widget

from navigator.model.text import safe_line
from navigator.tui.widgets.cells import Piece
from navigator.tui.widgets.strip import content_of

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
