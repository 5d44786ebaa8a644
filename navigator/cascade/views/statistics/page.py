"""What a page of statistics is: tables of plain data that a client draws, and the JSON of the same figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from navigator.figures.intervals import ANECDOTAL_BELOW, Share, percent_of
from navigator.figures.rates import RateRow
from navigator.model.errors import UsageError
from navigator.store.reads.reader import Reader

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
class RatePlot:
    """A rate over time, drawn with its interval.

    Attributes:
        points: the day on which each period begins (ISO 8601) and its rate, oldest first; nothing where there was nothing.
        marks: days on which something changed, and what, such as a new prompt version; drawn as vertical lines.
    """

    points: tuple[tuple[str, Share], ...]
    marks: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SpreadPlot:
    """How durations are distributed, one line per label on an axis that all share.

    Attributes:
        start: where the first bin begins, in `unit`.
        step: how wide a bin is.
        counts: per label how many fell into each bin, as many bins for each.
    """

    start: float
    step: float
    counts: tuple[tuple[str, tuple[int, ...]], ...]
    unit: str = "s"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title.

    Attributes:
        about: words beside the title.
        answer: the sentence that answers the title's question.
        plot: drawn above the rows.
        headline: the one figure that sums the table up.
        facts: named sentences above the rows.
        empty: what is said where there are no rows.
        notes: below the rows.
    """

    title: str
    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()
    about: str = ""
    answer: str = ""
    headline: str = ""
    plot: RatePlot | SpreadPlot | None = None
    facts: tuple[tuple[str, str], ...] = ()
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
        tables: lays it out; () where there is nothing.
        document: the JSON of the command.
    """

    name: str
    title: str
    help: str
    missing: str
    read: Callable[[Reader, Question], _T]
    tables: Callable[[_T], Sequence[Table]]
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
                f"{value!r} is not a date.",
                hint="Write it like 2026-11-03 or 2026-11-03T18:00:00Z, or 12h, 7d or 8w.",
            ) from None
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def percent(rate: float | None) -> str:
    """`35%`, or a dash where it is unknown."""
    return "–" if rate is None else f"{percent_of(rate)}%"


def bounds(found: Share | RateRow) -> str:
    return f"[{percent_of(found.low)}–{percent_of(found.high)}]" if found.n else ""


def number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def dash(count: int) -> str:
    return f"{count:,}" if count else "–"


SHARE_COLUMNS = (Column("share", 6), Column("95 %", 10), Column("of", 14))


def share_rows(shares: Iterable[tuple[str, Share]]) -> tuple[Row, ...]:
    return tuple(
        Row(name, (percent(found.rate), bounds(found), f"{found.k:,} of {found.n:,}"), share=found)
        if found.n
        else Row(name, note="none yet")
        for name, found in shares
    )


def few_notes(rows: Iterable[Row]) -> tuple[str, ...]:
    """The note below a table in which a share is of fewer than it takes."""
    few = any(row.share and 0 < row.share.n < ANECDOTAL_BELOW for row in rows)
    return (f"anecdotal: n below {ANECDOTAL_BELOW}",) if few else ()


def bars(title: str, counts: dict[str, int], empty: str) -> Table:
    rows = sorted(counts.items(), key=lambda item: -item[1])
    return Table(title, rows=tuple(Row(name, count=count) for name, count in rows), empty=empty)
