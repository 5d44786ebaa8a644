"""Paired outcomes: the same tasks under two conditions."""

from __future__ import annotations

import math


def sign_test(wins: int, losses: int) -> float:
    """Exact two-sided p of `wins` against `losses` when both are equally likely; ties are left out by the caller.

    This is the binomial test at one half; with discordant pairs as its two counts it is the exact McNemar test.

    Raises:
        ValueError: a count is negative.
    """
    if min(wins, losses) < 0:
        raise ValueError("counts are not negative")
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return min(1.0, tail / (1 << n) * 2)


def discordant_needed(level: float = 0.05) -> int:
    """How many pairs, all for the same side, it takes until the sign test falls below `level`."""
    n = 1
    while sign_test(n, 0) >= level:
        n += 1
    return n
