"""A conversation's looks: what the model asked to be shown, and the messages that answer it.

Only the model's own answers are stored. What they were answered with is made from them again after a restart: the base is
pinned, and the same looks in the same order get the same answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from navigator.client.errors import BadAnswer, CutByLength
from navigator.context.build import Context
from navigator.context.looker import Looker
from navigator.context.looks import MOST_REQUESTS, LookAnswer
from navigator.edits.parser import marker_length, parse_answer
from navigator.git.source import TreeSource
from navigator.journey.calls import Message, ask, call_model
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.blocks import data_block
from navigator.journey.prompts.library import PromptLibrary
from navigator.journey.prompts.material import Material
from navigator.journey.reviewing.prompt import OVERHEAD, Reading
from navigator.journey.subject import Change
from navigator.model.models import Task
from navigator.model.records import Look
from navigator.model.states import Role
from navigator.model.text import safe_line
from navigator.store.reads.ledger import StoredAnswer
from navigator.store.writes.ledger import LOOKED

WITHHELD = "it cannot be shown: it holds the delimiter of this conversation."


@dataclass(frozen=True)
class LookedTurn:
    """One turn: the call whose answer asked, its round, that answer, and the message that it got."""

    call_id: int
    round: int
    asked: str
    told: str
    answers: tuple[LookAnswer, ...]

    @property
    def messages(self) -> list[Message]:
        """The two messages of the conversation."""
        return [{"role": "assistant", "content": self.asked}, {"role": "user", "content": self.told}]


@dataclass
class LookTalk:
    """All looks of one attempt, in order.

    Args:
        prompts: the templates.
        looker: answers requests.
        key: the delimiters' key in this conversation.
        marker: the length of markers that its first message asks for.
        looks: turns in each round.
        tokens: of answers in each round.
        room: tokens that are left for looks and the writer's other answers together.
        count: tokens of a text.
    """

    prompts: PromptLibrary
    looker: Looker
    key: str
    marker: int
    looks: int
    tokens: int
    room: int
    count: Callable[[str], int]
    turns: list[LookedTurn] = field(default_factory=list)
    _round: int = -1

    def left(self, round: int) -> int:
        """Turns that are left in a round."""
        return max(0, self.looks - sum(turn.round == round for turn in self.turns))

    def asks(self, text: str, round: int) -> bool:
        """Whether an answer asks to be shown something, and may."""
        return self.left(round) > 0 and parse_answer(text, marker=self.marker).asks_to_look

    def messages(self, *rounds: int, after: int = -1, before: int | None = None) -> list[Message]:
        """The turns of these rounds whose call's number is above `after` and below `before`."""
        return [
            message
            for turn in self.turns
            if turn.round in rounds and turn.call_id > after and (before is None or turn.call_id < before)
            for message in turn.messages
        ]

    def shown_whole(self) -> frozenset[str]:
        """The files of which every line was shown. Reads git: call it in a thread."""
        paths = {path for turn in self.turns for answer in turn.answers for path in answer.paths}
        return frozenset(path for path in paths if self.looker.seen_whole(path))

    def take(self, call_id: int, round: int, text: str) -> LookedTurn:
        """Answer the looks of one answer. Runs git: call it in a thread."""
        if round != self._round:
            self._round = round
            self.looker.allow(max(0, min(self.tokens, self.room)))
        answers = self.looker.answer(parse_answer(text, marker=self.marker).looks)
        told = self._told(answers, self.left(round) - 1)
        self.room -= self.count(text) + self.count(told)
        self.turns.append(LookedTurn(call_id, round, text, told, tuple(answers)))
        return self.turns[-1]

    def _told(self, answers: Sequence[LookAnswer], left: int) -> str:
        texts = [piece.text for answer in answers for piece in answer.pieces]
        return self.prompts.render(
            "looked",
            answers=[_shown(answer, self.key) for answer in answers],
            left=left if self.looker.left else 0,
            tokens=self.looker.left,
            nine=self.marker < marker_length(texts),
        )[1]


def _shown(answer: LookAnswer, key: str) -> str:
    """One answer: the request, what is to be said, and the pieces as data."""
    if any(key in piece.text for piece in answer.pieces):
        return f"{safe_line(answer.asked)}: {WITHHELD}"
    head = f"{safe_line(answer.asked)}: {answer.note}" if answer.note else f"{safe_line(answer.asked)}:"
    blocks = [head]
    for piece in answer.pieces:
        if not piece.path:
            blocks.append(data_block("found", key, piece.text))
        elif piece.whole:
            blocks.append(data_block("file", key, piece.text, path=piece.path, lines=piece.lines[0][2]))
        else:
            blocks.append(data_block("excerpt", key, piece.text, path=piece.path, first=piece.first))
    return "\n".join(blocks)


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
        await _take(deps, task, Role.REVIEWER, talk, answer, keep=item is None)
    return Looked([*messages, *talk.messages(task.round)], asked)


def _talk(deps: Dependencies, subject: Change, room: int) -> LookTalk:
    project = deps.project(subject.task.project_id)
    source = TreeSource(deps.private(project), subject.proposal.tree, project)
    count, rules = deps.counter_for(Role.REVIEWER).count, deps.settings.reviewer
    nothing = Context(None, "", (), (), 0)
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
        await _take(deps, task, material.writer, talk, answer)
    await _took_look(deps, material)


async def _took_look(deps: Dependencies, material: Material) -> bool:
    """Answer the newest answer of the round, if it asks to be shown something and was not judged yet."""
    task, talk = material.task, material.talk
    newest = deps.reader.last_answer(task.id, task.attempt, task.round, role=material.writer)
    if talk is None or newest is None or newest.outcome != "ok" or not talk.asks(newest.text, task.round):
        return False
    await _take(deps, task, material.writer, talk, newest)
    return True


async def _take(
    deps: Dependencies, task: Task, role: Role, talk: LookTalk, answer: StoredAnswer, *, keep: bool = True
) -> None:
    """Answer the looks of an answer, and keep what was asked where it is not kept yet."""
    async with deps.project_lock(task.project_id):
        turn = await asyncio.to_thread(talk.take, answer.call_id, answer.round, answer.text)
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
