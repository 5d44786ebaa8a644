"""What a scan suggests: a list to choose from, with the details of each."""

from __future__ import annotations

from functools import partial

from textual import on
from textual.app import ComposeResult
from textual.containers import Container

from navigator.actions.tasks import Settle
from navigator.model.models import Suggestion
from navigator.model.states import SuggestionState
from navigator.model.text import safe_line
from navigator.tui.answers.screen import AnswerScreen, AnswerText
from navigator.tui.base import OpenTask, begin
from navigator.tui.widgets.cells import Piece, fit, length
from navigator.tui.widgets.markdown import Line, drawn, wrapped
from navigator.tui.widgets.page import Page, PieceLines
from navigator.tui.widgets.rows import RowList

_KIND, _COMPLEXITY = 13, 9
_SHORT = 72
"""Cells below which a row leaves the complexity to the details."""


class SuggestionsScreen(AnswerScreen):
    """Over any screen; esc leaves it."""

    SCOPE = "suggestions"
    TITLE = "suggestions"
    AUTO_FOCUS = "#suggestions"

    def compose_body(self) -> ComposeResult:
        """The head; the list; the suggestion under the cursor."""
        yield PieceLines(id="head")
        with Container(id="both"):
            yield RowList[Suggestion](
                lambda one: str(one.rank),
                self._row,
                heading=self._heading,
                selectable=True,
                empty=("No suggestions.", "", "i shows the report"),
                id="suggestions",
            )
            yield Page(self._details, id="details")

    @property
    def rows(self) -> RowList[Suggestion]:
        """The list."""
        return self.query_one("#suggestions", RowList)

    def show_answer(self, answer: AnswerText) -> None:
        """The list as it is now."""
        self.rows.set_rows(answer.suggestions)
        self.query_one("#details", Page).redraw()

    def word(self, answer: AnswerText) -> str:
        """How many are open, how many accepted."""
        taken = sum(one.state == SuggestionState.ACCEPTED for one in answer.suggestions)
        left = f"{len(answer.open)} open" if self.waits else super().word(answer)
        return f"{left} · {taken} accepted" if taken else left

    # What is drawn

    def _heading(self, width: int) -> list[Piece]:
        chosen = len(self.rows.selection)
        note = f"   {chosen} selected" if chosen else ""
        return [("  SUGGESTIONS", "heading"), (f"  {len(self.rows.rows)}", "title"), (note, "muted")]

    def _row(self, one: Suggestion, width: int) -> list[Piece]:
        settled = one.state != SuggestionState.OPEN
        plain = "muted" if settled else ""
        head: list[Piece] = [
            (f"{one.rank:>3} ", "muted"),
            (fit(one.kind.value, _KIND), "muted" if settled else "accent"),
        ]
        if width >= _SHORT:
            head.append((fit(one.complexity.value, _COMPLEXITY), "muted"))
        end = _proof_mark(one)
        room = width - length(head) - length(end) - 1
        title = one.text.partition("\n")[0]
        return [*head, (fit(title, room), plain), *end, (" ", "")]

    def _details(self, width: int) -> list[Line]:
        one = self.rows.current
        if one is None:
            return drawn(self.answer.task.report, width) if self.answer is not None else []
        title, _, body = one.text.partition("\n")
        lines: list[Line] = [*wrapped([(safe_line(title), "strong")], width)]
        state = (
            f"  ·  {one.state}{f' as {one.made_task}' if one.made_task else ''}"
            if one.state != SuggestionState.OPEN
            else ""
        )
        lines.append([(f"{one.kind.value} · {one.complexity.value}", "accent"), (state, "muted")])
        if body.strip():
            lines += [[], *drawn(body.strip(), width)]
        if one.why:
            lines += [
                [],
                *wrapped([("why   ", "muted"), (safe_line(one.why), "")], width, following="      "),
            ]
        lines += [[], *_evidence(one, width)]
        if one.files:
            lines.append([])
        for path in one.files:
            new = "  new" if path in one.new_files else ""
            lines += wrapped([(safe_line(path), ""), (new, "good")], width, [("file  ", "muted")], "      ")
        return lines

    @on(RowList.Moved)
    def _moved(self) -> None:
        page = self.query_one("#details", Page)
        page.scroll_to(y=0, animate=False, force=True)
        page.redraw()

    @on(RowList.Selected)
    def _selected(self) -> None:
        self.rows.refresh()

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what there is something to do with."""
        if action in ("approve", "reject"):
            return bool(self.answer and self.answer.suggestions)
        if action == "approve_batch":
            return bool(self.answer and self.answer.open)
        return super().check_action(action, parameters)

    @property
    def chosen(self) -> list[Suggestion]:
        """The selected rows, or the one under the cursor."""
        current = self.rows.current
        return self.rows.selected_rows or ([current] if current is not None else [])

    def action_approve(self) -> None:
        """Queue a task for each that is chosen."""
        self._settle(ranks=tuple(one.rank for one in self.chosen))

    def action_approve_batch(self) -> None:
        """Queue a task for each that is open; a dialog asks first."""
        self._settle(everything=True)

    def action_reject(self) -> None:
        """Dismiss what is chosen."""
        self._settle(ranks=tuple(one.rank for one in self.chosen), accept=False)

    def _settle(self, *, ranks: tuple[int, ...] = (), everything: bool = False, accept: bool = True) -> None:
        if self.answer is not None and (ranks or everything):
            attempt = self.answer.task.attempt
            verb = Settle(
                task=self.identifier, ranks=ranks, everything=everything, attempt=attempt, accept=accept
            )
            begin(self, partial(self._settled, verb), group="decide")

    async def _settled(self, verb: Settle) -> None:
        done = await self.perform(verb)
        if done is None:
            return
        self.rows.clear_selection()
        if done.data["tasks"]:
            self.app.want_work()
        left = any(one["state"] == SuggestionState.OPEN for one in done.data["suggestions"])
        if self.waits and not left:
            self.dismiss(None)

    def action_details(self) -> None:
        """The task's text, and its history."""
        self.post_message(OpenTask(self.identifier))

    def action_next_pane(self) -> None:
        """From the list to the details, and back."""
        self.query_one("#details" if self.rows.has_focus else "#suggestions").focus()


def _proof_mark(one: Suggestion) -> list[Piece]:
    if one.state == SuggestionState.ACCEPTED:
        return [(f"  ✓ {one.made_task}", "good")]
    if one.state != SuggestionState.OPEN:
        return [("  – dismissed", "muted")]
    return [] if one.grounded else [("  ? unproved", "warn")]


def _evidence(one: Suggestion, width: int) -> list[Line]:
    """The line it quotes, or that none was found."""
    if one.grounded:
        head: Line = [("line  ", "muted"), (safe_line(f"{one.quote_path}:{one.quote_line}"), "")]
    else:
        words = "its quote is in none of the files it was shown" if one.quote else "it quotes no line"
        head = [("line  ", "muted"), (f"? {words}", "warn")]
    quoted = (
        wrapped([(safe_line(one.quote), "accent")], width, [("      ", "")], "      ") if one.quote else ()
    )
    return [*wrapped(head, width, following="      "), *quoted]
