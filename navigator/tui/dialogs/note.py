"""A note that goes with a decision: rejecting, or sending back."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from navigator.model.text import safe_text
from navigator.tui.data.prefs import DraftKeeper
from navigator.tui.widgets.screen import Dialog
from navigator.tui.widgets.writing import WritingArea

NEW_LINE = "enter new line"
"""What enter does where a note is written: elsewhere it confirms."""


class NoteDialog(Dialog):
    """Ends with the note, or with None; what was typed then stays as a draft.

    Args:
        question: one line.
        lines: what to know before answering.
        key: the draft's key.
        text: the draft.
        drafts: keeps it.
        needed: why an empty note is refused; "" where it is optional.
        placeholder: shown while the note is empty.
        yes: what the key that sends does.
    """

    DEFAULT_CSS = """
    NoteDialog > Vertical {
        width: 76; max-width: 94%; height: auto; max-height: 94%;
        padding: 1 2; background: $surface; border-left: outer $accent;
    }
    NoteDialog Static { width: 1fr; height: auto; }
    NoteDialog .lines { color: $muted; margin-top: 1; max-height: 8; }
    NoteDialog WritingArea { height: 6; margin: 1 0; background: $panel; }
    NoteDialog .answer { color: $faint; }
    NoteDialog .answer.-ready { color: $foreground; }
    NoteDialog .problem { color: $error; display: none; }
    NoteDialog .problem.-shown { display: block; }
    """

    def __init__(
        self,
        question: str,
        lines: Sequence[str],
        *,
        key: str,
        text: str,
        drafts: DraftKeeper,
        needed: str = "",
        placeholder: str = "a note (optional)",
        yes: str = "send",
    ) -> None:
        super().__init__()
        self._question = question
        self._lines = lines
        self._key = key
        self._text = text
        self._drafts = drafts
        self._needed = needed
        self._placeholder = placeholder
        self._yes = yes

    def compose(self) -> ComposeResult:
        """Question, lines, editor, answers."""
        keys = self.app.keymap
        with Vertical():
            yield Static(Content(safe_text(self._question)).stylize("bold"))
            if self._lines:
                yield Static(Content(safe_text("\n".join(self._lines))), classes="lines")
            yield WritingArea(self._text, placeholder=self._placeholder)
            yield Static(Content(self._needed), classes="problem")
            yield Static(
                Content(
                    f"{keys.shown('writing.keep')} {self._yes}     {keys.shown('writing.put_aside')} cancel"
                    f"     {NEW_LINE}"
                ),
                classes="answer",
            )

    def on_mount(self) -> None:
        """Write at once; a draft is continued at its end."""
        area = self.query_one(WritingArea)
        area.move_cursor(area.document.end)
        area.focus()

    def armed(self) -> None:
        """Show that keys answer now."""
        self.query_one(".answer").add_class("-ready")

    def on_text_area_changed(self, event: WritingArea.Changed) -> None:
        """Keep the draft."""
        self._drafts.keep(self._key, event.text_area.text)

    def on_writing_area_kept(self, event: WritingArea.Kept) -> None:
        """Send."""
        event.stop()
        self.action_confirm()

    def on_writing_area_put_aside(self, event: WritingArea.PutAside) -> None:
        """Leave."""
        event.stop()
        self.action_cancel()

    def accept(self) -> None:
        """The note, unless one is needed and there is none."""
        text = self.query_one(WritingArea).text.strip()
        if self._needed and not text:
            self.query_one(".problem").add_class("-shown")
            return
        self.dismiss(text)
