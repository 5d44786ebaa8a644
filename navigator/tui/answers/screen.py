"""One task whose answer is words: the head and the verbs on it, and the page with its report and its history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult

from navigator.actions.base import Done, Verb
from navigator.actions.deciding import SendBack
from navigator.actions.tasks import Cancel, PutAway, Retry, TaskVerb
from navigator.model.errors import NavigatorError
from navigator.model.models import Event, Suggestion, Task
from navigator.model.states import Role, SuggestionState, TaskState
from navigator.model.text import safe_line, safe_text, short_model
from navigator.sheet.marks import read_card
from navigator.sheet.variants import predecessor_words, why_it_waits
from navigator.tui.base import begin
from navigator.tui.deck_snapshot import DeckSnapshot
from navigator.tui.verbs import perform
from navigator.tui.widgets.cells import Piece, clip, cropped, justified
from navigator.tui.widgets.markdown import Line, drawn, wrapped
from navigator.tui.widgets.page import Page, PieceLines
from navigator.tui.widgets.screen import NavScreen

if TYPE_CHECKING:
    from navigator.store.reads.cards import Card
    from navigator.store.reads.loop import Predecessor
    from navigator.store.reads.reader import Reader


class AnswerScreen(NavScreen):
    """Over any screen; esc leaves it. A subclass draws the answer with `draw`, or shows it in widgets of its own."""

    CSS_PATH = "answers.tcss"
    AUTO_FOCUS = "#answer"

    def __init__(self, identifier: str) -> None:
        super().__init__()
        self.identifier = identifier
        self.answer: AnswerText | None = None

    def compose_body(self) -> ComposeResult:
        """Who asked what and who answered; the answer."""
        yield PieceLines(id="head")
        yield Page(self._lines, id="answer")

    def _lines(self, width: int) -> list[Line]:
        return list(self.draw(self.answer, width)) if self.answer is not None else []

    def draw(self, answer: AnswerText, width: int) -> Iterator[Line]:
        """The answer as lines."""
        yield from ()

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
        self.query_one("#answer", Page).redraw()

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
        verb = PutAway(ids=(self.identifier,))
        begin(self, partial(self.perform, verb, leave=True), group="decide")

    def action_send_back(self) -> None:
        """Start a new attempt, with a note."""
        verb = SendBack(tasks=(self.identifier,))
        begin(self, partial(self.perform, verb, leave=True), group="decide")

    async def perform(self, verb: Verb, *, leave: bool = False) -> Done | None:
        """Perform a verb on the task; leave the screen afterwards if it succeeded."""
        draft = f"note:{self.identifier}"
        done = await perform(self.app, verb, draft=draft)
        if done is not None and leave:
            if isinstance(verb, SendBack):
                self.app.want_work()
            self.dismiss(None)
        return done


# One task whose answer is a text: what there is to show of it, read from the store in one go.


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A task, who wrote its answer, what a scan suggests, what came before and what happened."""

    task: Task
    model: str
    role: Role
    suggestions: tuple[Suggestion, ...]
    events: tuple[Event, ...]
    before: list[Predecessor]
    on: Card

    @property
    def open(self) -> list[Suggestion]:
        """Suggestions that were neither accepted nor dismissed."""
        return [one for one in self.suggestions if one.state == SuggestionState.OPEN]


def read_answer(reader: Reader, identifier: str) -> AnswerText:
    """From the store; call it in the reading thread."""
    task = reader.task(identifier)
    role = reader.wrote(identifier) or Role.GENERATOR
    return AnswerText(
        task,
        reader.round_cost(task.id, task.attempt, task.round, role).model,
        role,
        tuple(reader.suggestions(task.id, attempt=task.attempt)),
        tuple(reader.task_events(identifier)),
        reader.predecessors(identifier),
        read_card(reader, identifier),
    )


def head_lines(answer: AnswerText, word: str, width: int) -> list[list[Piece]]:
    """Task and title with its state; who wrote it."""
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
    task = answer.task
    pieces: list[Piece] = [(f"{task.kind.value}  ", "muted")]
    if answer.model:
        who = " (the reviewer's model)" if answer.role is Role.REVIEWER else ""
        pieces += [("by ", "muted"), (clip(short_model(answer.model), 24), ""), (who, "warn")]
    if task.attempt:
        pieces.append((f"  attempt {task.attempt + 1}", "muted"))
    return pieces


_COMFORTABLE = 100
"""Cells beyond which a line is hard to read."""

_VERBS: dict[str, type[TaskVerb]] = {
    "put_away": PutAway,
    "retry": Retry,
    "stop": Cancel,
}
_QUIET = frozenset({"call_started", "call_judged", "proposal_batch"})


class TaskScreen(AnswerScreen):
    """A task that has no proposal to decide on: its report, its text and its history."""

    SCOPE = "task"
    TITLE = "task"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what fits the task's state."""
        if action not in _VERBS:
            return super().check_action(action, parameters)
        return self.answer is not None and _VERBS[action].refuse_one(self.answer.on) is None

    def action_retry(self) -> None:
        """Start a new attempt."""
        self._do("retry")

    def action_stop(self) -> None:
        """Cancel it."""
        self._do("stop")

    def _do(self, name: str) -> None:
        begin(self, partial(self.perform, _VERBS[name](ids=(self.identifier,))), group="decide")

    def word(self, answer: AnswerText) -> str:
        """Its state."""
        return "REPORT" if self.waits and answer.task.report else super().word(answer)

    def draw(self, answer: AnswerText, width: int) -> Iterator[Line]:
        """The report as Markdown; the text, why it waits, its notes; what happened, newest last."""
        task, width = answer.task, min(width, _COMFORTABLE)
        yield from [*drawn(task.report, width), [], [("TASK", "heading")]] if task.report.strip() else []
        after = predecessor_words(answer.before, task.project_id)
        if task.state is TaskState.QUEUED:
            after += (
                f"\n{why_it_waits(task.id, [(one.id, one.state) for one in answer.before if not one.met])}"
            )
        yield [(f"{task.complexity.value} · attempt {task.attempt + 1}, round {task.round}", "muted")]
        for title, text in (
            ("", task.text),
            ("after", after),
            ("note", task.note),
            ("reason", task.reason),
        ):
            if text.strip():
                yield []
                yield from [[(title, "heading")]] if title else []
                for line in safe_text(text.strip()).split("\n"):
                    yield from wrapped([(line.expandtabs(4), "")], width)
        yield []
        for event in answer.events:
            if event.kind not in _QUIET:
                yield from wrapped([(f"{event.at[11:19]}  {_told(event)}", "muted")], width, None, " " * 10)


def _told(event: Event) -> str:
    from navigator.sheet.writing import event_words

    kind, detail = event_words(event)
    if event.kind == "task_state":
        return detail
    return "  ".join(filter(None, (kind, safe_line(event.proposal_id), detail)))[:300]
