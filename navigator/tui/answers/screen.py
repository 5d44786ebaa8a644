"""What the screens of a report and of a scan's suggestions share: the head, and the verbs on the task."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from textual import work

from navigator.actions.base import Done, Verb
from navigator.actions.deciding import SendBack
from navigator.actions.tasks import PutAway
from navigator.model.errors import NavigatorError
from navigator.model.models import Model, Suggestion, Task
from navigator.model.states import Role, TaskState
from navigator.tui.base import begin
from navigator.tui.data.deck_snapshot import DeckSnapshot, short_model
from navigator.tui.messages import OpenTask
from navigator.tui.terminal import open_in_editor
from navigator.tui.verbs import perform
from navigator.tui.widgets.cells import Piece, clip, cropped, justified, thousands
from navigator.tui.widgets.page import PieceLines
from navigator.tui.widgets.screen import NavScreen

if TYPE_CHECKING:
    from navigator.store.reads.loop import RoundCost
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
