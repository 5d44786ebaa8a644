"""What a page of statistics is: tables, drawn by the terminal and the screen, and the same figures as JSON, JSON lines and CSV.

Most tables are declared in `figures.toml`; `declared` reads them.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from itertools import takewhile
from typing import Any

from navigator.figures.intervals import ANECDOTAL_BELOW, Share, percent_of, share
from navigator.model import patterns
from navigator.model.errors import UsageError
from navigator.model.json_text import read_toml
from navigator.model.models import Variation
from navigator.model.text import safe_line
from navigator.store.reads.queries import COUNTED
from navigator.store.reads.reader import Reader


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """What is asked of a page: `by` groups the revise rate, `since` is a UTC time as the store writes it; "" for neither."""

    by: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column after the labels, right-aligned; a `wide` one only where there is room."""

    name: str
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table.

    Attributes:
        label: what it is about; may hold names that models or repositories chose.
        cells: one text per column.
        share: drawn as an interval between 0 and 100 % where a client can; a hollow one below 30.
        count: drawn as a bar.
        note: words after the cells.
        detail: belongs to the row above it.
    """

    label: str
    cells: tuple[str, ...] = ()
    share: Share | None = None
    count: int | None = None
    note: str = ""
    detail: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title.

    Attributes:
        about: words beside the title.
        answer: the sentence that answers the title's question.
        facts: named sentences above the rows.
        empty: what is said where there are no rows.
        notes: below the rows.
        periods: the rows are periods of one rate: they are rows where all of them together are enough.
        name: of `data` in the page's JSON; "" where another table has it.
        data: the figures as plain data.
    """

    title: str
    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()
    about: str = ""
    answer: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    empty: str = ""
    notes: tuple[str, ...] = ()
    periods: bool = False
    name: str = ""
    data: Any = None


@dataclass(frozen=True, slots=True)
class StatisticsPage:
    """One page.

    Attributes:
        name: of the command.
        title: of the tab.
        missing: said where nothing was counted at all.
        parts: what makes its tables, in their order.
    """

    name: str
    title: str
    missing: str
    parts: tuple[Callable[[Reader, PageQuestion], Iterable[Table]], ...]

    def read(self, reader: Reader, question: PageQuestion) -> tuple[Table, ...]:
        """Count it from the store."""
        return tuple(brief(table) for part in self.parts for table in part(reader, question))


def drawn(tables: Iterable[Table]) -> tuple[Table, ...]:
    """Those that have something to say."""
    return tuple(one for one in tables if one.rows or one.answer or one.empty or one.facts)


def document(tables: Iterable[Table]) -> dict[str, Any]:
    """The JSON of a page."""
    return {one.name: one.data for one in tables if one.name}


_AGE = patterns.compile(r"(\d+)([dwh])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def moment_of(age: str) -> str | None:
    """The UTC time that long ago (`12h`, `30d`, `8w`), ISO 8601; None for any other text and for dates before year 1."""
    match = _AGE.fullmatch(age.strip())
    if match is None:
        return None
    try:
        return utc_text(datetime.now(UTC) - int(match[1]) * _UNITS[match[2]])
    except OverflowError:
        return None


def since_utc(text: str) -> str:
    """A day, a moment, or an age such as 7d as the UTC time that it began; "" for none.

    Raises:
        UsageError: it is none of these.
    """
    return utc_text(moment_of(text) or text) if text else ""


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
    """`[23–37]`, in percent."""
    return f"[{percent_of(found.low)}–{percent_of(found.high)}]" if found.n else ""


def number(value: float | None, digits: int = 0) -> str:
    """`1,234`, or a dash where it is unknown."""
    return "–" if value is None else f"{value:,.{digits}f}"


def dash(count: int) -> str:
    """A count, or a dash for none."""
    return f"{count:,}" if count else "–"


# How tables are made


SHARE_COLUMNS = Column("share"), Column("95 %"), Column("of")


def share_rows(named: Iterable[tuple[str, Share]]) -> tuple[Row, ...]:
    """Shares with their intervals; one of nothing says so."""
    return tuple(
        Row(
            label,
            (percent(found.rate), bounds(found), f"{found.k:,} of {found.n:,}") if found.n else (),
            share=found if found.n else None,
            note="" if found.n else "none yet",
        )
        for label, found in named
    )


def share_table(title: str, named: Iterable[tuple[str, Share]], about: str = "") -> Table:
    """Shares under a title."""
    return Table(title, SHARE_COLUMNS, share_rows(named), about=about)


@cache
def _declarations() -> dict[str, dict[str, Any]]:
    text = resources.files(__package__).joinpath("figures.toml").read_text(encoding="utf-8")
    made: dict[str, dict[str, Any]] = read_toml(text)
    made["parts"]["counted"] = COUNTED
    counts = made["parts"].pop("counts")
    made["parts"] |= {f"{of}_counts": counts.replace("{of}", of) for of in "ab"}
    return made


def declared(page: str) -> Callable[[Reader, PageQuestion], Iterator[Table]]:
    """The tables of `figures.toml` that are on a page, in their order."""

    def read(reader: Reader, question: PageQuestion) -> Iterator[Table]:
        for name, held in _declarations().items():
            if held.get("page") == page:
                make = _counts if "counts" in held else _shares
                yield make(reader, name, held, question.since)

    return read


def summed(reader: Reader, sql: str, *values: object) -> list[sqlite3.Row]:
    """The rows of a statistic, with the `[parts]` of `figures.toml` put in. `?1` is the first value, a time from which on."""
    whole = sql.format_map(_declarations()["parts"])
    return reader.summed(whole, *values if "?1" in whole else ())


def sums(reader: Reader, name: str, since: str) -> list[sqlite3.Row]:
    """The rows of one of the `[sums]` of `figures.toml`."""
    return summed(reader, _declarations()["sums"][name], since)


def counters(reader: Reader) -> Iterator[tuple[str, str, list[str], list[tuple[list[str], float]]]]:
    """The `[counters]` of `figures.toml`, over everything that was recorded: name, words and labels, and what was counted, each
    with the values of the labels."""
    for name, held in _declarations()["counters"].items():
        found = summed(reader, held["query"], "")
        counts = [(list(map(str, words)), float(n)) for *words, n in found]
        yield name, held["about"], held["labels"], counts


def _counts(reader: Reader, name: str, held: Mapping[str, Any], since: str) -> Table:
    """Counts, the largest first."""
    found = {
        str(label).replace("_", " "): n
        for label, n in sorted(summed(reader, held["counts"], since), key=lambda one: -one[1])
    }
    rows = tuple(Row(label, count=n) for label, n in found.items())
    return Table(held["title"], rows=rows, name=name, data=found)


def _shares(reader: Reader, name: str, held: Mapping[str, Any], since: str) -> Table:
    """Shares with their intervals, by the groups of a declaration; below them what is in none."""
    sums = [f"total({sql})" for _, _, *pair in held["shares"] for sql in pair]
    left = held.get("notes", ())
    sums += [f"total({sql})" for *_, sql in left]
    groups = held.get("groups", (("", "", ""),))
    named = [sql for by, sql, _ in groups if by]
    grouped = f" GROUP BY {', '.join(map(str, range(1, len(named) + 1)))}" if named else ""
    # One scan for every way of grouping: its sums are those of the groups of all of them together.
    found = summed(reader, f"SELECT {', '.join([*named, *sums])} FROM {held['query']}{grouped}", since)
    rows: list[tuple[str, Share]] = []
    data: list[dict[str, Any]] = []
    for by, sql, label in groups:
        totals: dict[Any, list[int]] = {} if by else {"": [0] * len(sums)}
        for values in found:
            value = values[named.index(sql)] if by else ""
            before = totals.get(value, [0] * len(sums))
            totals[value] = [a + int(b) for a, b in zip(before, values[len(named) :], strict=True)]
        for value, counts in sorted(totals.items()):
            words = Variation.model_validate_json(value).words if by == "variation" else value
            pairs = zip(counts[::2], counts[1::2], strict=False)
            shares = {one: share(*pair) for (one, *_), pair in zip(held["shares"], pairs, strict=False)}
            some = any(one.n for one in shares.values())
            if some:
                drawn = zip(shares.values(), held["shares"], strict=True)
                rows += [(f"{label.format(words)}{more}", one) for one, (_, more, *_) in drawn]
            if some or "groups" not in held:
                group_of = {by: words} if by else {}
                data.append(group_of | {one: asdict(of) for one, of in shares.items()})
    firsts = 2 * len(held["shares"]) + len(named)
    beside = {one: sum(int(values[firsts + at]) for values in found) for at, (one, *_) in enumerate(left)}
    table = share_table(held["title"], rows, held.get("about", ""))
    notes = tuple(f"{beside[one]:,} {said}" for one, said, _ in left if beside[one])
    figures = {"rows": data} if "groups" in held else dict(*data)
    return replace(
        table,
        notes=notes if rows else (),
        empty="" if rows else "; ".join(notes),
        name=name,
        data=figures | beside,
    )


_MOST_NAMED = 6
"""Shares that a sentence names."""


def brief(table: Table) -> Table:
    """A table whose shares are all of too few is one sentence; where some are, a note says what that is."""
    shares = [
        (safe_line(row.label).strip(), row.share)
        for row in table.rows
        if row.share is not None and row.share.n
    ]
    few = [found for _, found in shares if found.n < ANECDOTAL_BELOW]
    if not few:
        return table
    together = table.periods and sum(found.n for found in few) >= ANECDOTAL_BELOW
    if len(few) < len(shares) or together:
        return replace(table, notes=(f"anecdotal: n below {ANECDOTAL_BELOW}", *table.notes))
    named = [f"{label} {found.k:,} of {found.n:,}" for label, found in shares[:_MOST_NAMED]]
    more = [f"{len(shares) - _MOST_NAMED} more"] if len(shares) > _MOST_NAMED else []
    sentence = f"{', '.join([*named, *more])}: too few for a rate, needed: {ANECDOTAL_BELOW}"
    if table.answer:
        others = tuple(row for row in table.rows if row.share is None and row.cells and row.cells[0] != "–")
        return replace(table, rows=others, notes=(sentence, *table.notes))
    return replace(table, columns=(), rows=(), facts=(), empty=sentence)


# The figures of a page as rows, one per figure, for CSV and JSON lines.

_LIMITS = ("k", "n", "low", "high")
_MAIN = ("rate", "value")
"""Which field of a record with limits they belong to."""

_NUMBERED = ("round",)
"""Numbers that say what a record is about, as a text does."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


COLUMNS = ("page", "subject", "figure", "value", "n", "low", "high", "rehearsal")
"""Of a figure: its page; what it is about, as `name=value`, several with a semicolon between, "" for the whole; its name, with
dots between the parts; None where it is unknown, a fraction where it is a rate; the observations behind it, None for plain
counts; the limits of its 95 % interval, None where it has none; whether it is simulated."""


def figure_rows(page: str, document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every figure of a page's JSON document, in its order, with `COLUMNS`."""
    figures = {name: value for name, value in document.items() if name != "rehearsal"}
    beside = {"rehearsal": document["rehearsal"]}
    return [{"page": page} | row | beside for row in _walk(figures, "", "")]


def exported(page: str, document: Mapping[str, Any], form: str) -> str:
    """A page's JSON document as "json", or its figures as "jsonl" or "csv".

    A text that a spreadsheet would take for a formula gets an apostrophe in front.
    """
    if form == "json":
        return json.dumps(document, indent=2, ensure_ascii=True) + "\n"
    rows = figure_rows(page, document)
    if form == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(_cell, (row | {"rehearsal": int(row["rehearsal"])}).values()) for row in rows)
    return stream.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = safe_line(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _walk(node: Any, subject: str, path: str, *, listed: bool = False) -> Iterator[dict[str, Any]]:
    if isinstance(node, (list, tuple)):
        for item in node:
            yield from _walk(item, subject, path, listed=True)
    elif isinstance(node, Mapping):
        named = dict(takewhile(_says_what, node.items())) if listed else {}
        words = (f"{name}={value or ''}" for name, value in named.items())
        about = "; ".join([*([subject] if subject else []), *words])
        yield from _of_record({name: node[name] for name in node if name not in named}, about, path)
    else:
        yield _figure(subject, path, node)


def _says_what(item: tuple[str, Any]) -> bool:
    """What an item of a list is about comes first in it, as text."""
    return item[1] is None or isinstance(item[1], str) or item[0] in _NUMBERED


def _of_record(node: Mapping[str, Any], subject: str, path: str) -> Iterator[dict[str, Any]]:
    main = next((name for name in _MAIN if name in node), None) if {"low", "high"} <= node.keys() else None
    alone = main is not None and node.keys() <= {main, *_LIMITS}
    beside = sum(isinstance(value, (int, float)) for value in node.values()) > 1
    for name, value in node.items():
        where = path if name == "rows" or (alone and path) else f"{path}.{name}" if path else name
        if isinstance(value, (Mapping, list, tuple)):
            yield from _walk(value, subject, where)
        elif name == main:
            yield _figure(subject, where, value, node.get("n"), node["low"], node["high"])
        elif main is None and not (name == "n" and beside):
            # Without limits, n is that of every figure beside it; with them, of the main one alone.
            yield _figure(subject, where, value, node.get("n") if name != "n" else None)
        elif main is not None and name not in _LIMITS:
            yield _figure(subject, where, value)


def _figure(
    subject: str, figure: str, value: Any, n: Any = None, low: Any = None, high: Any = None
) -> dict[str, Any]:
    if isinstance(value, bool):
        value = int(value)
    plain = value if value is None or isinstance(value, (int, float)) else str(value)
    return {"subject": subject, "figure": figure, "value": plain, "n": n, "low": low, "high": high}
