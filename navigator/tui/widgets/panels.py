"""Where the user writes: a search at the foot of a screen, a note, a comment, a task."""

from __future__ import annotations

from typing import ClassVar

from textual import getters
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Input, TextArea

from navigator.tui.base import BaseApp
from navigator.tui.keys import bindings_of


class SearchBar(Input):
    """One line to search with: enter goes to the next match, up to the previous one, esc closes."""

    app = getters.app(BaseApp)

    DEFAULT_CSS = """
    SearchBar {
        dock: bottom;
        display: none;
        height: 1;
        border: none;
        padding: 0 1;
        background: $surface;
        &:focus { border: none; }
        &.-open { display: block; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("searching")

    def on_mount(self) -> None:
        """Name the keys here: the line covers the footer."""
        keys = self.app.keymap
        self.placeholder = (
            f"search   {keys.shown('searching.next')} next   {keys.shown('searching.previous')} previous   "
            f"{keys.shown('searching.close')} close"
        )

    class Step(Message):
        """To the next match (1) or the previous one (-1); 0 closes."""

        def __init__(self, query: str, by: int) -> None:
            super().__init__()
            self.query = query
            self.by = by

    def open(self) -> None:
        """Start searching."""
        self.add_class("-open")
        self.focus()

    def action_next(self) -> None:
        """To the next match."""
        self._step(1)

    def action_previous(self) -> None:
        """To the previous match."""
        self._step(-1)

    def _step(self, by: int) -> None:
        if self.value:
            self.post_message(self.Step(self.value, by))

    def action_close(self) -> None:
        """Back to the diff."""
        self.remove_class("-open")
        self.post_message(self.Step("", 0))


class Editor(TextArea):
    """Several lines of plain words, wrapped; tab moves on."""

    DEFAULT_CSS = """
    Editor {
        border: none;
        padding: 0 1;
        background: $surface;
        color: $foreground;
        scrollbar-size-vertical: 1;
        &:focus { border: none; }
        & .text-area--cursor-line { background: $surface; }
        & .text-area--placeholder { color: $muted; }
    }
    """

    def __init__(self, text: str = "", *, placeholder: str = "", id: str | None = None) -> None:
        super().__init__(
            text,
            soft_wrap=True,
            tab_behavior="focus",
            show_line_numbers=False,
            highlight_cursor_line=False,
            placeholder=placeholder,
            id=id,
        )
        self.cursor_blink = False

    def put(self, text: str) -> None:
        """Replace everything, so that ctrl+z brings back what stood here."""
        self.replace(text, self.document.start, self.document.end)
        self.move_cursor(self.document.end)


class WritingArea(Editor):
    """An editor of a note or a comment: one key keeps what is written, one leaves it as a draft."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("writing")

    class Kept(Message):
        """The user is done."""

        def __init__(self, area: WritingArea) -> None:
            super().__init__()
            self.area = area

        @property
        def control(self) -> WritingArea:
            """The editor."""
            return self.area

    class PutAside(Kept):
        """The user leaves; the text stays a draft."""

    def action_send(self) -> None:
        """Done."""
        self.post_message(self.Kept(self))

    def action_put_aside(self) -> None:
        """Leave it."""
        self.post_message(self.PutAside(self))
