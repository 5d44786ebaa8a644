"""One line of text: where to write a file, and whatever else is answered in a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from navigator.model.text import safe_text
from navigator.tui.widgets.screen import Dialog


class LineDialog(Dialog):
    """Ends with what was typed, or with None.

    Args:
        question: one line.
        lines: what to know before answering.
        text: what to begin with.
        yes: what enter does, in a word.
        problem: why a text is refused; "" where it is not.
    """

    DEFAULT_CSS = """
    LineDialog > Vertical {
        width: 76; max-width: 94%; height: auto; max-height: 94%;
        padding: 1 2; background: $surface; border-left: outer $accent;
    }
    LineDialog Static { width: 1fr; height: auto; }
    LineDialog .lines { color: $muted; margin-top: 1; }
    LineDialog Input { height: 1; border: none; padding: 0 1; background: $panel; margin: 1 0; }
    LineDialog Input:focus { border: none; }
    LineDialog .answer { color: $faint; }
    LineDialog .answer.-ready { color: $foreground; }
    LineDialog .problem { color: $error; display: none; }
    LineDialog .problem.-shown { display: block; }
    """

    def __init__(
        self, question: str, lines: Sequence[str], *, text: str, yes: str, problem: Callable[[str], str]
    ) -> None:
        super().__init__()
        self._question = question
        self._lines = lines
        self._text = text
        self._yes = yes
        self._problem = problem

    def compose(self) -> ComposeResult:
        """Question, lines, the text, answers."""
        keys = self.app.keymap
        with Vertical():
            yield Static(Content(safe_text(self._question)).stylize("bold"))
            yield Static(Content(safe_text("\n".join(self._lines))), classes="lines")
            yield Input(self._text, select_on_focus=False)
            yield Static("", classes="problem")
            answers = f"enter {self._yes}     {keys.shown('dialog.cancel')} cancel"
            yield Static(Content(answers), classes="answer")

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
        """The text, unless it is refused."""
        text = self.query_one(Input).value.strip()
        if problem := self._problem(text):
            shown = self.query_one(".problem", Static)
            shown.update(Content(safe_text(problem)))
            shown.add_class("-shown")
            return
        self.dismiss(self.answer(text))

    def answer(self, text: str) -> Any:
        """What the dialog ends with."""
        return text


class FileDialog(LineDialog):
    """Ends with the path of a file that does not exist yet, or with None.

    Args:
        question: one line.
        lines: what to know before answering.
        name: the path to begin with.
        endings: those that are allowed, each with its dot.
    """

    def __init__(self, question: str, lines: Sequence[str], *, name: str, endings: Sequence[str]) -> None:
        super().__init__(question, lines, text=name, yes="write", problem=self._refused)
        self._endings = endings

    def answer(self, text: str) -> Path:
        """The path."""
        return Path(text).expanduser()

    def _refused(self, text: str) -> str:
        path = self.answer(text)
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
