"""Whether a writer's uncertainty says anything about the verdict: the area under the ROC curve, and its interval.

The area (AUC) is the chance that of one change with REVISE and one with APPROVE the first had the higher entropy; one half
says that entropy tells nothing. It is computed from the sum of ranks (Mann and Whitney), ties counting one half. The interval is
method 5 of Newcombe (Statistics in Medicine 25 (2006) 559-573), a score-like form of Hanley and McNeil (1982), which stays within
0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from navigator.figures.intervals import ANECDOTAL_BELOW, Z_95
from navigator.model.records import EntropyRanks

RELATED, OPPOSITE, NOT_RELATED, TOO_FEW = (
    "related",
    "the other way round",
    "not related so far",
    "too few to tell",
)


@dataclass(frozen=True, slots=True)
class Relation:
    """The mean entropy of one writer's changes against first verdicts.

    Attributes:
        revise, approve: verdicts of each kind.
        auc: None where one kind is missing; `low` and `high` are its 95 % interval.
        verdict: `RELATED`, `OPPOSITE`, `NOT_RELATED` or `TOO_FEW`.
        revise_mean, approve_mean: the mean of the entropy, in bits; None where there is none.
    """

    model: str
    revise: int
    approve: int
    auc: float | None
    low: float
    high: float
    verdict: str
    revise_mean: float | None
    approve_mean: float | None

    @property
    def n(self) -> int:
        """Verdicts."""
        return self.revise + self.approve


def relations(counts: Iterable[EntropyRanks]) -> tuple[Relation, ...]:
    """Each writer's, real ones first."""
    return tuple(sorted((_relation(row) for row in counts), key=lambda one: one.model))


def _relation(row: EntropyRanks) -> Relation:
    m, n = row.revise, row.approve
    auc = (row.revise_ranks - m * (m + 1) / 2) / (m * n) if m and n else None
    low, high = auc_interval(auc, m, n) if auc is not None else (0.0, 1.0)
    verdict = NOT_RELATED
    if m + n < ANECDOTAL_BELOW or auc is None:
        verdict = TOO_FEW
    elif low > 0.5:
        verdict = RELATED
    elif high < 0.5:
        verdict = OPPOSITE
    return Relation(
        model=row.model,
        revise=m,
        approve=n,
        auc=auc,
        low=low,
        high=high,
        verdict=verdict,
        revise_mean=row.revise_sum / m if m else None,
        approve_mean=row.approve_sum / n if n else None,
    )


def auc_interval(auc: float, m: int, n: int) -> tuple[float, float]:
    """The 95 % interval of an area that was computed from `m` and `n` observations, at least one of each.

    Each limit is the area that would be just 1.96 of its own standard errors away.
    """

    def away(area: float) -> float:
        few = (m + n) / 2 - 1
        spread = area * (1 - area) * (1 + few * (1 - area) / (2 - area) + few * area / (1 + area)) / (m * n)
        return abs(auc - area) - Z_95 * math.sqrt(spread)

    def limit(outside: float) -> float:
        inside = auc
        if away(outside) <= 0:
            return outside
        for _ in range(60):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if away(middle) <= 0 else (inside, middle)
        return inside

    return limit(0.0), limit(1.0)
