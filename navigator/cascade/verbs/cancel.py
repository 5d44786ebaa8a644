"""Cancel tasks that have not ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.cascade.verbs.base import Question, Subject
from navigator.cascade.verbs.deciding import state_words
from navigator.cascade.verbs.task_verbs import TasksArgs, TaskVerb
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Task
from navigator.model.states import CANCELLABLE_TASK_STATES, TaskState

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction


class Cancel(TaskVerb):
    """A stage that runs ends at once. The proposal is kept: a retry starts from the beginning."""

    name = "task.cancel"
    small = True
    words = "cancelled"

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        if on.state in CANCELLABLE_TASK_STATES:
            return None
        if on.state is TaskState.CANCELLED:
            return Conflict(f"{on.task} is already cancelled.")
        hint = f"`navigator task show {on.task}` shows its history."
        if on.approved:
            hint = f"Take the approval back first: `navigator undo {on.proposal}`."
        return Conflict(f"{on.task} cannot be cancelled; it is {state_words(on)}.", hint=hint)

    def question(self, reader: Reader, args: TasksArgs) -> Question:
        found = [Subject.read(reader, identifier) for identifier in args.ids]
        lines = [f"{on.project}: {on.title}" for on in found]
        if any(on.proposal for on in found):
            lines.append("An open proposal is dropped; a retry writes it again.")
        return Question(f"Cancel {', '.join(on.task for on in found)}?", tuple(lines), "cancel the task")

    def move(self, tx: Transaction, task: Task) -> None:
        tx.set_task_state(task.id, TaskState.CANCELLED, reason="cancelled by the developer")
