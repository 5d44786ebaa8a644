"""Intervals for proportions, and summaries of durations. The standard library is enough for both."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

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


def wilson(k: int, n: int, z: float = Z_95) -> tuple[float, float]:
    """The score interval of Wilson (1927) for `k` of `n`, without continuity correction.

    The lower limit of 0 of n is exactly 0 and the upper limit of n of n exactly 1; with n = 0 nothing is
    known: (0, 1).

    Args:
        k: successes.
        n: trials.
        z: standard normal quantile; 1.96 (95 %) unless told.

    Raises:
        ValueError: k is not between 0 and n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no proportion")
    if n == 0:
        return 0.0, 1.0
    share = k / n
    spread = z * z / n
    middle = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    low = 0.0 if k == 0 else (middle - half) / (1 + spread)
    high = 1.0 if k == n else (middle + half) / (1 + spread)
    return low, high


def share(k: int, n: int) -> Share:
    """`k` of `n` with its rate and its 95 % interval."""
    low, high = wilson(k, n)
    return Share(k=k, n=n, rate=k / n if n else None, low=low, high=high)


def needed(half_width: float, rate: float = 0.35) -> int:
    """How many it takes until the normal 95 % interval is `half_width` wide to each side.

    Args:
        half_width: e.g. 0.10 for "±10 points".
        rate: what the proportion is thought to be.
    """
    if not 0 < half_width < 1:
        raise ValueError("a half width lies between 0 and 1")
    return math.ceil(rate * (1 - rate) * (Z_95 / half_width) ** 2)


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

    Raises:
        ValueError: there are no values, or the fraction is not between 0 and 1.
    """
    if not values:
        raise ValueError("no values, no percentile")
    if not 0 <= fraction <= 1:
        raise ValueError("a fraction lies between 0 and 1")
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
    z = statistics.NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the mean of independent observations; None of fewer than two."""
    n = len(values)
    if n < 2:
        return None
    mean = statistics.fmean(values)
    half = t_quantile(n - 1) * statistics.stdev(values) / math.sqrt(n)
    return mean - half, mean + half
