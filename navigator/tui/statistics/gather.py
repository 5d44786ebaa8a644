"""What the statistics screen shows, counted from the store in one go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from navigator.evidence.edits import EditTables, edit_stats
from navigator.evidence.outcomes import OutcomeTables, outcomes
from navigator.evidence.rates import RateRow, RateTables, moment, revise_rate
from navigator.evidence.rows import FirstVerdict
from navigator.evidence.swaps import Direction, swap_stats
from navigator.evidence.throughput import Throughput, throughput

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader

PERIODS: tuple[tuple[str, int], ...] = (("all time", 0), ("7 days", 7), ("30 days", 30), ("90 days", 90))
"""Spans of time to choose from, with their days; 0 for everything."""

WEEKS = 12
"""Weeks shown over time at most."""


@dataclass(frozen=True, slots=True)
class Week:
    """The revise rate of the first verdicts of one week. `row` is None for a week without any."""

    monday: date
    row: RateRow | None


@dataclass(frozen=True, slots=True)
class Weeks:
    """Weeks in order up to the newest with a verdict, real and rehearsed apart."""

    real: tuple[Week, ...] = ()
    rehearsal: tuple[Week, ...] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """Everything on the screen. `whole` pools all reviews, `grouped` is by the chosen property."""

    whole: RateTables
    grouped: RateTables
    weeks: Weeks
    outcomes: OutcomeTables
    swaps: tuple[Direction, ...]
    throughput: tuple[Throughput, ...]
    edits: EditTables
    by: str = "kind"
    days: int = 0
    excluded: dict[str, int] = field(default_factory=dict)


def gather(reader: Reader, *, by: str, days: int, now: datetime) -> Statistics:
    """Count everything.

    Args:
        by: one of `evidence.rates.GROUPINGS`.
        days: what happened in so many days only; 0 for all.
        now: the end of that span.
    """
    from navigator.cascade.views import figures

    since = (now - timedelta(days=days)).isoformat() if days else None
    with reader.snapshot():
        verdicts = figures.first_verdicts(reader)
        calls = figures.call_rows(reader)
        swaps = reader.swaps()
        tasks, decided = figures.task_rows(reader, since), figures.decided_rows(reader, since)
        edits = figures.edit_rounds(reader, since)
    if since is not None:
        start = moment(since)
        calls = [call for call in calls if moment(call.at) >= start]
        swaps = [swap for swap in swaps if moment(swap.started) >= start]
    whole = revise_rate(verdicts, since=since)
    return Statistics(
        whole=whole,
        grouped=revise_rate(verdicts, by=by, since=since),
        weeks=by_week(verdicts, since),
        outcomes=outcomes(tasks, decided),
        swaps=swap_stats(swaps),
        throughput=throughput(calls),
        edits=edit_stats(edits),
        by=by,
        days=days,
        excluded=whole.excluded,
    )


def by_week(verdicts: Sequence[FirstVerdict], since: str | None = None) -> Weeks:
    """The revise rate by week (Monday to Sunday, UTC), the last `WEEKS` of them, under the same rules as the whole."""
    start = moment(since) if since else None
    held: defaultdict[date, list[FirstVerdict]] = defaultdict(list)
    for row in verdicts:
        at = moment(row.at)
        if start is None or at >= start:
            held[at.date() - timedelta(days=at.weekday())].append(row)
    counted = {monday: revise_rate(rows) for monday, rows in held.items()}
    return Weeks(
        real=_run({monday: tables.rows[0] for monday, tables in counted.items() if tables.rows}),
        rehearsal=_run(
            {monday: tables.rehearsal[0] for monday, tables in counted.items() if tables.rehearsal}
        ),
    )


def _run(rows: dict[date, RateRow]) -> tuple[Week, ...]:
    """Consecutive weeks up to the newest, empty ones between included."""
    if not rows:
        return ()
    last = max(rows)
    first = max(min(rows), last - timedelta(weeks=WEEKS - 1))
    mondays = (first + timedelta(weeks=number) for number in range((last - first).days // 7 + 1))
    return tuple(Week(monday, rows.get(monday)) for monday in mondays)
