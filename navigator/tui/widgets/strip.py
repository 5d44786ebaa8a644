"""The strip on top of every screen: which model is loaded, the progress of a swap, how full the batch is."""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content
from textual.widget import Widget

from navigator.tui.data.deck_snapshot import DeckSnapshot, LiveStatus
from navigator.tui.data.meter import Meter, meter_of
from navigator.tui.widgets.cells import Piece, justified, length
from navigator.tui.widgets.strip_text import StripFacts, strip_lines

_STYLES = {
    "muted": "$muted",
    "faint": "$faint",
    "accent": "$accent",
    "strong": "bold",
    "good": "$success",
    "bad": "$error",
    "warn": "$warning",
    "title": "bold",
}


def content_of(pieces: list[Piece]) -> Content:
    """Pieces as Textual content, in the theme's colours."""
    return Content.assemble(*((text, _STYLES[style]) if style else text for text, style in pieces))


class StatusStrip(Widget):
    """Shows the last snapshot. `full` takes a second line for the cost of reviewing now."""

    DEFAULT_CSS = """
    StatusStrip {
        dock: top;
        height: 1;
        padding: 0 1;
        background: $surface;
    }
    StatusStrip.full { height: 2; }
    """

    def __init__(self, title: str, facts: Callable[[], StripFacts], *, full: bool = False) -> None:
        super().__init__(classes="full" if full else "")
        self._title = title
        self._facts = facts
        self._snapshot = DeckSnapshot()
        self._live = LiveStatus()
        self._meter: Meter | None = None

    def show(self, snapshot: DeckSnapshot, live: LiveStatus) -> None:
        """Another snapshot. The meter walks every task, so it is computed again only when its inputs changed."""
        if self._meter is None and not snapshot.loaded and not snapshot.problem:
            return  # before the first look at the store there is nothing to say, and no need of the settings
        same = (
            snapshot is self._snapshot
            and live.status == self._live.status
            and live.conductor == self._live.conductor
        )
        if self._meter is None or not same:
            self._meter = meter_of(snapshot, live, self._facts().target)
        self._snapshot, self._live = snapshot, live
        self.refresh()

    @property
    def title(self) -> str:
        """The words at the left."""
        return self._title

    @title.setter
    def title(self, title: str) -> None:
        self._title = title
        self.refresh()

    def render(self) -> Content:
        """One or two lines."""
        width = self.size.width
        lines: tuple[list[Piece], list[Piece]] = ([], [])
        if self._meter is not None:
            lines = strip_lines(self._snapshot, self._live, self._facts(), self._meter, width)
        head = [("navigator", "title"), (f"  {self._title}" if self._title else "", "muted")]
        if length(head) + length(lines[0]) + 2 > width:
            head.pop()
        made = [content_of(justified(head, lines[0], width))]
        if self.size.height > 1:
            made.append(content_of(justified([], lines[1], width)))
        return Content("\n").join(made)
