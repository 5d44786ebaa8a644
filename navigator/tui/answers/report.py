"""A report: a task's answer in words, to be read and put away."""

from __future__ import annotations

from textual.app import ComposeResult

from navigator.tui.answers.markdown import Line, drawn
from navigator.tui.answers.screen import AnswerScreen, AnswerText
from navigator.tui.widgets.page import Page, PieceLines

_COMFORTABLE = 100
"""Cells beyond which a line is hard to read."""


class ReportScreen(AnswerScreen):
    """Over any screen; esc leaves it."""

    SCOPE = "report"
    TITLE = "report"
    AUTO_FOCUS = "#report"
    DEFAULT_CSS = """
    ReportScreen Page { height: 1fr; padding: 1 2; }
    """

    def compose_body(self) -> ComposeResult:
        """Who asked what and who answered; the report."""
        yield PieceLines(id="head")
        yield Page(self._draw, id="report")

    def show_answer(self, answer: AnswerText) -> None:
        """The words, from their beginning."""
        self.query_one("#report", Page).redraw()

    def word(self, answer: AnswerText) -> str:
        """Its state."""
        return "REPORT" if self.waits else super().word(answer)

    def _draw(self, width: int) -> list[Line]:
        if self.answer is None:
            return []
        return drawn(self.answer.task.report, min(width, _COMFORTABLE))
