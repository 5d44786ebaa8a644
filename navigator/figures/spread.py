"""How durations are distributed: counts in bins that several groups share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_MOST_BINS = 24
_STEPS = (1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class Spread:
    """Counts per group in bins of `step`, the first of which begins at `start`; as many bins for each group."""

    start: float
    step: float
    counts: dict[str, tuple[int, ...]]


def spread(groups: Mapping[str, Sequence[float]]) -> Spread | None:
    """Count values in at most 24 bins whose width is 1, 2 or 5 times a power of ten; None without a value.

    A value on the border of two bins belongs to the upper one.
    """
    every = [value for values in groups.values() for value in values]
    if not every:
        return None
    low, high = min(every), max(every)
    step = _step((high - low) / (_MOST_BINS - 1))
    first = math.floor(low / step)
    # Bins are numbered from 0, so that a rounding error moves a value by a bin at most, never out of all of them.
    bins = math.floor(high / step) - first + 1
    counts = {}
    for name, values in groups.items():
        found = [0] * bins
        for value in values:
            found[math.floor(value / step) - first] += 1
        counts[name] = tuple(found)
    return Spread(first * step, step, counts)


def _step(least: float) -> float:
    """The next of 1, 2, 5, 10, … times a power of ten, at least a tenth: no finer than durations are shown."""
    if least <= 0.1:
        return 0.1
    power = 10.0 ** math.floor(math.log10(least))
    return next((factor * power for factor in _STEPS if factor * power >= least), 10 * power)
