"""A reviewer's turns of looking at the proposed tree, where the settings allow any: before its review, in the same conversation.

Such a turn is asked for without a schema, since a look is no JSON. An answer that is a review already is the review.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from navigator.client.body import ChatAnswer
from navigator.client.errors import BadAnswer, CutByLength
from navigator.context.build import Context
from navigator.context.looker import Looker
from navigator.context.looks import MOST_REQUESTS
from navigator.git.source import TreeSource
from navigator.journey.calls import Message, call_model
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.looks import LookedTurn, LookTalk
from navigator.journey.prompts.material import Material
from navigator.journey.reviewing.prompt import OVERHEAD, Reading
from navigator.journey.subject import Change
from navigator.journey.turn import ask
from navigator.model.models import Task
from navigator.model.records import Look
from navigator.model.states import Role
from navigator.model.text import safe_line

LEAST_ROOM = 1_000
"""Tokens; where the server's context leaves fewer beside the prompt and the answer, nothing can be looked at."""

SEQS = 100
"""Numbers of calls that are kept apart for the looks of one prompt."""


@dataclass(frozen=True)
class Looked:
    """The conversation after the looks, the answers that asked for them, and the one that ended them, if one did."""

    messages: Sequence[Message]
    asked: Sequence[ChatAnswer] = ()
    answer: ChatAnswer | None = None


async def look_first(
    deps: Dependencies, subject: Change, reading: Reading, *, purpose: str, seq: int, max_tokens: int
) -> Looked:
    """Let the reviewer look, as often as it may; nothing is asked where it may not.

    Looks that were answered before a restart are made again from the tree, not asked for again.

    Raises:
        ServingError: the server did not answer.
    """
    messages = list(reading.messages)
    rules = deps.settings.reviewer
    room = rules.context_tokens - max_tokens - reading.tokens - OVERHEAD
    task, item = subject.task, subject.exam_item
    if not rules.looks or room < LEAST_ROOM or not task.project_id:
        return Looked(messages)
    talk = await asyncio.to_thread(_talk, deps, subject, room)
    _, offer, version = deps.prompts.render(
        "look-review", looks=rules.looks, most_requests=MOST_REQUESTS, look_tokens=rules.look_tokens
    )
    messages[-1] = messages[-1] | {"content": f"{messages[-1]['content']}\n\n{offer}"}
    name = purpose if item is not None else f"{purpose} look"
    kept = deps.reader.answers_of(task.id, task.attempt, task.round, name) if item is None else {}
    asked: list[ChatAnswer] = []
    while talk.left(task.round):
        number = seq * SEQS + len(talk.turns)
        conversation = [*messages, *talk.messages(task.round)]
        text = kept.get(number, "")
        if not text:
            try:
                answer = await call_model(
                    deps,
                    Role.REVIEWER,
                    task,
                    purpose=name,
                    exam_item=item,
                    prompt_version=version,
                    messages=conversation,
                    max_tokens=max_tokens,
                    seq=number,
                )
            except (CutByLength, BadAnswer):
                return Looked(conversation, asked)  # the review is asked for, with a schema
            text = answer.text
            if not talk.asks(text, task.round):
                return Looked(conversation, asked, answer)
            asked.append(answer)
        elif not talk.asks(text, task.round):
            return Looked(conversation, asked)
        async with deps.project_lock(task.project_id):
            turn = await asyncio.to_thread(talk.take, number, task.round, text)
        if item is None and number not in kept:
            _keep(deps, task, turn, len(talk.turns), name)
    return Looked([*messages, *talk.messages(task.round)], asked)


def _talk(deps: Dependencies, subject: Change, room: int) -> LookTalk:
    project = deps.project(subject.task.project_id)
    source = TreeSource(deps.private(project), subject.proposal.tree, project)
    count, rules = deps.counter_for(Role.REVIEWER).count, deps.settings.reviewer
    nothing = Context()
    touched = tuple(file.new_path for file in subject.files)
    looker = Looker(deps.maps.get(source), subject.task.text, touched, nothing, rules.look_tokens, count)
    return LookTalk(
        deps.prompts,
        looker,
        key=deps.keys.key_for([]),
        marker=7,
        looks=rules.looks,
        tokens=rules.look_tokens,
        room=room,
        count=count,
    )


def _keep(deps: Dependencies, task: Task, turn: LookedTurn, number: int, name: str) -> None:
    with deps.store.transaction() as tx:
        call = tx.read.call_of(task.id, task.attempt, task.round, name, turn.call_id)
        tx.add_looks(call, records(task, Role.REVIEWER, turn, number))


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
