"""Two proportions against each other: the difference with its interval, and exact tests of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from navigator.figures.intervals import Z_95, wilson


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


# Paired outcomes: the same tasks under two conditions.


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


def _tail(n: int, share: float, level: float) -> float:
    """The chance that the test rejects on `n` discordant pairs, each being the first one's with `share`."""
    few, below = 0, math.ldexp(1.0, -n) if n < 1_000 else 0.0
    term = below
    while 2 * below < level and few <= n // 2:
        few += 1
        term = term * (n - few + 1) / few if term else _binomial(n, few, 0.5)
        below += term
    return sum(_binomial(n, k, share) + _binomial(n, n - k, share) for k in range(few))


def _binomial(n: int, k: int, p: float) -> float:
    if p in (0.0, 1.0):
        return float(k == n * p)
    log = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(log + k * math.log(p) + (n - k) * math.log1p(-p))


def power(n: int, first_only: float, second_only: float, level: float = 0.05) -> float:
    """The chance that the exact McNemar test rejects on `n` pairs, before any of them is seen.

    Args:
        first_only: the share of pairs where only the first succeeds; `second_only` where only the second does.

    Raises:
        ValueError: the shares are no shares.
    """
    apart = first_only + second_only
    if min(first_only, second_only) < 0 or not 0 < apart <= 1:
        raise ValueError("the shares of discordant pairs lie between 0 and 1, and so does their sum")
    return _power(n, apart, first_only / apart, level, {})


def _power(n: int, apart: float, share: float, level: float, tails: dict[int, float]) -> float:
    """`power`, with the tails that were computed before. Numbers of pairs beyond six standard deviations are left out."""
    middle, wide = n * apart, 6 * math.sqrt(n * apart * (1 - apart)) + 3
    total = 0.0
    for m in range(max(1, int(middle - wide)), min(n, int(middle + wide)) + 1):
        if m not in tails:
            tails[m] = _tail(m, share, level)
        total += _binomial(n, m, apart) * tails[m]
    return min(1.0, total)


def pairs_needed(
    first_only: float, second_only: float, *, wanted: float = 0.8, level: float = 0.05, most: int = 3_000
) -> int | None:
    """About how many pairs give that power; None where `most` do not.

    Power goes up in small saw teeth, so the smallest number may be a few pairs away.
    """
    apart = first_only + second_only
    tails: dict[int, float] = {}

    def enough(n: int) -> bool:
        return _power(n, apart, first_only / apart, level, tails) >= wanted

    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def paired_difference(both: int, first: int, second: int, none: int) -> tuple[float, float, float]:
    """The difference of two rates on the same pairs, and its 95 % interval.

    Method 10 of Newcombe, Statistics in Medicine 17 (1998) 2635-2650: both Wilson intervals, joined by the correlation.

    Args:
        both, first, second, none: pairs where both succeed, only the first, only the second, neither.

    Raises:
        ValueError: there is no pair.
    """
    n = both + first + second + none
    if n < 1:
        raise ValueError("there is no pair")
    (low1, high1), (low2, high2) = wilson(both + first, n), wilson(both + second, n)
    p1, p2 = (both + first) / n, (both + second) / n
    across = float(both * none - first * second)
    if across > 0:
        across = max(across - n / 2, 0.0)
    margins = (both + first) * (second + none) * (both + second) * (first + none)
    phi = across / math.sqrt(margins) if margins else 0.0

    def spread(one: float, other: float) -> float:
        return math.sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))

    difference = p1 - p2
    return difference, difference - spread(p1 - low1, high2 - p2), difference + spread(high1 - p1, p2 - low2)


def holm(values: Sequence[float]) -> list[float]:
    """p values adjusted for having looked at all of them (Holm 1979), in the order given."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found, largest = [0.0] * len(values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - rank) * values[place]))
        found[place] = largest
    return found
