"""What every stage that writes does: ask the model, keep a report, and move the task when no answer comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from navigator.client.errors import CutByLength, ServingError
from navigator.journey.calls import Message, call_model, is_tasks_fault
from navigator.journey.dependencies import Dependencies
from navigator.journey.testing import review_as_is
from navigator.model.models import Task
from navigator.model.states import Role, TaskState
from navigator.store.writes.ledger import LOOKED


async def ask(
    deps: Dependencies,
    task: Task,
    writer: Role,
    purpose: str,
    version: str,
    messages: Sequence[Message],
    *,
    schema: dict[str, Any] | None = None,
) -> str | None:
    """One call to the model that writes; None when the task ended here because its answer never fits.

    Raises:
        ServingError: the server did not answer; the task is back where it was.
    """
    server = deps.settings.server(writer)
    place = (task.id, task.attempt, task.round)
    looked = deps.reader.answers_judged(*place, LOOKED, writer)
    try:
        answer = await call_model(
            deps,
            writer,
            task,
            purpose=purpose,
            prompt_version=version,
            messages=messages,
            max_tokens=server.max_tokens,
            schema=schema,
            temperature=task.variation.temperature,
            seq=deps.reader.answers_refused(*place, writer) + looked,
        )
    except CutByLength:
        give_up(deps, task, f"The answer did not end within max_tokens = {server.max_tokens}.")
        return None
    except ServingError as error:
        if is_tasks_fault(deps, task, error, writer):
            give_up(deps, task, str(error))
            return None
        requeue(deps, task, str(error))
        raise
    return answer.text


def keep_report(deps: Dependencies, task: Task, text: str) -> None:
    """End the task with this text as its report."""
    with deps.store.transaction() as tx:
        tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL, report=text.strip(), reason="report")


def give_up(deps: Dependencies, task: Task, reason: str) -> None:
    """In round 0 the task fails; a revision that cannot be made leaves the last proposal to the developer.

    A repair of failing tests that cannot be made leaves the round's proposal to the reviewer, as it is.
    """
    if review_as_is(deps, task, f"The failing tests were not fixed. {reason}"):
        return
    if task.round == 0:
        put(deps, task, TaskState.FAILED, reason)
        return
    put(deps, task, TaskState.AWAITING_APPROVAL, f"Revision {task.round} could not be made. {reason}")


def requeue(deps: Dependencies, task: Task, reason: str) -> None:
    """Put the task back to where the round began."""
    put(deps, task, TaskState.QUEUED if task.round == 0 else TaskState.REVISING, reason)


def put(deps: Dependencies, task: Task, state: TaskState, reason: str) -> None:
    """Set a state, with the reason for the developer."""
    with deps.store.transaction() as tx:
        tx.set_task_state(task.id, state, reason=reason)


def move(deps: Dependencies, task: Task, state: TaskState) -> None:
    """Set a state, unless it is that already."""
    if deps.reader.task(task.id).state is state:
        return
    with deps.store.transaction() as tx:
        tx.set_task_state(task.id, state)
