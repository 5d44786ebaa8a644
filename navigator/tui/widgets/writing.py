"""Where the user writes: an editor that leaves the screens' own keys alone."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from navigator.tui.keys.registry import bindings_of

_LEFT_TO_SCREENS = frozenset({"ctrl+x", "ctrl+k", "ctrl+f"})
"""Keys of Textual's editor that mean something else on the screens that hold one."""


def _own_bindings() -> list[BindingType]:
    kept: list[BindingType] = []
    for binding in TextArea.BINDINGS:
        assert isinstance(binding, Binding)
        keys = [key for key in binding.key.split(",") if key not in _LEFT_TO_SCREENS]
        if keys:
            kept.append(Binding(",".join(keys), binding.action, binding.description, show=False))
    return kept


class Editor(TextArea, inherit_bindings=False):
    """Several lines of plain words, wrapped; tab moves on."""

    BINDINGS: ClassVar[list[BindingType]] = _own_bindings()

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

    def action_keep(self) -> None:
        """Done."""
        self.post_message(self.Kept(self))

    def action_put_aside(self) -> None:
        """Leave it."""
        self.post_message(self.PutAside(self))
