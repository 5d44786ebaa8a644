"""What a comparison says: each arm's rate with its interval, and every two arms on the same tasks. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from navigator.figures.intervals import (
    Share,
    discordant_needed,
    holm,
    paired_difference,
    pairs_needed,
    power,
    share,
    sign_test,
)
from navigator.model.models import Usage

DIFFERENCE = 0.1
"""Of two arms' rates: the one that the power is given for."""
OTHER_WAY = 0.03
"""The share of tasks that only the worse arm solves, assumed where the power is said: two arms never differ one way alone."""


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One arm. Tokens and seconds are of all its turns, shared ones included: what it would cost alone."""

    name: str
    passed: Share
    tokens: int
    seconds: float
    turns: int
    revised: int


@dataclass(frozen=True, slots=True)
class PairResult:
    """Two arms on the tasks that both finished. `low` and `high` are the 95 % interval of the difference first - second."""

    first: str
    second: str
    n: int
    first_only: int
    second_only: int
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """What so many tasks can show.

    Attributes:
        chance: of p < 0.05 where the arms differ by `difference`; `needed` are the tasks for 80 %, None where 3,000 are too few.
        impossible: why no result could be significant; "" where one could.
    """

    n: int
    difference: float
    chance: float
    needed: int | None
    impossible: str

    def words(self) -> str:
        """In one sentence or two."""
        said = f"{self.n} tasks find a difference of {self.difference:.0%} between two arms with a chance of {self.chance:.0%}"
        many = "more than 3,000" if self.needed is None else f"about {self.needed}"
        return f"{said}; 80 % takes {many} tasks." + (f" {self.impossible}" if self.impossible else "")


def outlook(n: int) -> Outlook:
    """What `n` tasks can show, said before they are asked."""
    first, second = DIFFERENCE + OTHER_WAY, OTHER_WAY
    least = discordant_needed()
    none = f"No result can be significant: that takes {least} tasks at least." if n < least else ""
    return Outlook(n, DIFFERENCE, power(n, first, second) if n else 0.0, pairs_needed(first, second), none)


def arm_result(
    name: str, passed: Sequence[bool], usages: Sequence[Usage], paths: Sequence[Sequence[str]]
) -> ArmResult:
    """Add up one arm.

    Args:
        usages: of every answer of its turns.
        paths: the turns that each task took.
    """
    return ArmResult(
        name=name,
        passed=share(sum(passed), len(passed)),
        tokens=sum(usage.prompt_tokens + usage.completion_tokens for usage in usages),
        seconds=round(sum(usage.seconds for usage in usages), 1),
        turns=sum(map(len, paths)),
        revised=sum(any(len(path) > 1 and len(path) % 2 for path in taken) for taken in paths),
    )


def pairs(passed: Mapping[str, Mapping[str, bool]]) -> list[PairResult]:
    """Every two arms, by the exact McNemar test, adjusted for their number by Holm.

    Args:
        passed: by arm, the tasks that it finished and whether the tests passed.
    """
    found = []
    for first, second in itertools.combinations(passed, 2):
        both = [key for key in passed[first] if key in passed[second]]
        if not both:
            continue
        counts = [
            sum((passed[first][key], passed[second][key]) == kind for key in both)
            for kind in ((True, True), (True, False), (False, True), (False, False))
        ]
        difference, low, high = paired_difference(*counts)
        p = sign_test(counts[1], counts[2])
        found.append(PairResult(first, second, len(both), counts[1], counts[2], difference, low, high, p, p))
    adjusted = holm([pair.p for pair in found])
    return [replace(pair, p_adjusted=p) for pair, p in zip(found, adjusted, strict=True)]
