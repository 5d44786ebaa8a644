"""Intervals for proportions and means, summaries of durations, and tests of two proportions. The standard library is enough."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

Z_95 = statistics.NormalDist().inv_cdf(0.975)
"""The 97.5 % point of the normal distribution: two-sided 95 %."""

ANECDOTAL_BELOW = 30
"""Below this many a rate is an anecdote, and its row says so."""


@dataclass(frozen=True, slots=True)
class Share:
    """`k` of `n`, with the Wilson interval at 95 %. `rate` is None when n is 0."""

    k: int
    n: int
    rate: float | None
    low: float
    high: float

    def document(self) -> dict[str, float | None]:
        """As JSON."""
        return {"value": self.rate, "low": self.low, "high": self.high, "n": self.n}


def percent_of(share: float) -> int:
    """A share in whole percent, halves upwards as readers expect: 1 of 8 is 13 %."""
    return math.floor(100 * share + 0.5)


def wilson(k: int, n: int) -> tuple[float, float]:
    """The score interval of Wilson (1927) for `k` of `n`, without continuity correction.

    The lower limit of 0 of n is exactly 0 and the upper limit of n of n exactly 1; with n = 0 nothing is
    known: (0, 1).

    Args:
        k: successes.
        n: trials.

    Raises:
        ValueError: k is not between 0 and n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no proportion")
    if n == 0:
        return 0.0, 1.0
    share = k / n
    spread = Z_95 * Z_95 / n
    middle = share + spread / 2
    half = Z_95 * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    low = 0.0 if k == 0 else (middle - half) / (1 + spread)
    high = 1.0 if k == n else (middle + half) / (1 + spread)
    return low, high


def share(k: int, n: int) -> Share:
    """`k` of `n` with its rate and its 95 % interval."""
    low, high = wilson(k, n)
    return Share(k=k, n=n, rate=k / n if n else None, low=low, high=high)


@dataclass(frozen=True, slots=True)
class Durations:
    """Durations in seconds. `p95` of fewer than 20 lies between the two longest: an indication, no more."""

    n: int
    mean: float
    median: float
    p95: float


def percentile(values: Sequence[float], fraction: float) -> float:
    """The quantile at `fraction` by linear interpolation between order statistics.

    This is type 7 of Hyndman and Fan (1996), the default of NumPy and R: of sorted x_0 … x_(n-1) the value
    at position fraction · (n - 1).

    Args:
        values: at least one.
    """
    ordered = sorted(values)
    position = fraction * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def summarise(values: Sequence[float]) -> Durations | None:
    """Count, mean, median and 95th percentile; None of nothing."""
    if not values:
        return None
    return Durations(
        n=len(values),
        mean=statistics.fmean(values),
        median=statistics.median(values),
        p95=percentile(values, 0.95),
    )


# Means of few observations, with Student's interval. The standard library is enough.

_T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""97.5 % points of Student's t for 1 to 30 degrees of freedom."""


def t_quantile(freedom: int) -> float:
    """The 97.5 % point of Student's t; from 31 degrees of freedom on by Cornish and Fisher's expansion."""
    if freedom <= len(_T_975):
        return _T_975[freedom - 1]
    z = Z_95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the mean of independent observations; None of fewer than two."""
    n = len(values)
    if n < 2:
        return None
    mean = statistics.fmean(values)
    half = t_quantile(n - 1) * statistics.stdev(values) / math.sqrt(n)
    return mean - half, mean + half


# Two proportions against each other: the difference with its interval, and exact tests of pairs.


def newcombe(k1: int, n1: int, k2: int, n2: int) -> tuple[float, float]:
    """The interval for the difference k1/n1 - k2/n2 from both Wilson intervals, without continuity correction.

    Method 10 of Newcombe, Statistics in Medicine 17 (1998) 873-890. Where one n is 0: (-1, 1).

    Args:
        k1, k2: successes.
        n1, n2: trials.

    Raises:
        ValueError: a k is not between 0 and its n.
    """
    (low1, high1), (low2, high2) = wilson(k1, n1), wilson(k2, n2)
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
    """
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return min(1.0, tail / (1 << n) * 2)


def discordant_needed(level: float = 0.05) -> int:
    """How many pairs, all for the same side, it takes until the sign test falls below `level`."""
    n = 1
    while sign_test(n, 0) >= level:
        n += 1
    return n


@cache
def _tail(n: int, share: float, level: float) -> float:
    """The chance that the test rejects on `n` discordant pairs, each being the first one's with `share`."""
    few, below = 0, _binomial(n, 0, 0.5)
    while 2 * below < level and few <= n // 2:
        few += 1
        below += _binomial(n, few, 0.5)
    return sum(_binomial(n, k, share) + _binomial(n, n - k, share) for k in range(few))


def _binomial(n: int, k: int, p: float) -> float:
    if p in (0.0, 1.0):
        return float(k == n * p)
    log = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(log + k * math.log(p) + (n - k) * math.log1p(-p))


def power(n: int, first_only: float, second_only: float, level: float = 0.05) -> float:
    """The chance that the exact McNemar test rejects on `n` pairs, before any of them is seen.

    Numbers of discordant pairs beyond six standard deviations are left out.

    Args:
        first_only: the share of pairs where only the first succeeds; `second_only` where only the second does.
    """
    apart = first_only + second_only
    middle, wide = n * apart, 6 * math.sqrt(n * apart * (1 - apart)) + 3
    likely = range(max(1, int(middle - wide)), min(n, int(middle + wide)) + 1)
    return min(1.0, sum(_binomial(n, m, apart) * _tail(m, first_only / apart, level) for m in likely))


def pairs_needed(
    first_only: float, second_only: float, *, wanted: float = 0.8, most: int = 3_000
) -> int | None:
    """About how many pairs give that power; None where `most` do not.

    Power goes up in small saw teeth, so the smallest number may be a few pairs away.
    """
    found = 1 + bisect_left(range(1, most + 1), wanted, key=lambda n: power(n, first_only, second_only))
    return found if found <= most else None


def paired_difference(both: int, first: int, second: int, none: int) -> tuple[float, float, float]:
    """The difference of two rates on the same pairs, and its 95 % interval.

    Method 10 of Newcombe, Statistics in Medicine 17 (1998) 2635-2650: both Wilson intervals, joined by the correlation.

    Args:
        both, first, second, none: pairs where both succeed, only the first, only the second, neither; at least one.
    """
    n = both + first + second + none
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
