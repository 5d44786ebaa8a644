"""Two proportions against each other: the difference with its interval, and an exact test."""

from __future__ import annotations

import math
from dataclasses import dataclass

from navigator.figures.intervals import Z_95, Share, share, wilson

MOST_EXACT = 100_000
"""Largest product of both n for which the exact test is computed: it goes through that many tables; about a second."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two proportions that do not share observations.

    Attributes:
        first, second: each with its Wilson interval.
        difference: first - second, None where one of them has no observation.
        low, high: the 95 % interval of the difference (Newcombe).
        p: of Boschloo's exact test of equal rates, two-sided; None where it was not computed.
        p_missing: why it was not.
    """

    first: Share
    second: Share
    difference: float | None
    low: float
    high: float
    p: float | None = None
    p_missing: str = ""


def newcombe(k1: int, n1: int, k2: int, n2: int, z: float = Z_95) -> tuple[float, float]:
    """The interval for the difference k1/n1 - k2/n2 from both Wilson intervals, without continuity correction.

    Method 10 of Newcombe, Statistics in Medicine 17 (1998) 873-890. Where one n is 0: (-1, 1).

    Args:
        k1, k2: successes.
        n1, n2: trials.
        z: standard normal quantile; 1.96 (95 %) unless told.

    Raises:
        ValueError: a k is not between 0 and its n.
    """
    (low1, high1), (low2, high2) = wilson(k1, n1, z), wilson(k2, n2, z)
    if not n1 or not n2:
        return -1.0, 1.0
    p1, p2 = k1 / n1, k2 / n2
    return (
        p1 - p2 - math.hypot(p1 - low1, high2 - p2),
        p1 - p2 + math.hypot(high1 - p1, p2 - low2),
    )


def boschloo(k1: int, n1: int, k2: int, n2: int) -> float:
    """The two-sided p of Boschloo's exact test that both rates are equal.

    Raises:
        ImportError: SciPy is not installed (`pip install 'navigator-cascade[statistics]'`).
        ValueError: a k is not between 0 and its n, or an n is 0.
    """
    from scipy.stats import boschloo_exact

    if not (0 <= k1 <= n1 and 0 <= k2 <= n2 and n1 and n2):
        raise ValueError(f"{k1} of {n1} and {k2} of {n2} are no two proportions")
    return float(boschloo_exact([[k1, k2], [n1 - k1, n2 - k2]]).pvalue)


def compared(k1: int, n1: int, k2: int, n2: int) -> Comparison:
    """Compare k1 of n1 with k2 of n2; without SciPy, or with very many, the interval alone.

    Raises:
        ValueError: a k is not between 0 and its n.
    """
    first, second = share(k1, n1), share(k2, n2)
    low, high = newcombe(k1, n1, k2, n2)
    if first.rate is None or second.rate is None:
        return Comparison(first, second, None, low, high, p_missing="one of them has no verdict")
    difference = first.rate - second.rate
    if n1 * n2 > MOST_EXACT:
        return Comparison(
            first, second, difference, low, high, p_missing="too many verdicts for an exact test"
        )
    try:
        p = boschloo(k1, n1, k2, n2)
    except ImportError:
        missing = "needs SciPy: pip install 'navigator-cascade[statistics]'"
        return Comparison(first, second, difference, low, high, p_missing=missing)
    return Comparison(first, second, difference, low, high, p)
