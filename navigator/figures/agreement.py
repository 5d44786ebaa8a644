"""Does a reviewer say the same of the same diff? Cohen's kappa of its first two verdicts, with an interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from navigator.figures.intervals import Z_95, Share, share
from navigator.model.outcomes import RepeatCount
from navigator.model.states import Verdict

_STEPS = 60
"""Halvings of an interval: more than a double can tell apart."""


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement beyond chance of n pairs. `value` is None, with the `reason`, where the pairs do not determine it."""

    n: int
    value: float | None
    low: float
    high: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Retest:
    """Diffs, of proposals or of exam items, that one model reviewed twice under one prompt version.

    Attributes:
        agreed: pairs with the same verdict, of those that could be read.
        kappa: the same, corrected for agreement by chance.
        unread: pairs in which a review could not be read; in neither.
    """

    agreed: Share
    kappa: Kappa
    unread: int


def retest(rows: Sequence[RepeatCount]) -> Retest:
    """Agreement of pairs that belong together."""

    def n(first: Verdict, second: Verdict) -> int:
        return sum(row.n for row in rows if row.first is first and row.second is second)

    approve, revise = Verdict.APPROVE, Verdict.REVISE
    cells = (n(revise, revise), n(revise, approve), n(approve, revise), n(approve, approve))
    return Retest(
        agreed=share(cells[0] + cells[3], sum(cells)),
        kappa=kappa(*cells),
        unread=sum(row.n for row in rows) - sum(cells),
    )


def kappa(both: int, first: int, second: int, neither: int) -> Kappa:
    """Cohen's kappa (1960) of two yes/no ratings of the same things, with a 95 % interval.

    The interval is the goodness-of-fit interval of Donner and Eliasziw (1992) for two ratings by the same rater: the
    values that a chi-square test with one degree of freedom does not reject. Unlike the normal interval it does not
    shrink to a point at complete agreement.

    Args:
        both: rated yes twice; `first` and `second`: yes only the first, only the second time; `neither`: no twice.
    """
    n = both + first + second + neither
    yes = 2 * both + first + second
    if n == 0:
        return Kappa(0, None, -1.0, 1.0, "no pair")
    if yes in (0, 2 * n):
        return Kappa(
            n, None, -1.0, 1.0, "the same verdict every time: agreement by chance cannot be told apart"
        )
    observed = (both + neither) / n
    expected = ((both + first) * (both + second) + (neither + first) * (neither + second)) / n**2
    value = (observed - expected) / (1 - expected)
    low, high = _fitting(both, first + second, neither)
    # The model has one rate of yes for both ratings; Cohen's value differs a little where the two rates differ.
    return Kappa(n, value, min(low, value), max(high, value))


def _fitting(both: int, one: int, neither: int) -> tuple[float, float]:
    """The smallest and the largest value of kappa that fits the counts, at the observed rate of yes."""
    n = both + one + neither
    p = (2 * both + one) / (2 * n)
    q = 1 - p

    def misfit(value: float) -> float:
        spread = p * q * value
        cells = ((both, p * p + spread), (one, 2 * (p * q - spread)), (neither, q * q + spread))
        return sum((count - n * rate) ** 2 / max(n * rate, 1e-12) for count, rate in cells) - Z_95**2

    best = 1 - one / (2 * n * p * q)
    return _edge(misfit, best, max(-p / q, -q / p)), _edge(misfit, best, 1.0)


def _edge(misfit: Callable[[float], float], inside: float, limit: float) -> float:
    """Where `misfit`, not positive `inside`, changes its sign on the way to `limit`; `limit` where it does not."""
    if misfit(limit) <= 0:
        return limit
    outside = limit
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        if misfit(middle) <= 0:
            inside = middle
        else:
            outside = middle
    return inside
