"""Where a task goes once its review has a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.journey.choosing import NOT_REVISED, good_variant, stop_revising
from navigator.journey.dependencies import Dependencies
from navigator.model.models import Review, Task
from navigator.model.states import Escalation, TaskState, Verdict

if TYPE_CHECKING:
    from navigator.store.writes.writer import Transaction


def move_on(tx: Transaction, deps: Dependencies, task: Task, review: Review) -> None:
    """To its next revision, to the final model, or to the developer; after a second reading always to the developer."""
    if task.escalated is Escalation.AGAIN:
        tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL, escalated=Escalation.NONE)
        return
    revise = review.verdict is Verdict.REVISE and not review.advice and not task.ref
    good = good_variant(tx, task) if revise else ""
    if good:
        tx.set_task_state(
            task.id, TaskState.AWAITING_APPROVAL, reason=NOT_REVISED.format(good), escalated=Escalation.NONE
        )
    elif revise and task.round < deps.settings.batch.revisions:
        tx.set_task_state(task.id, TaskState.REVISING, round=task.round + 1, escalated=Escalation.NONE)
    elif deps.settings.final.enabled:
        tx.set_task_state(task.id, TaskState.FINAL_REVIEW, escalated=Escalation.NONE)
    else:
        tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL, escalated=Escalation.NONE)
    if not revise:
        stop_revising(tx, task)
