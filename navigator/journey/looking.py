"""A writer's turns of looking: each is a call whose answer asks to be shown more, and is answered in the same conversation.

A look is stored as such before its answer is used. A restart finds it there, makes the answer again from the pinned base, and
asks the model only what it had not answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from navigator.journey.calls import Message
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.looks import LookedTurn
from navigator.journey.prompts.material import Material
from navigator.journey.turn import ask
from navigator.model.models import Task
from navigator.model.records import Look
from navigator.model.states import Role
from navigator.model.text import safe_line

MOST_PATHS = 20
"""Paths that are kept of one look."""


async def ask_looking(
    deps: Dependencies, material: Material, purpose: str, version: str, messages: Sequence[Message]
) -> str | None:
    """Ask the writer, and show it what it asks for, until it answers with something else; None as `ask` says.

    Raises:
        ServingError: the server did not answer; the task is back where it was.
    """
    task, talk = material.task, material.talk
    last = deps.reader.last_answer(task.id, task.attempt, task.round, role=material.writer)
    after = last.call_id if last else 0
    while True:
        looked = talk.messages(task.round, after=after) if talk else []
        text = await ask(deps, task, material.writer, purpose, version, [*messages, *looked])
        if text is None or not await took_look(deps, material):
            return text


async def restore_looks(deps: Dependencies, material: Material) -> None:
    """Take up the looks that this attempt has made already, and the one that a crash left unread."""
    task, talk = material.task, material.talk
    if talk is None:
        return
    for turn in deps.reader.looks_asked(task.id, task.attempt, role=material.writer):
        async with deps.project_lock(task.project_id):
            await asyncio.to_thread(talk.take, turn.call_id, turn.round, turn.text)
    await took_look(deps, material)


async def took_look(deps: Dependencies, material: Material) -> bool:
    """Answer the newest answer of the round, if it asks to be shown something and was not judged yet."""
    task, talk = material.task, material.talk
    newest = deps.reader.last_answer(task.id, task.attempt, task.round, role=material.writer)
    if talk is None or newest is None or newest.outcome != "ok" or not talk.asks(newest.text, task.round):
        return False
    async with deps.project_lock(task.project_id):
        turn = await asyncio.to_thread(talk.take, newest.call_id, task.round, newest.text)
    number = sum(other.round == task.round for other in talk.turns)
    with deps.store.transaction() as tx:
        kept = records(task, material.writer, turn, number)
        tx.add_looks(newest.call_id, kept)
    return True


def records(task: Task, role: Role, turn: LookedTurn, number: int) -> list[Look]:
    """What is kept of a turn."""
    return [
        Look(
            task_id=task.id,
            attempt=task.attempt,
            round=task.round,
            role=role,
            turn=number,
            kind=answer.kind,
            target=safe_line(answer.asked),
            outcome=answer.outcome,
            paths=answer.paths[:MOST_PATHS],
            tokens=answer.tokens,
        )
        for answer in turn.answers
    ]
