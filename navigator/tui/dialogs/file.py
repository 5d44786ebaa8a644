"""Where to write a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from navigator.domain.text import safe_text
from navigator.tui.widgets.screen import Dialog


class FileDialog(Dialog):
    """Ends with the path of a file that does not exist yet, or with None.

    Args:
        question: one line.
        lines: what to know before answering.
        name: the path to begin with.
        endings: those that are allowed, each with its dot.
    """

    DEFAULT_CSS = """
    FileDialog > Vertical {
        width: 76; max-width: 94%; height: auto; max-height: 94%;
        padding: 1 2; background: $surface; border-left: outer $accent;
    }
    FileDialog Static { width: 1fr; height: auto; }
    FileDialog .lines { color: $muted; margin-top: 1; }
    FileDialog Input { height: 1; border: none; padding: 0 1; background: $panel; margin: 1 0; }
    FileDialog Input:focus { border: none; }
    FileDialog .answer { color: $faint; }
    FileDialog .answer.-ready { color: $foreground; }
    FileDialog .problem { color: $error; display: none; }
    FileDialog .problem.-shown { display: block; }
    """

    def __init__(self, question: str, lines: Sequence[str], *, name: str, endings: Sequence[str]) -> None:
        super().__init__()
        self._question = question
        self._lines = lines
        self._name = name
        self._endings = endings

    def compose(self) -> ComposeResult:
        """Question, lines, the path, answers."""
        keys = self.app.keymap
        with Vertical():
            yield Static(Content(safe_text(self._question)).stylize("bold"))
            yield Static(Content(safe_text("\n".join(self._lines))), classes="lines")
            yield Input(self._name, select_on_focus=False)
            yield Static("", classes="problem")
            yield Static(Content(f"enter write     {keys.shown('dialog.cancel')} cancel"), classes="answer")

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one(Input).focus()

    def armed(self) -> None:
        """Show that keys answer now."""
        self.query_one(".answer").add_class("-ready")

    @on(Input.Submitted)
    def _entered(self) -> None:
        self.action_confirm()

    def accept(self) -> None:
        """The path, unless it cannot be written."""
        path = Path(self.query_one(Input).value.strip()).expanduser()
        if problem := self._problem(path):
            shown = self.query_one(".problem", Static)
            shown.update(Content(safe_text(problem)))
            shown.add_class("-shown")
            return
        self.dismiss(path)

    def _problem(self, path: Path) -> str:
        if path.suffix not in self._endings:
            return f"The name must end with one of {', '.join(self._endings)}."
        try:
            if path.is_symlink() or path.exists():
                return f"{path} exists. Choose another name."
            if not path.absolute().parent.is_dir():
                return f"There is no folder {path.absolute().parent}."
        except OSError as error:
            return f"{path} cannot be written: {error.strerror}."
        return ""
