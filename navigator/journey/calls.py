"""One model call: announced in the store before it is made, recorded after it ended, its progress told live."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

from navigator.client.body import ChatRequest
from navigator.client.errors import CutByLength, Refused, ServingError, Unreachable
from navigator.config.settings import ServerSettings
from navigator.journey import moves
from navigator.journey.dependencies import Dependencies
from navigator.journey.reviewing.answer import said_by
from navigator.model.models import Task
from navigator.model.states import Role
from navigator.store.reads.ledger import StoredAnswer
from navigator.store.reads.reader import Reader
from navigator.store.writes.ledger import LOOKED, LOST, REFUSED, TESTS_FAILED
from navigator.store.writes.writer import Store

log = logging.getLogger(__name__)

Message = dict[str, str]

FAILED_CALLS_A_ROUND = 3
"""Calls of one round that may break off (stalled, cut, timed out) before the task, not the server, is at fault."""

TOP_LOGPROBS = 5
"""Alternatives of each token that the generator's server is asked for: every server allows so many."""

TASKS_OWN_FAULT = frozenset({400, 413, 422})
"""HTTP statuses about this request; others (401, 404 …) are about the server and concern every task."""


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
    temperature: float | None = None,
    exam_item: int | None = None,
    shows: str = "",
) -> StoredAnswer:
    """Ask the server of `role` once; the call is recorded whatever becomes of it.

    A call that a crash cut off stays "started" in the store; asking the same again is counted as a repeat.

    Args:
        seq: tells apart the calls of one purpose in a round, so that only asking the same thing again counts as a repeat.
        temperature: None is as the settings say.
        exam_item: what it is about where that is no task; its progress is not told.
        shows: names what the prompt shows. An answer to the same that was kept before a crash is given again; "" asks again.

    Raises:
        ServingError: the answer does not count; the call is recorded with the error's code.
    """
    if shows:
        place = (task.id, task.attempt, task.round, purpose, seq)
        if (kept := deps.reader.kept_answer(*place, prompt_version, shows)) is not None:
            return kept
    with deps.store.transaction() as tx:
        call = tx.begin_call(
            role=role,
            task_id=task.id,
            attempt=task.attempt,
            round=task.round,
            purpose=purpose,
            exam_item=exam_item,
            seq=seq,
            prompt_version=prompt_version,
            prompt_hash=shows,
        )
    about = task.id or f"exam item {exam_item}"
    server = deps.settings.server(role)
    request = chat_request(server, messages, max_tokens, schema, temperature)
    live = {"task": task.id, "role": role.value, "purpose": purpose}

    def tell(chars: int) -> None:
        if task.id:
            deps.on_live({**live, "chars": chars})

    began = time.monotonic()
    try:
        async with deps.servers.lent(role) as client:
            answer = await client.chat(request, tell)
    except asyncio.CancelledError:
        _end_call(deps.store, call, outcome=LOST)
        raise
    except ServingError as error:
        await _failed(deps, call, role, error, began)
        # Of a server that is gone the conductor says it once for all that was asked.
        level = logging.DEBUG if isinstance(error, Unreachable) else logging.WARNING
        log.log(level, "%s: %s for %s: %s", role.value, purpose, about, error)
        raise
    # Some servers put what a schema constrains into the reasoning channel, even with thinking off.
    text = said_by(answer.text, answer.reasoning) if schema is not None else answer.text
    _end_call(
        deps.store,
        call,
        outcome="ok",
        model=answer.model,
        usage=answer.usage,
        entropy=answer.entropy,
        retries=answer.retries,
        answer=text,
    )
    return StoredAnswer(call, task.round, text, answer.model, usage=answer.usage)


async def _failed(deps: Dependencies, call: int, role: Role, error: ServingError, began: float) -> None:
    code = error.code
    try:
        # What was cut off on the way says nothing about the task, nor about the server.
        if role is not Role.FINAL and await deps.servers.strategy.was_cut_since(began):
            code = "connection_lost"
    finally:
        _end_call(
            deps.store, call, outcome="failed", error_code=code, usage=error.usage, retries=error.retries
        )


def _end_call(store: Store, call: int, **result: Any) -> None:
    with store.transaction() as tx:
        tx.end_call(call, **result)


def chat_request(
    server: ServerSettings,
    messages: Sequence[Message],
    max_tokens: int,
    schema: dict[str, Any] | None = None,
    temperature: float | None = None,
) -> ChatRequest:
    """A request with the server's own sampling settings; `temperature` None is as they say."""
    return ChatRequest(
        messages=list(messages),
        max_tokens=max_tokens,
        temperature=server.temperature if temperature is None else temperature,
        top_p=server.top_p,
        schema=schema,
        thinking=server.thinking,
        extra=server.extra_body,
        top_logprobs=TOP_LOGPROBS if getattr(server, "logprobs", False) else 0,
    )


def opening(system: str, user: str) -> tuple[Message, Message]:
    """The two messages that open a conversation."""
    return {"role": "system", "content": system}, {"role": "user", "content": user}


def is_requests_fault(error: ServingError) -> bool:
    """Whether the server said that it is this request that it does not take."""
    return isinstance(error, Refused) and error.status in TASKS_OWN_FAULT


def is_tasks_fault(reader: Reader, task: Task, error: ServingError, role: Role) -> bool:
    """Whether this request, not the server, is at fault for a failed call: asking again later would change nothing."""
    if is_requests_fault(error):
        return True
    return reader.failed_calls(task.id, task.attempt, task.round, role) >= FAILED_CALLS_A_ROUND


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
            seq=deps.reader.answers_judged(*place, writer, REFUSED, TESTS_FAILED, LOOKED),
        )
    except CutByLength:
        deps.move(moves.give_up, task, f"The answer did not end within max_tokens = {server.max_tokens}.")
        return None
    except ServingError as error:
        if is_tasks_fault(deps.reader, task, error, writer):
            deps.move(moves.give_up, task, str(error))
            return None
        deps.move(moves.write_later, task, str(error))
        raise
    return answer.text
