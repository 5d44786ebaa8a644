"""What every stage that writes does: ask the model, and move the task when no answer comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from navigator.client.errors import CutByLength, ServingError
from navigator.journey import change
from navigator.journey.calls import Message, call_model, is_tasks_fault
from navigator.journey.dependencies import Dependencies
from navigator.model.models import Task
from navigator.model.states import Role
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
        deps.move(change.give_up, task, f"The answer did not end within max_tokens = {server.max_tokens}.")
        return None
    except ServingError as error:
        if is_tasks_fault(deps, task, error, writer):
            deps.move(change.give_up, task, str(error))
            return None
        deps.move(change.write_later, task, str(error))
        raise
    return answer.text
