"""How often the reviewer asks for a revision of a first proposal, and how sure that figure is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time

from navigator.domain.errors import UsageError
from navigator.domain.states import Verdict
from navigator.evidence.intervals import ANECDOTAL_BELOW, wilson
from navigator.evidence.rows import FirstVerdict

UNIT = "first-round verdict"
GROUPINGS = ("prompt", "project", "kind", "complexity", "model")
ALL = "all"


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
        prompt_versions: how many versions of the review prompt the row pools.
        disagreed: of the n, how often the model's stated verdict is not the derived one, in either direction.
        models: how many reviewer models it pools. Versions are different reviewers: a row that pools
            several is a mixture and says nothing about any one of them.
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
    prompt_versions: int = 0
    models: int = 0
    disagreed: int = 0


@dataclass(frozen=True, slots=True)
class RateTables:
    """The revise rate of real reviews, and apart from it that of the rehearsal's.

    `excluded` counts real rows that were left out, by the first reason that applied: later_round,
    self_review, derived, audit.
    """

    rows: tuple[RateRow, ...]
    rehearsal: tuple[RateRow, ...]
    excluded: dict[str, int] = field(default_factory=dict)


def revise_rate(
    rows: Iterable[FirstVerdict], by: str | None = None, since: str | date | None = None
) -> RateTables:
    """The revise rate, whole or by group, groups in the order of their names.

    Counted are verdicts of round 0 of attempt 0. Self-reviewed, derived and planted proposals are not; the
    rehearsal's have a table of their own under the same rules.

    Args:
        rows: one for each proposal's first counted review.
        by: None, or one of `GROUPINGS`.
        since: only verdicts from this day or moment on; ISO 8601, UTC where no zone is given.

    Raises:
        UsageError: the grouping or the date is not known.
    """
    if by is not None and by not in GROUPINGS:
        raise UsageError(
            f"The revise rate cannot be grouped by {by!r}.", hint=f"Choose one of {', '.join(GROUPINGS)}."
        )
    start = None if since is None else moment(since)
    recent = [row for row in rows if start is None or moment(row.at) >= start]

    excluded: defaultdict[str, int] = defaultdict(int)
    counted: list[FirstVerdict] = []
    for row in recent:
        reason = _left_out(row)
        if not reason:
            counted.append(row)
        elif not row.rehearsal:
            excluded[reason] += 1
    return RateTables(
        rows=_table([row for row in counted if not row.rehearsal], by),
        rehearsal=_table([row for row in counted if row.rehearsal], by),
        excluded=dict(excluded),
    )


def moment(value: str | date) -> datetime:
    """A point in time from a date or an ISO 8601 text; midnight UTC of a bare date.

    Raises:
        UsageError: the text is neither.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise UsageError(
                f"{value!r} is not a date.", hint="Write it like 2026-11-03 or 2026-11-03T18:00:00Z."
            ) from None
    if not isinstance(value, datetime):
        value = datetime.combine(value, time.min)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _left_out(row: FirstVerdict) -> str:
    if row.attempt or row.round:
        return "later_round"
    if row.self_review:
        return "self_review"
    if row.derived:
        return "derived"
    return "audit" if row.audit else ""


def _table(rows: Sequence[FirstVerdict], by: str | None) -> tuple[RateRow, ...]:
    if by is None:
        return (_row(ALL, rows),) if rows else ()
    groups: defaultdict[str, list[FirstVerdict]] = defaultdict(list)
    for row in rows:
        groups[_group(row, by)].append(row)
    return tuple(_row(name, groups[name]) for name in sorted(groups))


def _group(row: FirstVerdict, by: str) -> str:
    values = {
        "prompt": row.prompt_version,
        "project": row.project,
        "kind": row.kind.value,
        "complexity": row.complexity.value,
        "model": row.model,
    }
    return values[by]


def _row(group: str, rows: Sequence[FirstVerdict]) -> RateRow:
    read = [row for row in rows if row.verdict is not Verdict.UNREVIEWED]
    revise = sum(row.verdict is Verdict.REVISE for row in read)
    stated = [row for row in read if row.stated_verdict in (Verdict.REVISE, Verdict.APPROVE)]
    stated_revise = sum(row.stated_verdict is Verdict.REVISE for row in stated)
    n = len(read)
    low, high = wilson(revise, n)
    return RateRow(
        group=group,
        n=n,
        revise=revise,
        approve=n - revise,
        unreviewed=len(rows) - n,
        rate=revise / n if n else None,
        low=low,
        high=high,
        stated_rate=stated_revise / len(stated) if stated else None,
        note="anecdotal" if n < ANECDOTAL_BELOW else "",
        prompt_versions=len({row.prompt_version for row in rows}),
        models=len({row.model for row in rows}),
        disagreed=sum(row.stated_verdict is not row.verdict for row in stated),
    )
