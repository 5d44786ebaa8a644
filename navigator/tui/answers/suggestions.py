"""What a scan proposes: a list to choose from, with what stands behind each."""

from __future__ import annotations

from typing import Any

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container

from navigator.domain.models import Suggestion
from navigator.domain.text import safe_line
from navigator.store.reads.suggestions import ACCEPTED, OPEN
from navigator.tui.answers.answer import AnswerText
from navigator.tui.answers.markdown import Line, drawn, wrapped
from navigator.tui.answers.screen import AnswerScreen
from navigator.tui.widgets.cells import Piece, fit, length
from navigator.tui.widgets.lines import PieceLines
from navigator.tui.widgets.page import Page
from navigator.tui.widgets.rows import RowList

_KIND, _COMPLEXITY = 13, 9
_SHORT = 72
"""Cells below which a row leaves the complexity to the details."""


class SuggestionsScreen(AnswerScreen):
    """Over any screen; esc leaves it."""

    SCOPE = "suggestions"
    TITLE = "suggestions"
    AUTO_FOCUS = "#suggestions"
    DEFAULT_CSS = """
    SuggestionsScreen #both { height: 1fr; layout: vertical; }
    SuggestionsScreen #suggestions { height: 2fr; }
    SuggestionsScreen #details { height: 3fr; border-top: solid $panel; }
    SuggestionsScreen #details:focus { border-top: solid $accent; }
    SuggestionsScreen.-roomy, SuggestionsScreen.-wide {
        #both { layout: horizontal; }
        #suggestions { width: 1fr; height: 1fr; }
        #details { width: 1fr; height: 1fr; border-top: none; border-left: solid $panel; padding: 0 2; }
        #details:focus { border-top: none; border-left: solid $accent; }
    }
    """

    def compose_body(self) -> ComposeResult:
        """Who asked what and who answered; the list; the one under the cursor."""
        yield PieceLines(id="head")
        with Container(id="both"):
            yield RowList[Suggestion](
                lambda one: str(one.rank),
                self._row,
                heading=self._heading,
                selectable=True,
                empty=("It proposes nothing.", "", "i shows what it said"),
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
        """How many are left to choose from."""
        taken = sum(one.state == ACCEPTED for one in answer.suggestions)
        left = f"◇ {len(answer.open)} open" if self.waits else super().word(answer)
        return f"{left} · {taken} accepted" if taken else left

    # What is drawn

    def _heading(self, width: int) -> list[Piece]:
        chosen = len(self.rows.selection)
        note = f"   {chosen} selected" if chosen else ""
        return [("  PROPOSED", "heading"), (f"  {len(self.rows.rows)}", "title"), (note, "muted")]

    def _row(self, one: Suggestion, width: int) -> list[Piece]:
        settled = one.state != OPEN
        plain = "muted" if settled else ""
        head: list[Piece] = [
            (f"{one.rank:>3} ", "muted"),
            (fit(one.kind.value, _KIND), "muted" if settled else "accent"),
        ]
        if width >= _SHORT:
            head.append((fit(one.complexity.value, _COMPLEXITY), "muted"))
        end = _standing(one)
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
            f"  ·  {one.state}{f' as {one.made_task}' if one.made_task else ''}" if one.state != OPEN else ""
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
        """Nothing is chosen where nothing is there."""
        if action in ("accept", "reject"):
            return bool(self.answer and self.answer.suggestions)
        if action == "accept_all":
            return bool(self.answer and self.answer.open)
        return super().check_action(action, parameters)

    @property
    def chosen(self) -> list[Suggestion]:
        """The selected rows, or the one under the cursor."""
        current = self.rows.current
        return self.rows.selected_rows or ([current] if current is not None else [])

    @work(group="decide")
    async def action_accept(self) -> None:
        """Queue a task for each that is chosen."""
        await self._settle("suggestions.accept", {"ranks": [one.rank for one in self.chosen]})

    @work(group="decide")
    async def action_accept_all(self) -> None:
        """Queue a task for each that is open; a dialog asks first."""
        from navigator.tui.dialogs.confirm import ConfirmDialog

        if self.answer is None:
            return
        count = len(self.answer.open)
        question = f"Queue {count} task{'s' if count > 1 else ''} for {self.answer.task.project}?"
        if await self.app.push_screen_wait(ConfirmDialog(question, yes="queue them")):
            ranks = [one.rank for one in self.answer.open]
            await self._settle("suggestions.accept", {"ranks": ranks})

    @work(group="decide")
    async def action_reject(self) -> None:
        """Put away what is chosen."""
        await self._settle("suggestions.dismiss", {"ranks": [one.rank for one in self.chosen]})

    async def _settle(self, op: str, args: dict[str, Any]) -> None:
        if self.answer is None or not args["ranks"]:
            return
        sent = {"task": self._identifier, "attempt": self.answer.task.attempt}
        result = await self.app.ask(op, args | sent)
        if result is None:
            return
        self.rows.clear_selection()
        made = result.get("tasks", ())
        if made:
            names = ", ".join(str(task["id"]) for task in made[:6]) + (" …" if len(made) > 6 else "")
            self.app.toast(f"Queued {names}.")
            self.app.want_work()
        if self.waits and not any(one["state"] == OPEN for one in result["suggestions"]):
            self.dismiss(None)

    async def put_away(self) -> None:
        """Done: what is still open is dismissed, after a question."""
        from navigator.tui.dialogs.confirm import ConfirmDialog

        left = len(self.answer.open) if self.answer is not None else 0
        if left:
            words = "1 suggestion is" if left == 1 else f"{left} suggestions are"
            dialog = ConfirmDialog(f"Put {self._identifier} away? {words} dismissed.", yes="put it away")
            if not await self.app.push_screen_wait(dialog):
                return
        await super().put_away()

    def action_next_pane(self) -> None:
        """From the list to the details, and back."""
        self.query_one("#details" if self.rows.has_focus else "#suggestions").focus()


def _standing(one: Suggestion) -> list[Piece]:
    if one.state == ACCEPTED:
        return [(f"  ✓ {one.made_task}", "good")]
    if one.state != OPEN:
        return [("  – dismissed", "muted")]
    return [] if one.grounded else [("  ? unproved", "warn")]


def _evidence(one: Suggestion, width: int) -> list[Line]:
    """The line it stands on, or that none was found."""
    if one.grounded:
        head: Line = [("line  ", "muted"), (safe_line(f"{one.quote_path}:{one.quote_line}"), "")]
    else:
        words = "what it quotes stands nowhere in the files shown" if one.quote else "it quotes no line"
        head = [("line  ", "muted"), (f"? {words}", "warn")]
    quoted = (
        wrapped([(safe_line(one.quote), "accent")], width, [("      ", "")], "      ") if one.quote else ()
    )
    return [*wrapped(head, width, following="      "), *quoted]
