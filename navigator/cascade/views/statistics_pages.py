"""The pages of statistics: one entry each, rendered by `navigator stats NAME` and by the Statistics screen.

A page reads its counts from the store and lays them out as tables of plain data. Real figures and the rehearsal's are laid
out separately. What a client draws (columns of text, intervals, bars) is its own business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Generic, TypeVar

from navigator.domain.errors import UsageError
from navigator.evidence.intervals import ANECDOTAL_BELOW, Share, Summary, Tables, needed
from navigator.evidence.outcomes import EditStats, Outcomes, edit_stats, outcomes
from navigator.evidence.rates import RateRow, RateTables, revise_rate
from navigator.evidence.reviews import ReviewQuality, SelfReviews, review_quality, self_reviews
from navigator.evidence.swaps import Direction, swap_stats
from navigator.evidence.throughput import Throughput, throughput
from navigator.store.reads.reader import Reader

REHEARSAL = "simulated by the embedded stand-in; says nothing about a real model"
WEEKS = 12
"""Weeks shown over time at most."""

_P95_FROM = 20
_ASSUMED = 0.35
"""The rate that "how sure" assumes while there are too few verdicts to tell."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a page: `by` groups the revise rate, `since` is a UTC time as the store writes it; "" for neither."""

    by: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column after the labels: right-aligned in `width` cells; a `wide` one only where there is room."""

    name: str
    width: int
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table.

    Attributes:
        label: what it is about; may hold names that models or repositories chose.
        cells: one text per column.
        share: drawn as an interval between 0 and 100 % where a client can; a hollow one below 30.
        count: drawn as a bar.
        parts: named seconds, drawn as stretches of one line.
        note: words after the cells.
        detail: belongs to the row above it.
    """

    label: str
    cells: tuple[str, ...] = ()
    share: Share | None = None
    count: int | None = None
    parts: tuple[tuple[str, float], ...] = ()
    note: str = ""
    detail: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title.

    Attributes:
        about: words beside the title.
        headline: the one figure that sums the table up.
        facts: named sentences above the rows.
        trend: a rate per period, oldest first, None where there was nothing.
        empty: what is said where there are no rows.
        notes: below the rows.
    """

    title: str
    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()
    about: str = ""
    headline: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    trend: tuple[float | None, ...] = ()
    empty: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StatisticsPage(Generic[_T]):
    """One page.

    Attributes:
        name: of the command.
        title: of the tab.
        help: of the command: one sentence, then what it says, if anything.
        missing: said where nothing was counted at all.
        read: counts it from the store.
        tables: lays it out, the real figures or the rehearsal's; () where there are none.
        document: the JSON of the command.
    """

    name: str
    title: str
    help: str
    missing: str
    read: Callable[[Reader, Question], _T]
    tables: Callable[[_T, bool], Sequence[Table]]
    document: Callable[[_T], dict[str, Any]]


def utc_text(value: str | datetime) -> str:
    """A point in time as the store writes it; midnight UTC of a bare date.

    Raises:
        UsageError: the text is no ISO 8601 date or time.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            raise UsageError(
                f"{value!r} is not a date.", hint="Write it like 2026-11-03 or 2026-11-03T18:00:00Z."
            ) from None
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def percent(rate: float | None) -> str:
    """`35%`, or a dash where it is unknown."""
    return "–" if rate is None else f"{100 * rate:.0f}%"


def _bounds(found: Share | RateRow) -> str:
    return f"[{100 * found.low:.0f}–{100 * found.high:.0f}]" if found.n else ""


def _number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _dash(count: int) -> str:
    return f"{count:,}" if count else "–"


# Revise rate


@dataclass(frozen=True, slots=True)
class Rates:
    """The revise rate as a whole, by a property and by week (groups are Mondays)."""

    whole: RateTables
    grouped: RateTables
    weeks: RateTables
    by: str


def _read_rates(reader: Reader, question: Question) -> Rates:
    counts = reader.verdict_counts(question.by, question.since)
    return Rates(
        whole=revise_rate(counts, whole=True),
        grouped=revise_rate(counts),
        weeks=revise_rate(reader.verdict_counts("week", question.since)),
        by=question.by,
    )


_RATE_COLUMNS = (
    Column("rate", 6),
    Column("95 %", 10),
    Column("n", 7),
    Column("revise", 8, wide=True),
    Column("approve", 9, wide=True),
    Column("unread", 8),
    Column("stated", 8),
    Column("differs", 9, wide=True),
)


def _rate_tables(found: Rates, rehearsal: bool) -> Sequence[Table]:
    whole, grouped, weeks = (
        table.rehearsal if rehearsal else table.rows for table in (found.whole, found.grouped, found.weeks)
    )
    if not whole:
        return ()
    row = whole[0]
    left = ", ".join(
        f"{count} {why.replace('_', ' ')}" for why, count in sorted(found.whole.excluded.items())
    )
    notes = [f"anecdotal: n below {ANECDOTAL_BELOW}"]
    notes += [f"not counted: {left}"] if left and not rehearsal else []
    tables = [
        Table(
            "REVISE RATE",
            _RATE_COLUMNS,
            (_rate_row("all", row),),
            about="first-round verdicts",
            headline=f"{percent(row.rate)} {_bounds(row)}  n {row.n:,}",
            facts=tuple(_facts(row)),
            notes=tuple(notes),
        )
    ]
    if found.by:
        tables.append(
            Table(
                f"BY {found.by.upper()}", _RATE_COLUMNS, tuple(_rate_row(one.group, one) for one in grouped)
            )
        )
    return (*tables, _by_week(weeks))


def _rate_row(label: str, row: RateRow) -> Row:
    cells = (
        percent(row.rate),
        _bounds(row),
        f"{row.n:,}",
        f"{row.revise:,}",
        f"{row.approve:,}",
        _dash(row.unreviewed),
        percent(row.stated_rate),
        _dash(row.disagreed),
    )
    interval = Share(row.revise, row.n, row.rate, row.low, row.high)
    return Row(label, cells, share=interval, note=row.note or _pooled(row))


def _facts(row: RateRow) -> Iterable[tuple[str, str]]:
    yield "Margin", how_sure(row)
    if row.stated_rate is not None:
        stated = percent(row.stated_rate)
        yield "Stated", f"the reviewer stated REVISE for {stated}; the rate counts anchored findings"
    if row.unreviewed:
        answers = f"{row.unreviewed:,} {'answer' if row.unreviewed == 1 else 'answers'}"
        yield "Unread", f"{answers} could not be read (UNREVIEWED); not part of n"
    if pooled := _pooled(row):
        yield "Mixture", f"{pooled}; the rate holds for none of them alone"


def how_sure(row: RateRow) -> str:
    """What the interval is worth, and how many verdicts a narrower one needs."""
    known = row.n >= ANECDOTAL_BELOW and row.rate is not None
    rate = row.rate if known and row.rate else _ASSUMED
    said = [_reach(row.n, points, needed(points / 100, rate)) for points in (10, 5)]
    basis = "" if known else f" (assuming {100 * _ASSUMED:.0f}% while n is below {ANECDOTAL_BELOW})"
    return " · ".join(said) + basis


def _reach(n: int, points: int, need: int) -> str:
    if n >= need:
        return f"±{points} points reached at n {need:,}"
    return f"±{points} needs n {need:,}, {need - n:,} to go"


def _pooled(row: RateRow) -> str:
    many = ((row.models, "models"), (row.prompt_versions, "prompt versions"))
    what = [f"{count} {name}" for count, name in many if count > 1]
    return f"pools {' and '.join(what)}" if what else ""


def _by_week(rows: Sequence[RateRow]) -> Table:
    """Consecutive weeks up to the newest with a verdict, the newest first; empty ones between included."""
    by_monday = {date.fromisoformat(row.group): row for row in rows}
    last = max(by_monday)
    first = max(min(by_monday), last - timedelta(weeks=WEEKS - 1))
    mondays = [first + timedelta(weeks=number) for number in range((last - first).days // 7 + 1)]
    shown = []
    for monday in mondays:
        label = f"week of {monday.strftime('%b')} {monday.day}"
        row = by_monday.get(monday)
        shown.append(_rate_row(label, row) if row else Row(label, note="no verdicts"))
    rates = tuple(by_monday[monday].rate if monday in by_monday else None for monday in mondays)
    return Table("OVER TIME, BY WEEK", _RATE_COLUMNS, tuple(reversed(shown)), trend=rates)


def _rate_document(found: Rates) -> dict[str, Any]:
    return {
        "rows": [asdict(row) for row in found.grouped.rows],
        "rehearsal": [asdict(row) for row in found.grouped.rehearsal],
        "excluded": found.grouped.excluded,
    }


# Outcomes


@dataclass(frozen=True, slots=True)
class Results:
    """What became of tasks, of decisions, and of reviews as such."""

    outcomes: Tables[Outcomes]
    quality: Tables[ReviewQuality]
    self_reviews: Tables[SelfReviews]


def _read_results(reader: Reader, question: Question) -> Results:
    since = question.since
    return Results(
        outcomes=outcomes(reader.task_counts(since), reader.decision_counts(since)),
        quality=review_quality(reader.review_totals(since)),
        self_reviews=self_reviews(reader.verdict_pairs(since)),
    )


_SHARE_COLUMNS = (Column("share", 6), Column("95 %", 10), Column("of", 14))


def _share_rows(shares: Iterable[tuple[str, Share]]) -> tuple[Row, ...]:
    return tuple(
        Row(name, (percent(found.rate), _bounds(found), f"{found.k} of {found.n}"), share=found)
        if found.n
        else Row(name, note="none yet")
        for name, found in shares
    )


def _bars(title: str, counts: dict[str, int], empty: str) -> Table:
    rows = sorted(counts.items(), key=lambda item: -item[1])
    return Table(title, rows=tuple(Row(name, count=count) for name, count in rows), empty=empty)


def _result_tables(found: Results, rehearsal: bool) -> Sequence[Table]:
    decided = found.outcomes.of(rehearsal)
    quality, own = found.quality.of(rehearsal), found.self_reviews.of(rehearsal)
    if not decided.states:
        return ()
    left = f"not counted: {decided.not_counted} on self-reviewed or unreviewed work"
    disagreements = _share_rows(
        (
            ("rejected after APPROVE", decided.rejected_after_approve),
            ("sent back after APPROVE", decided.sent_back_after_approve),
            ("approved over REVISE", decided.approved_over_revise),
            ("approved UNREVIEWED", decided.approved_unreviewed),
        )
    )
    tables = [
        Table(
            "YOU AND THE REVIEWER",
            _SHARE_COLUMNS,
            disagreements,
            about="your decisions",
            notes=(left,) if decided.not_counted else (),
        )
    ]
    if quality.readings:
        rows = _share_rows(
            (
                ("could not be read", quality.unreviewed),
                ("stated another verdict", quality.disagreed),
                ("unanchored findings", quality.unanchored),
                ("later rounds with a reversal", quality.reversed),
            )
        )
        about = f"{quality.readings:,} reviews, {quality.in_parts:,} of them in parts"
        remarks = (
            (f"{quality.remarks:,} remarks of later rounds, which do not count",) if quality.remarks else ()
        )
        tables.append(Table("REVIEW QUALITY", _SHARE_COLUMNS, rows, about=about, notes=remarks))
    if own.agreed.n or own.unread:
        rows = _share_rows(
            (
                ("same verdict", own.agreed),
                ("also objected", own.caught),
                ("objected alone", own.alone),
            )
        )
        unread = (f"{own.unread:,} could not be read",) if own.unread else ()
        about = "compared with the reviewer's first verdict"
        tables.append(Table("WRITER'S OWN REVIEWS", _SHARE_COLUMNS, rows, about=about, notes=unread))
    states = {name.replace("_", " "): count for name, count in decided.states.items()}
    return (*tables, _bars("TASKS BY STATE", states, "no task yet"))


def _result_document(found: Results) -> dict[str, Any]:
    return {
        **asdict(found.outcomes),
        "readings": asdict(found.quality),
        "own_readings": asdict(found.self_reviews),
    }


# Swaps

_SWAP_COLUMNS = (
    Column("n", 6),
    Column("mean", 9),
    Column("median", 9),
    Column("P95", 9),
    Column("failed", 8),
)


def _read_swaps(reader: Reader, question: Question) -> tuple[Direction, ...]:
    return swap_stats(reader.swaps(since=question.since))


def swap_table(directions: Sequence[Direction]) -> Table:
    """Directions with count, mean, median and P95 in seconds; below each its phases and how warm its weights were."""
    rows: list[Row] = []
    few = False
    for found in directions:
        took = found.seconds
        few = few or (took is not None and took.n < _P95_FROM)
        rest = [f"{count} {failure.replace('_', ' ')}" for failure, count in found.failures.items()]
        rest += [f"{found.outside} external, not measured"] if found.outside else []
        origin = found.from_role.value if found.from_role else "nothing"
        label = f"{origin} → {found.to_role.value}  by {found.strategy}"
        medians = tuple((phase, summary.median) for phase, summary in found.phases.items())
        rows.append(Row(label, (*_seconds(took), _dash(found.failed)), parts=medians, note=", ".join(rest)))
        rows += [
            Row(f"  {phase}", (*_seconds(summary, rough=False), ""), detail=True)
            for phase, summary in found.phases.items()
        ]
        rows += [
            Row(
                f"  began {kind.name}, {percent(kind.share)} in memory",
                (*_seconds(kind.seconds, rough=False), ""),
                detail=True,
            )
            for kind in found.warmth
        ]
    note = (
        (f"~ P95 of fewer than {_P95_FROM} is only indicative: it lies between the two longest",)
        if few
        else ()
    )
    about = "seconds, completed swaps only"
    return Table("SWAPS", _SWAP_COLUMNS, tuple(rows), about=about, empty="no swap measured yet", notes=note)


def _seconds(took: Summary | None, *, rough: bool = True) -> tuple[str, ...]:
    if took is None:
        return ("0", "–", "–", "–")
    mark = "~" if rough and took.n < _P95_FROM else ""
    return (f"{took.n:,}", f"{took.mean:.1f}", f"{took.median:.1f}", f"{mark}{took.p95:.1f}")


def _swap_tables(found: tuple[Direction, ...], rehearsal: bool) -> Sequence[Table]:
    rows = [row for row in found if row.rehearsal is rehearsal]
    return (swap_table(rows),) if rows else ()


# Throughput

_SPEED_COLUMNS = (
    Column("tok/s", 8),
    Column("per stream", 12),
    Column("streams", 9),
    Column("calls", 9),
    Column("failed", 8),
    Column("cached", 8),
    Column("tokens out", 14, wide=True),
)


def _speed_tables(found: tuple[Throughput, ...], rehearsal: bool) -> Sequence[Table]:
    rows = tuple(
        Row(
            f"{row.role.value}  {row.model}",
            (
                _number(row.tokens_per_second),
                _number(row.stream_tokens_per_second),
                _number(row.streams, 1),
                f"{row.calls:,}",
                _dash(row.failed),
                percent(row.cached_share),
                f"{row.completion_tokens:,}",
            ),
        )
        for row in found
        if row.rehearsal is rehearsal
    )
    about = "measured by the client, waiting for the first token included"
    return (Table("THROUGHPUT", _SPEED_COLUMNS, rows, about=about),) if rows else ()


# Edits


def _edit_tables(found: Tables[EditStats], rehearsal: bool) -> Sequence[Table]:
    edits = found.of(rehearsal)
    if not edits.clean_first.n:
        return ()
    rounds = f"{edits.repaired:,} repaired, {edits.lost:,} lost, of {edits.clean_first.n:,} rounds that asked for edits"
    return (
        Table(
            "EDITS",
            _SHARE_COLUMNS,
            _share_rows((("clean at the first answer", edits.clean_first),)),
            about="how the generator's edits applied",
            notes=(rounds,),
        ),
        _bars("RUNGS THAT APPLIED", edits.rungs, "none applied"),
        _bars("WHY EDITS FAILED", edits.codes, "every edit applied at once"),
    )


PAGES: tuple[StatisticsPage[Any], ...] = (
    StatisticsPage(
        name="revise-rate",
        title="Revise rate",
        help="How often the reviewer asks for a revision of a first proposal, with 95 % Wilson intervals.",
        missing="No first-round verdict yet. The revise rate appears once the reviewer has reviewed proposals.",
        read=_read_rates,
        tables=_rate_tables,
        document=_rate_document,
    ),
    StatisticsPage(
        name="outcomes",
        title="Outcomes",
        help="What became of tasks, where you and the reviewer disagreed, and how good the reviews were.",
        missing="No task yet.",
        read=_read_results,
        tables=_result_tables,
        document=_result_document,
    ),
    StatisticsPage(
        name="swaps",
        title="Swaps",
        help="What a swap costs: count, mean, median and P95 by direction and phase, in seconds.",
        missing="No swap measured yet.",
        read=_read_swaps,
        tables=_swap_tables,
        document=lambda found: {"directions": [asdict(row) for row in found]},
    ),
    StatisticsPage(
        name="throughput",
        title="Throughput",
        help="Tokens per second by role and model, as the client measured them.",
        missing="No model called yet.",
        read=lambda reader, question: throughput(reader.call_totals(question.since)),
        tables=_speed_tables,
        document=lambda found: {"throughput": [asdict(row) for row in found]},
    ),
    StatisticsPage(
        name="edits",
        title="Edits",
        help="On which rung edits applied, why they failed, and how often the first answer was clean.",
        missing="No edits yet.",
        read=lambda reader, question: edit_stats(reader.edit_totals(question.since)),
        tables=_edit_tables,
        document=asdict,
    ),
)
"""Every page, in the order of the screen's tabs. A new one is one entry here; its counts come from
`store.reads.statistics`, its arithmetic from `evidence`."""
