"""A yes-or-no question."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from navigator.domain.text import safe_text
from navigator.tui.widgets.screen import Dialog


class ConfirmDialog(Dialog):
    """Ends with True, or with None where the developer thought better of it.

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
        keys = self.nav.keymap
        with Vertical():
            yield Static(Content(safe_text(self._question)).stylize("bold"))
            if self._lines:
                yield Static(Content(safe_text("\n".join(self._lines))), classes="lines")
            yield Static(
                Content(
                    f"{keys.shown('dialog.confirm')} {self._yes}     {keys.shown('dialog.cancel')} leave it"
                ),
                classes="answer",
            )

    def armed(self) -> None:
        """Say that keys answer now."""
        self.query_one(".answer").add_class("-ready")
