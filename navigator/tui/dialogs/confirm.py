"""Questions: yes or no, and what becomes of the conductor when the screens are left.

The words of a question about a proposal or a task are in its verb: `question` in `actions/`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from navigator.model.errors import NavigatorError
from navigator.model.text import safe_text
from navigator.tui.data.prefs import DraftKeeper
from navigator.tui.keys.registry import bindings_of, in_group
from navigator.tui.widgets.panels import WritingArea
from navigator.tui.widgets.screen import Dialog


class ConfirmDialog(Dialog):
    """Ends with True, or with None when it is cancelled.

    Args:
        question: one line.
        lines: what is to be known before answering.
        yes: what enter does, in a word or two.
    """

    DEFAULT_CSS = """
    ConfirmDialog > Vertical {
        width: auto; min-width: 44; max-width: 90%; height: auto; max-height: 90%;
        padding: 1 2; background: $surface; border-left: outer $accent;
    }
    ConfirmDialog Static { width: auto; max-width: 100%; height: auto; }
    ConfirmDialog .lines { color: $muted; margin: 1 0; }
    ConfirmDialog .answer { color: $faint; }
    ConfirmDialog .answer.-ready { color: $foreground; }
    """

    def __init__(self, question: str, lines: Sequence[str] = (), *, yes: str = "yes") -> None:
        super().__init__()
        self._question = question
        self._lines = lines
        self._yes = yes

    def compose(self) -> ComposeResult:
        """Question, lines, answers."""
        keys = self.app.keymap
        with Vertical():
            yield Static(Content(safe_text(self._question)).stylize("bold"))
            if self._lines:
                yield Static(Content(safe_text("\n".join(self._lines))), classes="lines")
            yield Static(
                Content(
                    f"{keys.shown('dialog.confirm')} {self._yes}     {keys.shown('dialog.cancel')} cancel"
                ),
                classes="answer",
            )

    def armed(self) -> None:
        """Show that keys answer now."""
        self.query_one(".answer").add_class("-ready")


_STOP_WAIT = 5.0
"""Seconds to wait for the conductor's end before leaving anyway; it has been told."""


class QuitDialog(Dialog, inherit_bindings=False):
    """Asks whether the conductor keeps running."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("quit")
    DEFAULT_CSS = """
    QuitDialog > Vertical {
        width: 60; max-width: 96%; height: auto; max-height: 100%; padding: 1 2; overflow-y: auto;
        background: $surface; border-left: outer $accent;
    }
    QuitDialog Static { width: 100%; height: auto; }
    QuitDialog .lines { color: $muted; margin: 1 0; }
    """

    def compose(self) -> ComposeResult:
        """What is running, and the three answers."""
        keys = self.app.keymap
        answers = [
            Content.assemble((f"{keys.shown(action.id):>6}", "$accent"), f"  {action.label}")
            for action in in_group("quit")
        ]
        with Vertical():
            yield Static(Content("Quit Navigator?").stylize("bold"))
            yield Static(Content(self._unfinished()), classes="lines")
            yield Static(Content("\n").join(answers))

    def _unfinished(self) -> str:
        busy = self.app.link.live.status.get("busy")
        queued = len(self.app.snapshot.work)
        held = len(busy) if isinstance(busy, dict) else 0
        if not queued:
            return "The conductor has nothing to do."
        noun = "task is" if queued == 1 else "tasks are"
        return f"{queued} {noun} not finished, {held} of them running now."

    def action_leave_working(self) -> None:
        """The conductor is a separate process and keeps running."""
        if self.ready:
            self.app.exit()

    @work(exclusive=True)
    async def action_stop(self) -> None:
        """Stop it, wait a moment until it has ended, leave."""
        if not self.ready:
            return
        self.query_one(".lines", Static).update(Content("Stopping the conductor …"))
        try:
            await self.app.link.request("conduct", {"do": "stop"})
        except NavigatorError as error:
            if self.app.link.here:  # else it has ended, as it does between two presses of the key
                self.app.toast(str(error), "error")
                return
        deadline = asyncio.get_running_loop().time() + _STOP_WAIT
        while self.app.link.here and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.05)
        self.app.exit()

    def action_stay(self) -> None:
        """Stay."""
        self.dismiss(None)


# A note that goes with a decision: rejecting, or sending back.

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
                    f"{keys.shown('writing.send')} {self._yes}     {keys.shown('writing.put_aside')} cancel"
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
