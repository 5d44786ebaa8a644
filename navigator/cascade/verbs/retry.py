"""Retry tasks that ended without landing: a new attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.cascade.verbs.base import Subject
from navigator.cascade.verbs.deciding import state_words
from navigator.cascade.verbs.task_verbs import TaskVerb
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Task
from navigator.model.states import RETRYABLE_TASK_STATES, TaskState

if TYPE_CHECKING:
    from navigator.store.writes.writer import Transaction


class Retry(TaskVerb):
    """The last attempt's note opens the new one too."""

    name = "task.retry"
    words = "queued again"

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        if on.state in RETRYABLE_TASK_STATES:
            return None
        hint = f"`navigator task show {on.task}` shows its history."
        if on.waiting:
            hint = f"To have the proposal written again: `navigator send-back {on.proposal} --note …`."
        elif on.state is TaskState.LANDED:
            hint = f"Undo the landing first: `navigator undo {on.proposal or 'P…'}`."
        return Conflict(
            f"{on.task} cannot be retried; it is {state_words(on)}. Only a task that ended without landing can.",
            hint=hint,
        )

    def move(self, tx: Transaction, task: Task) -> None:
        if task.ref:
            from navigator.cascade.stages.existing import again

            again(tx, task)
        else:
            tx.new_attempt(task.id, note=task.note)
