"""One model call: announced in the store before it is made, recorded after it ended, its progress told live."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from navigator.cascade.dependencies import Dependencies, is_rehearsal
from navigator.domain.models import Task, Usage
from navigator.domain.states import Role
from navigator.serving.client.client import ChatRequest
from navigator.serving.client.errors import ServingError
from navigator.store.writes.ledger import LOST

if TYPE_CHECKING:
    from navigator.serving.client.client import ChatAnswer

log = logging.getLogger(__name__)

Message = dict[str, str]


async def call_model(
    deps: Dependencies,
    role: Role,
    task: Task,
    *,
    purpose: str,
    prompt_version: str,
    messages: Sequence[Message],
    max_tokens: int,
    schema: dict[str, Any] | None = None,
    seq: int = 0,
    thinking: bool | None = None,
) -> ChatAnswer:
    """Ask the server of `role` once; the call stands in the store whatever becomes of it.

    `seq` tells apart the calls of one purpose in a round, so that only asking the same thing again counts as a repeat.
    `thinking` None is as the settings say.

    A call that a crash cut off stays "started" there; asking the same again is counted as a repeat.

    Raises:
        ServingError: the answer does not count; the call is recorded with the error's code.
    """
    server = deps.settings.server(role)
    with deps.store.transaction() as tx:
        call = tx.begin_call(
            role=role,
            task_id=task.id,
            attempt=task.attempt,
            round=task.round,
            purpose=purpose,
            seq=seq,
            prompt_version=prompt_version,
        )
    request = ChatRequest(
        messages=list(messages),
        max_tokens=max_tokens,
        temperature=server.temperature,
        top_p=server.top_p,
        schema=schema,
        thinking=server.thinking if thinking is None else thinking,
        extra=server.extra_body,
    )

    def tell(characters: int, tail: str) -> None:
        deps.on_live({"task": task.id, "role": role.value, "purpose": purpose, "chars": characters})

    try:
        async with deps.lent_client(role) as client:
            answer = await client.chat(request, tell)
    except asyncio.CancelledError:
        # The session ends, or the task was cancelled: nobody will read an answer.
        with deps.store.transaction() as tx:
            tx.end_call(call, outcome=LOST)
        raise
    except ServingError as error:
        with deps.store.transaction() as tx:
            tx.end_call(
                call, outcome="failed", error_code=error.code, usage=error.usage, retries=error.retries
            )
        log.warning("%s: %s for %s: %s", role.value, purpose, task.id, error)
        raise
    with deps.store.transaction() as tx:
        tx.end_call(
            call,
            outcome="ok",
            model=answer.model,
            usage=answer.usage,
            retries=answer.retries,
            rehearsal=is_rehearsal(answer.model),
            # Some servers put what a schema constrains into the reasoning channel, with thinking off, too.
            answer=answer.text or (answer.reasoning if schema is not None else ""),
        )
    return answer


def usage_of(answers: Sequence[ChatAnswer]) -> Usage:
    """The sum over several answers."""
    total = Usage()
    for answer in answers:
        total += answer.usage
    return total
