"""How often the reviewer asks for a revision of a first proposal, and how sure that figure is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from navigator.figures.intervals import ANECDOTAL_BELOW, needed, wilson
from navigator.model.records import VerdictCount, Versions
from navigator.model.states import Verdict

UNIT = "first-round verdict"
ALL = "all"

ASSUMED_RATE = 0.35
"""What a rate is thought to be while there are too few verdicts to tell how many more are needed."""


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
        more_for_10: how many more verdicts it takes until the interval is about ±10 points wide; at the row's own rate, or
            `ASSUMED_RATE` while n is below 30.
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
    more_for_10: int = 0


@dataclass(frozen=True, slots=True)
class RateTables:
    """The revise rate by group. `excluded` counts verdicts that were left out, by reason."""

    rows: tuple[RateRow, ...]
    excluded: dict[str, int] = field(default_factory=dict)


def revise_rate(counts: Iterable[VerdictCount], *, whole: bool = False, own: bool = False) -> RateTables:
    """The revise rate by the group of each count, in the order of their names.

    Self-reviewed proposals are not counted, and with `own` nothing else is.

    Args:
        counts: first verdicts on first proposals (round 0 of attempt 0, no parts).
        whole: pool all groups into one row.
    """
    excluded: Counter[str] = Counter()
    groups: defaultdict[str, list[VerdictCount]] = defaultdict(list)
    for row in counts:
        if row.self_review is own:
            groups[ALL if whole else row.group].append(row)
        elif row.self_review:
            excluded["self_review"] += row.n
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
        more_for_10=max(0, verdicts_needed(0.10, revise, n) - n),
    )


def versions_of(row: Versions) -> Versions:
    """The versions alone of a count that has them: equal for counts that may be pooled."""
    return Versions(**{name: getattr(row, name) for name in Versions.model_fields})


def verdicts_needed(half_width: float, revise: int, n: int) -> int:
    """How many verdicts make a 95 % interval of ± `half_width`, judging by `revise` of `n`; with few, by `ASSUMED_RATE`."""
    known = n >= ANECDOTAL_BELOW and 0 < revise < n
    return needed(half_width, revise / n if known else ASSUMED_RATE)


def _sum(counts: Iterable[VerdictCount]) -> int:
    return sum(row.n for row in counts)
