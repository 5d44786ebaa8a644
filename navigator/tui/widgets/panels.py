"""Where the user writes: a note, a comment, a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message
from textual.widgets import TextArea

from navigator.tui.keys import bindings_of


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

    @dataclass
    class Kept(Message):
        """The user is done."""

        area: WritingArea

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
