"""What a page of statistics is: tables of plain data that a client draws, and the JSON of the same figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from navigator.figures.intervals import ANECDOTAL_BELOW, Share, percent_of
from navigator.model.errors import UsageError
from navigator.store.reads.reader import Reader

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """What is asked of a page: `by` groups the revise rate, `since` is a UTC time as the store writes it; "" for neither."""

    by: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column after the labels, right-aligned: `of` is its text for one thing; a `wide` one only where there is room."""

    name: str
    of: Callable[[Any], str]
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
    plot: RatePlot | None = None
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
    read: Callable[[Reader, PageQuestion], _T]
    tables: Callable[[_T], Sequence[Table]]
    document: Callable[[_T], dict[str, Any]] = asdict  # type: ignore[assignment]


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


def bounds(found: Share) -> str:
    return f"[{percent_of(found.low)}–{percent_of(found.high)}]" if found.n else ""


def number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def dash(count: int) -> str:
    return f"{count:,}" if count else "–"


# How tables are made


def rows_of(
    columns: Sequence[Column],
    named: Iterable[tuple[str, Any]],
    *,
    share: Callable[[Any], Share | None] = lambda one: None,
    note: Callable[[Any], str] = lambda one: "",
    detail: bool = False,
) -> tuple[Row, ...]:
    """One row a thing: its label, the columns' texts, and the share that is drawn; one whose share is of nothing says so."""
    made = []
    for label, one in named:
        found = share(one)
        if found is not None and not found.n:
            made.append(Row(label, note="none yet", detail=detail))
        else:
            cells = tuple(column.of(one) for column in columns)
            made.append(Row(label, cells, share=found, note=note(one), detail=detail))
    return tuple(made)


SHARE_COLUMNS = (
    Column("share", lambda found: percent(found.rate)),
    Column("95 %", bounds),
    Column("of", lambda found: f"{found.k:,} of {found.n:,}"),
)


def share_rows(named: Iterable[tuple[str, Share]]) -> tuple[Row, ...]:
    """Shares with their intervals."""
    return rows_of(SHARE_COLUMNS, named, share=lambda found: found)


def share_table(
    title: str, named: Iterable[tuple[str, Share]], about: str = "", notes: Iterable[tuple[int, str]] = ()
) -> Table:
    """Shares under a title; below them what is not in them, as counts with words, where there is any."""
    told = tuple(f"{count:,} {words}" for count, words in notes if count)
    return Table(title, SHARE_COLUMNS, share_rows(named), about=about, notes=told)


def bars(title: str, counts: dict[str, int], empty: str) -> Table:
    """Counts, the largest first."""
    rows = sorted(counts.items(), key=lambda item: -item[1])
    return Table(title, rows=tuple(Row(name, count=count) for name, count in rows), empty=empty)


_MOST_NAMED = 6
"""Shares that a sentence names."""


def brief(table: Table) -> Table:
    """A table whose shares are all of too few is one sentence; where some are, a note says what that is.

    A rate over time stays a table where all its periods together are enough.
    """
    shares = [(row.label.strip(), row.share) for row in table.rows if row.share is not None and row.share.n]
    few = [found for _, found in shares if found.n < ANECDOTAL_BELOW]
    if not few:
        return table
    over_time = table.plot is not None and sum(found.n for found in few) >= ANECDOTAL_BELOW
    if len(few) < len(shares) or over_time:
        return replace(table, notes=(f"anecdotal: n below {ANECDOTAL_BELOW}", *table.notes))
    named = [f"{label} {found.k:,} of {found.n:,}" for label, found in shares[:_MOST_NAMED]]
    more = [f"{len(shares) - _MOST_NAMED} more"] if len(shares) > _MOST_NAMED else []
    sentence = f"{', '.join([*named, *more])}: too few for a rate, needed: {ANECDOTAL_BELOW}"
    if table.answer:
        others = tuple(row for row in table.rows if row.share is None and row.cells and row.cells[0] != "–")
        return replace(table, rows=others, notes=(sentence, *table.notes))
    return replace(table, columns=(), rows=(), plot=None, headline="", facts=(), empty=sentence)
