"""One task whose answer is words: the head and the verbs on it, a report, and a task's own page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from textual import work
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from navigator.actions.base import Subject, SubjectVerb, Verb
from navigator.actions.send_back import SendBack, SendBackArgs
from navigator.actions.tasks import After, Cancel, PutAway, Retry, Tasks, TasksArgs
from navigator.model.errors import NavigatorError
from navigator.model.models import Event, Model, Suggestion, Task
from navigator.model.states import Role, TaskState
from navigator.model.text import safe_line, safe_text
from navigator.sheet.variants import predecessor_words, why_it_waits
from navigator.tui.base import OpenTask, begin
from navigator.tui.data.deck_snapshot import DeckSnapshot, short_model
from navigator.tui.terminal import open_in_editor
from navigator.tui.verbs import perform
from navigator.tui.widgets.cells import Piece, clip, cropped, justified, thousands
from navigator.tui.widgets.markdown import Line, drawn
from navigator.tui.widgets.page import Page, PieceLines
from navigator.tui.widgets.screen import NavScreen

if TYPE_CHECKING:
    from navigator.store.reads.loop import Predecessor, RoundCost
    from navigator.store.reads.reader import Reader


A = TypeVar("A", bound=Model)
R = TypeVar("R", bound=Model)


class AnswerScreen(NavScreen):
    """Over any screen; esc leaves it. A subclass shows the answer in `show_answer`."""

    CSS_PATH = "answers.tcss"

    def __init__(self, identifier: str) -> None:
        super().__init__()
        self.identifier = identifier
        self.answer: AnswerText | None = None

    def on_mount(self) -> None:
        """The head is drawn for the width there is."""
        self.query_one("#head", PieceLines).show(self._head)

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """Something changed, perhaps this task."""
        if snapshot.loaded:
            self._read()

    @work(exclusive=True, group="read")
    async def _read(self) -> None:
        try:
            answer = await self.app.feed.read(lambda reader: read_answer(reader, self.identifier))
        except NavigatorError as error:
            self.app.toast(str(error), "error")
            return
        if answer == self.answer:
            return
        self.answer = answer
        self.query_one("#head", PieceLines).refresh(layout=True)
        self.show_answer(answer)
        self.refresh_keys()

    def show_answer(self, answer: AnswerText) -> None:
        """Draw what the answer is now."""

    def word(self, answer: AnswerText) -> str:
        """Its state, in a word or two."""
        return answer.task.state.value.replace("_", " ")

    def _head(self, width: int) -> list[list[Piece]]:
        return head_lines(self.answer, self.word(self.answer), width) if self.answer is not None else [[], []]

    @property
    def waits(self) -> bool:
        """Whether it waits for the user."""
        return self.answer is not None and self.answer.task.state is TaskState.AWAITING_APPROVAL

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what fits the task's state."""
        return self.waits if action in ("put_away", "send_back") else super().check_action(action, parameters)

    # Actions

    def action_put_away(self) -> None:
        """Put it away."""
        args = TasksArgs(ids=(self.identifier,))
        begin(self, partial(self.perform, PutAway(), args, leave=True), group="decide")

    def action_send_back(self) -> None:
        """Start a new attempt, with a note."""
        args = SendBackArgs(proposals=(), tasks=(self.identifier,))
        begin(self, partial(self.perform, SendBack(), args, leave=True), group="decide")

    async def perform(self, verb: Verb[A, R], args: A, *, leave: bool = False) -> R | None:
        """Perform a verb on the task; leave the screen afterwards if it succeeded."""
        draft = f"note:{self.identifier}"
        result = await perform(self.app, verb, args, draft=draft)
        if result is not None and leave:
            if isinstance(verb, SendBack):
                self.app.want_work()
            self.dismiss(None)
        return result

    def action_copy(self) -> None:
        """Copy the whole report."""
        if self.answer is not None:
            self.app.copy_to_clipboard(self.answer.task.report)

    def action_editor(self) -> None:
        """Read it in $VISUAL or $EDITOR; changes there are not kept."""
        if self.answer is None:
            return
        try:
            open_in_editor(self.app, f"{self.identifier}.md", self.answer.task.report.encode())
        except NavigatorError as error:
            self.app.toast(str(error), "warning")

    def action_details(self) -> None:
        """The task's text, and its history."""
        self.post_message(OpenTask(self.identifier))


# One task whose answer is a text: what there is to show of it, read from the store in one go.


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A task, what its answer cost, who wrote it, and what a scan suggests."""

    task: Task
    cost: RoundCost
    role: Role
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def open(self) -> list[Suggestion]:
        """Suggestions that were neither accepted nor dismissed."""
        return [one for one in self.suggestions if one.state == "open"]


def read_answer(reader: Reader, identifier: str) -> AnswerText:
    """From the store; call it in the reading thread."""
    task = reader.task(identifier)
    role = reader.wrote(identifier) or Role.GENERATOR
    cost = reader.round_cost(task.id, task.attempt, task.round, role)
    found = reader.suggestions(task.id, attempt=task.attempt)
    return AnswerText(task, cost, role, tuple(found))


def head_lines(answer: AnswerText, word: str, width: int) -> list[list[Piece]]:
    """Task and title with its state; who wrote it, with what, at what cost."""
    task = answer.task
    title = task.text.strip().partition("\n")[0]
    left: list[Piece] = [
        (task.id, "accent"),
        (f" {clip(task.project, 24)}", "muted"),
        (" · ", "faint"),
        (clip(title, 400), "strong"),
    ]
    return [justified(left, [(word, "accent")], width), cropped(_makers(answer), width)]


def _makers(answer: AnswerText) -> list[Piece]:
    task, cost = answer.task, answer.cost
    pieces: list[Piece] = [(f"{task.kind.value}  ", "muted")]
    if cost.model:
        who = " (the reviewer's model)" if answer.role is Role.REVIEWER else ""
        pieces += [("by ", "muted"), (clip(short_model(cost.model), 24), ""), (who, "warn")]
        pieces.append((f"  {cost.prompt_version}", "muted"))
        usage = cost.usage
        tokens = f"{thousands(usage.prompt_tokens)} → {thousands(usage.completion_tokens)} tokens"
        pieces.append((f"  {tokens} in {usage.seconds:.1f} s", "muted"))
    if task.attempt:
        pieces.append((f"  attempt {task.attempt + 1}", "muted"))
    return pieces


# One task that has no proposal to decide on: its text, its report, and its history.


_VERBS: dict[str, SubjectVerb[Any, Tasks]] = {
    "put_away": PutAway(),
    "retry": Retry(),
    "cancel": Cancel(),
    "free": After(),
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
        self._perform(PutAway(), leave=True)

    def action_retry(self) -> None:
        """Start a new attempt."""
        self._perform(Retry())

    def action_stop(self) -> None:
        """Cancel it."""
        self._perform(Cancel())

    def action_free(self) -> None:
        """Start it without waiting for other tasks."""
        self._perform(After())

    def _perform(self, verb: SubjectVerb[Any, Tasks], *, leave: bool = False) -> None:
        begin(self, partial(self._performed, verb, leave), group="decide")

    async def _performed(self, verb: SubjectVerb[Any, Tasks], leave: bool) -> None:
        if await perform(self.app, verb, verb.args(ids=(self._identifier,))) is not None and leave:
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
    from navigator.sheet.events import event_words

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
