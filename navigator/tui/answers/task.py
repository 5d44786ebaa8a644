"""One task that has no proposal to decide on: its text, its report, and its history."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from navigator.actions.base import Subject
from navigator.actions.tasks import After, Cancel, PutAway, Retry, TaskVerb
from navigator.model.errors import NavigatorError
from navigator.model.models import Event, Task
from navigator.model.states import TaskState
from navigator.model.text import safe_line, safe_text
from navigator.sheet.variants import predecessor_words, why_it_waits
from navigator.tui.answers.markdown import Line, drawn
from navigator.tui.answers.screen import AnswerScreen, AnswerText
from navigator.tui.base import begin
from navigator.tui.data.deck_snapshot import DeckSnapshot
from navigator.tui.verbs import perform
from navigator.tui.widgets.page import Page, PieceLines
from navigator.tui.widgets.screen import NavScreen

if TYPE_CHECKING:
    from navigator.store.reads.loop import Predecessor

_VERBS: dict[str, type[TaskVerb]] = {
    "put_away": PutAway,
    "retry": Retry,
    "cancel": Cancel,
    "free": After,
}
_QUIET = frozenset({"call_started", "call_judged", "proposal_batch"})


class TaskScreen(NavScreen):
    """Over any screen; esc leaves it."""

    SCOPE = "task"
    TITLE = "task"
    CSS_PATH = "answers.tcss"

    def __init__(self, identifier: str) -> None:
        super().__init__()
        self._identifier = identifier
        self._held: Task | None = None
        self._on: Subject | None = None

    def compose_body(self) -> ComposeResult:
        """Head, text, outcome, history."""
        with VerticalScroll():
            yield Static(id="head")
            yield Static(id="text")
            yield Static(id="outcome")
            yield Static(id="events", classes="muted")

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """Something changed, perhaps this task."""
        if snapshot.loaded:
            self._read()

    @work(exclusive=True)
    async def _read(self) -> None:
        try:
            task, events, self._on, before = await self.app.feed.read(
                lambda reader: (
                    reader.task(self._identifier),
                    reader.task_events(self._identifier),
                    Subject.read(reader, self._identifier),
                    reader.predecessors(self._identifier),
                )
            )
        except NavigatorError as error:
            self.app.toast(str(error), "error")
            return
        self._held = task
        head = f"{task.id}  {safe_line(task.project)}"
        about = (
            f"{task.kind.value} · {task.complexity.value} · attempt {task.attempt + 1}, round {task.round}"
        )
        state = task.state.value.replace("_", " ")
        self.query_one("#head", Static).update(
            Content.assemble((head, "bold"), "   ", (state, "$accent"), "\n", (about, "$muted"))
        )
        self.query_one("#text", Static).update(Content(safe_text(task.text)))
        self.query_one("#outcome", Static).update(_outcome_content(task, before))
        self.query_one("#events", Static).update(Content("\n".join(_history_lines(events))))
        self.refresh_keys()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what fits the task's state."""
        verb = _VERBS.get(action)
        if action == "free" and not (self._held is not None and self._held.after):
            return False
        return verb is None or (self._on is not None and verb.refuse_one(self._on) is None)

    def action_put_away(self) -> None:
        """The report is read."""
        self._perform(PutAway, leave=True)

    def action_retry(self) -> None:
        """Start a new attempt."""
        self._perform(Retry)

    def action_stop(self) -> None:
        """Cancel it."""
        self._perform(Cancel)

    def action_free(self) -> None:
        """Start it without waiting for other tasks."""
        self._perform(After)

    def _perform(self, verb: type[TaskVerb], *, leave: bool = False) -> None:
        begin(self, partial(self._performed, verb, leave), group="decide")

    async def _performed(self, verb: type[TaskVerb], leave: bool) -> None:
        if await perform(self.app, verb(ids=(self._identifier,))) is not None and leave:
            self.dismiss(None)

    def action_copy(self) -> None:
        """The report, or the text."""
        if self._held is not None:
            self.app.copy_to_clipboard(self._held.report or self._held.text)


def _outcome_content(task: Task, before: list[Predecessor]) -> Content:
    parts: list[Content] = []
    after = predecessor_words(before, task.project_id)
    if task.state is TaskState.QUEUED:
        after += f"\n{why_it_waits(task.id, [(one.id, one.state) for one in before if not one.met])}"
    said = (("after", after.strip()), ("note", task.note), ("reason", task.reason), ("report", task.report))
    for title, text in said:
        if text:
            parts.append(Content.assemble((f"{title}\n", "$muted bold"), safe_text(text)))
    return Content("\n\n").join(parts)


def _history_lines(events: list[Event]) -> list[str]:
    """The history, one line per event, newest last."""
    return [f"{event.at[11:19]}  {_told(event)}" for event in events if event.kind not in _QUIET]


def _told(event: Event) -> str:
    from navigator.sheet.writing import event_words

    kind, detail = event_words(event)
    if event.kind == "task_state":
        return detail
    return "  ".join(filter(None, (kind, safe_line(event.proposal_id), detail)))[:300]


_COMFORTABLE = 100
"""Cells beyond which a line is hard to read."""


class ReportScreen(AnswerScreen):
    """Over any screen; esc leaves it."""

    SCOPE = "report"
    TITLE = "report"
    AUTO_FOCUS = "#report"

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
