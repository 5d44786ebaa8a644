"""Turns of looking: a model asks to be shown more, is shown it, and answers. What was asked is kept before it is acted on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from navigator.client.errors import BadAnswer, CutByLength
from navigator.context.build import Context
from navigator.context.looker import Looker
from navigator.context.looks import MOST_REQUESTS
from navigator.context.source import TreeSource
from navigator.journey.calls import Message, ask, call_model
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.looks import LookedTurn, LookTalk
from navigator.journey.prompts.material import Material
from navigator.journey.reviewing.prompt import OVERHEAD, Reading
from navigator.journey.subject import Change
from navigator.model.models import Task
from navigator.model.records import Look
from navigator.model.states import Role
from navigator.model.text import safe_line
from navigator.store.reads.ledger import StoredAnswer
from navigator.store.writes.ledger import LOOKED

LEAST_ROOM = 1_000
"""Tokens; where the server's context leaves fewer beside the prompt and the answer, nothing can be looked at."""

SEQS = 100
"""Numbers of calls that are kept apart for the looks of one prompt."""


@dataclass(frozen=True)
class Looked:
    """The conversation after the looks, the answers that asked for them, and the one that ended them, if one did."""

    messages: Sequence[Message]
    asked: Sequence[StoredAnswer] = ()
    answer: StoredAnswer | None = None


async def look_first(
    deps: Dependencies,
    subject: Change,
    reading: Reading,
    *,
    purpose: str,
    seq: int,
    max_tokens: int,
    shows: str,
) -> Looked:
    """Let the reviewer look, as often as it may; nothing is asked where it may not.

    Such a turn is asked for without a schema, since a look is no JSON. An answer that is a review already is the review.

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
    asked: list[StoredAnswer] = []
    while talk.left(task.round):
        conversation = [*messages, *talk.messages(task.round)]
        try:
            answer = await call_model(
                deps,
                Role.REVIEWER,
                task,
                purpose=purpose if item is not None else f"{purpose} look",
                exam_item=item,
                prompt_version=version,
                messages=conversation,
                max_tokens=max_tokens,
                seq=seq * SEQS + len(talk.turns),
                shows=shows,
            )
        except (CutByLength, BadAnswer):
            return Looked(conversation, asked)  # the review is asked for, with a schema
        if not talk.asks(answer.text, task.round):
            return Looked(conversation, asked, answer)
        asked.append(answer)
        await _show(deps, task, Role.REVIEWER, talk, answer, keep=item is None)
    return Looked([*messages, *talk.messages(task.round)], asked)


def _talk(deps: Dependencies, subject: Change, room: int) -> LookTalk:
    project = deps.reader.project(subject.task.project_id)
    source = TreeSource(deps.repositories.private(project), subject.proposal.tree, project)
    count, rules = deps.counter_for(Role.REVIEWER).count, deps.settings.reviewer
    nothing = Context()
    touched = tuple(file.new_path for file in subject.files)
    looker = Looker(deps.map_of(source), subject.task.text, touched, nothing, rules.look_tokens, count)
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
        if text is None or not await _took_look(deps, material):
            return text


async def restore_looks(deps: Dependencies, material: Material) -> None:
    """Take up the looks that this attempt has made already, and the one that a crash left unread."""
    task, talk = material.task, material.talk
    if talk is None:
        return
    for answer in deps.reader.looks_asked(task.id, task.attempt, role=material.writer):
        await _show(deps, task, material.writer, talk, answer)
    await _took_look(deps, material)


async def _took_look(deps: Dependencies, material: Material) -> bool:
    """Answer the newest answer of the round, if it asks to be shown something and was not judged yet."""
    task, talk = material.task, material.talk
    newest = deps.reader.last_answer(task.id, task.attempt, task.round, role=material.writer)
    if talk is None or newest is None or newest.outcome != "ok" or not talk.asks(newest.text, task.round):
        return False
    await _show(deps, task, material.writer, talk, newest)
    return True


async def _show(
    deps: Dependencies, task: Task, role: Role, talk: LookTalk, answer: StoredAnswer, *, keep: bool = True
) -> None:
    """Answer the looks of an answer, and keep what was asked where it is not kept yet."""
    turn = await deps.repositories.locked(
        task.project_id, talk.take, answer.call_id, answer.round, answer.text
    )
    if keep and answer.outcome != LOOKED:
        number = sum(other.round == turn.round for other in talk.turns)
        with deps.store.transaction() as tx:
            tx.add_looks(answer.call_id, records(task, role, turn, number))


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
