"""The arithmetic of an experiment's design."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def design_runs(suites: Iterable[Sequence[int]]) -> int:
    """Runs of full factorial suites, each given by the numbers of levels of its factors."""
    return sum(math.prod(levels) for levels in suites)
