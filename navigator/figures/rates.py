"""How often the reviewer asks for a revision of a first proposal, and how sure that figure is."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from navigator.figures.intervals import ANECDOTAL_BELOW, Z_95, wilson
from navigator.model.models import Model
from navigator.model.states import Verdict

UNIT = "first-round verdict"
ALL = "all"


class Versions(Model):
    """What a first verdict depends on: who wrote the proposal and who reviewed it, by which prompts.

    `model` and `prompt_version` are the reviewer's; `way` is how the writer worked (`Proposal.way`), `block_on` which
    findings make a REVISE (`Review.block_on`).
    """

    writer_model: str = ""
    writer_prompt: str = ""
    way: str = "blocks"
    model: str = ""
    prompt_version: str = ""
    block_on: str = "grounded"


class VerdictCount(Versions):
    """First verdicts on first proposals; `group` is the property they are grouped by."""

    group: str = "all"
    verdict: Verdict
    stated_verdict: Verdict | None = None
    self_review: bool = False
    n: int = 1


class EntropyRanks(Model):
    """First verdicts on one writer's changes with a known entropy: how many, the ranks of those with REVISE added up (1 is the
    lowest entropy; ties have their mean rank), and the entropies added up."""

    model: str
    revise: int
    approve: int
    revise_ranks: float
    revise_sum: float
    approve_sum: float


@dataclass(frozen=True, slots=True)
class RateRow:
    """One row of the revise rate.

    Attributes:
        group: the value of the grouping, or "all".
        n: revise + approve.
        revise: first verdicts REVISE.
        approve: first verdicts APPROVE.
        unreviewed: answers that could not be read; beside n, never in it.
        rate: revise / n; None when n is 0.
        low: lower limit of the 95 % Wilson interval.
        high: upper limit.
        stated_rate: how often the model itself said REVISE, of those of the n whose stated verdict could be
            read; None when none could.
        note: "anecdotal" when n is below 30.
        unit: what is counted.
        versions: how many combinations of models, prompts, ways of writing and settings of `block_on` the row pools. A row
            that pools several is a mixture and says nothing about any one of them.
    """

    group: str
    n: int
    revise: int
    approve: int
    unreviewed: int
    rate: float | None
    low: float
    high: float
    stated_rate: float | None
    note: str
    unit: str = UNIT
    versions: int = 0


@dataclass(frozen=True, slots=True)
class RateTables:
    """The revise rate by group. `excluded` counts verdicts that were left out, by reason."""

    rows: tuple[RateRow, ...]
    excluded: dict[str, int] = field(default_factory=dict)


def revise_rate(counts: Iterable[VerdictCount], *, whole: bool = False) -> RateTables:
    """The revise rate by the group of each count, in the order of their names.

    Self-reviewed proposals are not counted.

    Args:
        counts: first verdicts on first proposals (round 0 of attempt 0, no parts).
        whole: pool all groups into one row.
    """
    excluded: Counter[str] = Counter()
    groups: defaultdict[str, list[VerdictCount]] = defaultdict(list)
    for row in counts:
        if row.self_review:
            excluded["self_review"] += row.n
        else:
            groups[ALL if whole else row.group].append(row)
    return RateTables(tuple(_row(group, groups[group]) for group in sorted(groups)), dict(excluded))


def _row(group: str, counts: Sequence[VerdictCount]) -> RateRow:
    read = [row for row in counts if row.verdict is not Verdict.UNREVIEWED]
    stated = [row for row in read if row.stated_verdict in (Verdict.REVISE, Verdict.APPROVE)]
    revise = _sum(row for row in read if row.verdict is Verdict.REVISE)
    n = _sum(read)
    low, high = wilson(revise, n)
    return RateRow(
        group=group,
        n=n,
        revise=revise,
        approve=n - revise,
        unreviewed=_sum(counts) - n,
        rate=revise / n if n else None,
        low=low,
        high=high,
        stated_rate=_sum(row for row in stated if row.stated_verdict is Verdict.REVISE) / _sum(stated)
        if stated
        else None,
        note="anecdotal" if n < ANECDOTAL_BELOW else "",
        versions=len({versions_of(row) for row in counts}),
    )


def versions_of(row: Versions) -> Versions:
    """The versions alone of a count that has them: equal for counts that may be pooled."""
    return Versions(**{name: getattr(row, name) for name in Versions.model_fields})


def _sum(counts: Iterable[VerdictCount]) -> int:
    return sum(row.n for row in counts)


# Whether a writer's uncertainty says anything about the verdict: the area under the ROC curve, and its interval.
#
# The area (AUC) is the chance that of one change with REVISE and one with APPROVE the first had the higher entropy; one half
# says that entropy tells nothing. It is computed from the sum of ranks (Mann and Whitney), ties counting one half. The interval
# is method 5 of Newcombe (Statistics in Medicine 25 (2006) 559-573), a score-like form of Hanley and McNeil (1982), which stays
# within 0 and 1.


@dataclass(frozen=True, slots=True)
class Relation:
    """The mean entropy of one writer's changes against first verdicts.

    Attributes:
        revise, approve: verdicts of each kind.
        auc: None where one kind is missing; `low` and `high` are its 95 % interval.
        revise_mean, approve_mean: the mean of the entropy, in bits; None where there is none.
    """

    model: str
    revise: int
    approve: int
    auc: float | None
    low: float
    high: float
    revise_mean: float | None
    approve_mean: float | None

    @property
    def n(self) -> int:
        """Verdicts."""
        return self.revise + self.approve

    @property
    def related(self) -> bool:
        """Whether it is shown that changes with REVISE had the higher entropy."""
        return self.n >= ANECDOTAL_BELOW and self.low > 0.5


def relation(row: EntropyRanks) -> Relation:
    """One writer's."""
    m, n = row.revise, row.approve
    auc = (row.revise_ranks - m * (m + 1) / 2) / (m * n) if m and n else None
    low, high = auc_interval(auc, m, n) if auc is not None else (0.0, 1.0)
    return Relation(
        model=row.model,
        revise=m,
        approve=n,
        auc=auc,
        low=low,
        high=high,
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
