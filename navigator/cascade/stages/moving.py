"""Where a task goes once its review has a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.cascade.dependencies import Dependencies
from navigator.domain.models import Review, Task
from navigator.domain.states import TaskState, Verdict

if TYPE_CHECKING:
    from navigator.store.writes.writer import Transaction


def move_on(tx: Transaction, deps: Dependencies, task: Task, review: Review) -> None:
    """To its next revision, to the final model, or to the developer."""
    revise = review.verdict is Verdict.REVISE and not review.advice
    if revise and task.round < deps.settings.batch.revisions:
        tx.set_task_state(task.id, TaskState.REVISING, round=task.round + 1)
    elif deps.settings.final.enabled:
        tx.set_task_state(task.id, TaskState.FINAL_REVIEW)
    else:
        tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL)
