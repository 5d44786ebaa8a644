"""A conversation's looks: what the model asked to be shown, and the messages that answer it.

Only the model's own answers are stored. What they were answered with is made from them again after a restart: the base is
pinned, and the same looks in the same order get the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from navigator.context.looker import Looker
from navigator.context.looks import LookAnswer
from navigator.edits.parser import marker_length, parse_answer
from navigator.journey.calls import Message
from navigator.journey.prompts.blocks import data_block
from navigator.journey.prompts.library import PromptLibrary
from navigator.model.text import safe_line

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
