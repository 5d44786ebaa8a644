"""Panels that open at the foot of a screen: writing a comment, searching."""

from __future__ import annotations

from typing import ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static, TextArea

from navigator.model.text import safe_line
from navigator.tui.base import BaseApp
from navigator.tui.keys.registry import bindings_of


class WritingPanel(Vertical):
    """A few lines to write in, under the line they are about. Closed until `open` is called."""

    app = getters.app(BaseApp)

    DEFAULT_CSS = """
    WritingPanel {
        dock: bottom;
        display: none;
        height: 6;
        background: $surface;
        border-left: outer $accent;
        &.-open { display: block; }
        & > Static { height: 1; padding: 0 1; color: $muted; background: $surface; }
        & > WritingArea { height: 1fr; }
    }
    """

    class Done(Message):
        """`key` is the one it was opened with; `kept` is False where it was left as a draft."""

        def __init__(self, key: str, text: str, *, kept: bool) -> None:
            super().__init__()
            self.key = key
            self.text = text
            self.kept = kept

    class Typed(Message):
        """The text has changed."""

        def __init__(self, key: str, text: str) -> None:
            super().__init__()
            self.key = key
            self.text = text

    key = ""

    def compose(self) -> ComposeResult:
        """What it is about, and the editor."""
        yield Static("", id="about")
        yield WritingArea()

    @property
    def is_open(self) -> bool:
        """Whether something is being written."""
        return self.has_class("-open")

    def open(self, key: str, about: str, text: str) -> None:
        """Start writing, from a draft or the saved text."""
        keymap = self.app.keymap
        hint = f"   {keymap.shown('writing.send')} save   {keymap.shown('writing.put_aside')} leave as draft"
        self.query_one("#about", Static).update(
            Content.assemble((safe_line(about), "$foreground bold"), (hint, "$muted"))
        )
        area = self.query_one(WritingArea)
        self.key = ""  # loading is not typing
        area.load_text(text)
        area.move_cursor(area.document.end)
        self.key = key
        self.add_class("-open")
        area.focus()

    def close(self) -> None:
        """Hide it."""
        self.remove_class("-open")
        self.key = ""

    def on_text_area_changed(self, event: WritingArea.Changed) -> None:
        """Tell the screen, which keeps the draft."""
        event.stop()
        if self.key:
            self.post_message(self.Typed(self.key, event.text_area.text))

    def on_writing_area_kept(self, event: WritingArea.Kept) -> None:
        """Done."""
        event.stop()
        self._end(event.area.text, kept=True)

    def on_writing_area_put_aside(self, event: WritingArea.PutAside) -> None:
        """Left."""
        event.stop()
        self._end(event.area.text, kept=False)

    def _end(self, text: str, *, kept: bool) -> None:
        key = self.key
        self.close()
        self.post_message(self.Done(key, text, kept=kept))


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


# Where the user writes.


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
