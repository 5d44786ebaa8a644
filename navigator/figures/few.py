"""Means of few observations, with Student's interval. The standard library is enough."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

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
