"""Questions: yes or no, or a note.

The words of a question about a proposal or a task are in its verb: `question` in `actions/`.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from navigator.model.text import safe_text
from navigator.tui.data.prefs import DraftKeeper
from navigator.tui.widgets.panels import WritingArea
from navigator.tui.widgets.screen import Dialog


class ConfirmDialog(Dialog):
    """Ends with True, or with None when it is cancelled.

    Args:
        question: one line.
        lines: what is to be known before answering.
        yes: what enter does, in a word or two.
    """

    CSS_PATH = "dialogs.tcss"

    def __init__(self, question: str, lines: Sequence[str] = (), *, yes: str = "yes") -> None:
        super().__init__()
        self._question = question
        self._lines = lines
        self._yes = yes

    def compose(self) -> ComposeResult:
        """Question, lines, answers."""
        with Vertical():
            yield Static(Content(safe_text(self._question)).stylize("bold"))
            if self._lines:
                yield Static(Content(safe_text("\n".join(self._lines))), classes="lines")
            yield from self.compose_field()
            yield Static(Content(self.answers()), classes="answer")

    def compose_field(self) -> ComposeResult:
        """What is filled in before answering."""
        yield from ()

    def answers(self) -> str:
        """The keys that answer."""
        keys = self.app.keymap
        return f"{keys.shown('dialog.confirm')} {self._yes}     {keys.shown('dialog.cancel')} cancel"

    def armed(self) -> None:
        """Show that keys answer now."""
        self.query_one(".answer").add_class("-ready")


# A note that goes with a decision: rejecting, or sending back.


class NoteDialog(ConfirmDialog):
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
        super().__init__(question, lines, yes=yes)
        self._key = key
        self._text = text
        self._drafts = drafts
        self._needed = needed
        self._placeholder = placeholder

    def compose_field(self) -> ComposeResult:
        """The editor, and why an empty note is refused."""
        yield WritingArea(self._text, placeholder=self._placeholder)
        yield Static(Content(self._needed), classes="problem")

    def answers(self) -> str:
        """The keys that answer."""
        send, leave = (self.app.keymap.shown(f"writing.{name}") for name in ("send", "put_aside"))
        return f"{send} {self._yes}     {leave} cancel     enter new line"

    def on_mount(self) -> None:
        """Write at once; a draft is continued at its end."""
        area = self.query_one(WritingArea)
        area.move_cursor(area.document.end)
        area.focus()

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
