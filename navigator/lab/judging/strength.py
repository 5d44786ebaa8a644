"""Strengths of several systems from who beat whom (Bradley and Terry, 1952), by the library choix of the extra `lab`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from navigator.domain.errors import MissingPart
from navigator.evidence.intervals import percentile

_RESAMPLES = 400
_LEAST = 6
"""Games below which resampling says nothing; what one side won throughout, it never does."""
_REGULAR = 0.05
"""Added to every pair: without it a system that never lost would be infinitely strong."""


@dataclass(frozen=True, slots=True)
class Strength:
    """One system: log strength around a mean of zero, and the 95 % interval over resampled games; None without one."""

    name: str
    value: float
    low: float | None
    high: float | None
    wins: int
    games: int


def strengths(games: Sequence[tuple[str, str]], *, seed: int = 1) -> list[Strength]:
    """Strengths from games, each a winner and a loser; ties are left out by the caller. The strongest comes first.

    Raises:
        MissingPart: the library is not installed.
    """
    try:
        import choix
    except ImportError:
        raise MissingPart(
            "Bradley–Terry strengths need the library choix.", hint="pip install 'navigator-cascade[lab]'"
        ) from None
    names = sorted({name for game in games for name in game})
    if len(names) < 2:
        return []
    numbers = [(names.index(winner), names.index(loser)) for winner, loser in games]

    def fitted(played: Sequence[tuple[int, int]]) -> list[float]:
        values = [float(value) for value in choix.ilsr_pairwise(len(names), played, alpha=_REGULAR)]
        mean = sum(values) / len(values)
        return [value - mean for value in values]

    best = fitted(numbers)
    dice = random.Random(seed)
    resampled = [fitted(dice.choices(numbers, k=len(numbers))) for _ in range(_RESAMPLES)]

    def ends(number: int) -> tuple[float | None, float | None]:
        low, high = (percentile([each[number] for each in resampled], share) for share in (0.025, 0.975))
        return (low, high) if len(games) >= _LEAST and low < high else (None, None)

    rows = [
        Strength(
            name,
            best[number],
            *ends(number),
            wins=sum(winner == name for winner, _ in games),
            games=sum(name in game for game in games),
        )
        for number, name in enumerate(names)
    ]
    return sorted(rows, key=lambda row: -row.value)
