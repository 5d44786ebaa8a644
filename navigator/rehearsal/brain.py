"""Which of the two rules books answers a prompt: either model may be asked to write, and either to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from navigator.domain.states import Role
from navigator.rehearsal.reading import read_review
from navigator.rehearsal.reviewer.reviewer import Reviewer
from navigator.rehearsal.server.engine import Completion
from navigator.rehearsal.writer.generator import Generator

STRONG_FAULTS = 0.5
"""Of the generator's fault rate: what the reviewer's model has when it writes. Assumed."""

OWN_EYES = 0.2
"""Chance by which the generator overlooks more than the reviewer does, reading its own change. Assumed."""


class Brain:
    """Answers what a server of `role` is asked.

    Args:
        seed: another seed plants and overlooks other things.
        fault_rate: share of first answers that the generator spoils, 0 to 1.
    """

    def __init__(self, role: Role, *, seed: int = 0, fault_rate: float = 0.35) -> None:
        strong = role is Role.REVIEWER
        self._writer = Generator(
            seed=seed + 1000 if strong else seed,
            fault_rate=fault_rate * STRONG_FAULTS if strong else fault_rate,
        )
        self._reader = Reviewer(seed=seed) if strong else Reviewer(seed=seed + 1000, blind=OWN_EYES)
        self._strong = strong

    def answer(
        self, messages: Sequence[Mapping[str, str]], schema: dict[str, Any] | None = None, repeat: int = 0
    ) -> Completion:
        """A review where there is a diff to read; else what is to be written."""
        if read_review(messages).diff or (self._strong and not _writes(messages, schema)):
            return self._reader.answer(messages, schema, repeat)
        return self._writer.answer(messages, schema, repeat)


def _writes(messages: Sequence[Mapping[str, str]], schema: dict[str, Any] | None) -> bool:
    """Whether the prompt is one for a writer: it brings data blocks."""
    return any("[[begin " in message["content"] for message in messages)
