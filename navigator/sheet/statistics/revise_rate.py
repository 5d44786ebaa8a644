"""How often the reviewer asks for a revision: as a whole, by a property such as the week; and two groups side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from navigator.figures.intervals import ANECDOTAL_BELOW, Share, newcombe
from navigator.figures.rates import RateRow, revise_rate
from navigator.model.errors import NotFound, UsageError
from navigator.model.text import safe_line
from navigator.sheet.statistics.page import (
    Column,
    PageQuestion,
    Row,
    Table,
    bounds,
    dash,
    percent,
    rows_of,
)
from navigator.store.reads.reader import Reader
from navigator.store.reads.statistics import GROUPINGS, FirstUse

_COLUMNS = (
    Column("rate", lambda row: percent(row.rate)),
    Column("95 %", lambda row: bounds(_share_of(row))),
    Column("n", lambda row: f"{row.n:,}"),
    Column("revise", lambda row: f"{row.revise:,}", wide=True),
    Column("approve", lambda row: f"{row.approve:,}", wide=True),
    Column("unread", lambda row: dash(row.unreviewed)),
    Column("stated", lambda row: percent(row.stated_rate)),
    Column("to ±10", lambda row: f"{row.more_for_10:,}" if row.more_for_10 else "✓", wide=True),
)


def rate_tables(reader: Reader, question: PageQuestion) -> Iterator[Table]:
    """The revise rate, and beside it that of self-reviews (strategy `adapter`) and of changes that Navigator did not write."""
    counts = reader.verdict_counts(question.by, question.since)
    whole, grouped = revise_rate(counts, whole=True), revise_rate(counts)
    own = revise_rate(counts, whole=True, own=True).rows
    changes = reader.verdict_counts(since=question.since, existing=True)
    existing = revise_rate(changes, whole=True).rows
    variants = reader.variant_verdicts(question.since)
    excluded = whole.excluded | ({"further_variants": variants} if variants else {})
    left = ", ".join(f"{n:,} {why.replace('_', ' ')}" for why, n in sorted(excluded.items()))
    yield Table(
        "REVISE RATE",
        _COLUMNS,
        _rate_rows(("all", row) for row in whole.rows),
        about="first-round verdicts",
        empty=f"no first-round verdict counts; not counted: {left}" if left else "",
        notes=(f"not counted: {left}",) if left and whole.rows else (),
        name="revise_rate",
        data={
            "by": question.by,
            "rows": [asdict(row) for row in grouped.rows],
            "excluded": excluded,
            "existing": [asdict(row) for row in existing],
            "self_reviews": [asdict(row) for row in own],
        },
    )
    if question.by:
        title, weeks = f"BY {question.by.replace('-', ' ').upper()}", question.by == "week"
        yield Table(title, _COLUMNS, _rate_rows((row.group, row) for row in grouped.rows), periods=weeks)
    for title, rows, about in (
        ("SELF-REVIEWS", own, "first verdicts of the writer's own model"),
        ("EXISTING CHANGES", existing, "first verdicts on changes that Navigator did not write"),
    ):
        named = (("all", row) for row in rows)
        yield Table(title, _COLUMNS, _rate_rows(named), about=f"{about}; not part of the revise rate")


def _rate_rows(named: Iterable[tuple[str, RateRow]]) -> tuple[Row, ...]:
    return rows_of(
        _COLUMNS,
        named,
        share=lambda row: _share_of(row) if row.n else None,
        note=lambda row: row.note or mixed(row),
    )


def mixed(row: RateRow) -> str:
    """What a row mixes, in words; "" where it is about one combination of versions."""
    return f"mixes {row.versions} versions" if row.versions > 1 else ""


def use_words(use: FirstUse) -> str:
    """`generate@7f3c`, `writer 80B`: prompt versions bear the name of what they are for, a model's name does not."""
    ways = {"looking": "writing with looks", "blocks": "writing without looks"}
    named = {
        "way": ways.get(use.value, f"writing by {use.value}"),
        "writer_model": f"writer {use.value}",
        "model": f"reviewer {use.value}",
        "block_on": f"block_on = {use.value}",
    }
    return safe_line(named.get(use.field, use.value)) or "–"


def _share_of(row: RateRow) -> Share:
    return Share(row.revise, row.n, row.rate, row.low, row.high)


# Two groups side by side: two prompt versions, two models, two projects.

ONE_LOOK = "the interval holds for one look at verdicts that were not chosen by their result"


def comparison(reader: Reader, first: str, second: str, by: str = "", since: str = "") -> Table:
    """The revise rates of two groups, and their difference.

    Args:
        first, second: names of groups, such as two prompt versions.
        by: the property they are values of, one of `GROUPINGS`; "" for the first one that has both.
        since: a UTC time as the store writes it; only verdicts from then on.

    Raises:
        UsageError: both names are the same.
        NotFound: no property has both names.
    """
    if first == second:
        raise UsageError(f"{first!r} is one group.", hint="Name two.")
    known: dict[str, None] = {}
    for name in (by,) if by else GROUPINGS:
        groups = {row.group: row for row in revise_rate(reader.verdict_counts(name, since)).rows}
        known |= dict.fromkeys(groups)
        if first in groups and second in groups:
            return _beside(name, groups[first], groups[second])
    hint = "`navigator stats reviewer --by writer-prompt` lists the prompt versions; --by names the property."
    raise NotFound(
        f"{first!r} and {second!r} are not values of the same property.",
        hint=f"There are: {', '.join(known) or 'none'}." if by else hint,
    )


def _beside(by: str, one: RateRow, other: RateRow) -> Table:
    data: dict[str, Any] = {
        "by": by,
        "first": asdict(one),
        "second": asdict(other),
        "difference": None,
        "low": None,
        "high": None,
    }
    said = "one of them has no verdict"
    if one.rate is not None and other.rate is not None:
        low, high = newcombe(one.revise, one.n, other.revise, other.n)
        difference = one.rate - other.rate
        data |= {"difference": difference, "low": low, "high": high}
        shown = "no difference shown" if low <= 0 <= high else "a difference is shown"
        said = (
            f"{100 * difference:+.0f} points, 95 % {100 * low:+.0f} to {100 * high:+.0f} (Newcombe); {shown}"
        )
    columns = _COLUMNS[:4]
    rows = rows_of(columns, ((row.group, row) for row in (one, other)), note=lambda row: row.note)
    facts = [("Difference", said)]
    facts += [("Mixture", f"{row.group} {mixed(row)}") for row in (one, other) if mixed(row)]
    few = (f"anecdotal: n below {ANECDOTAL_BELOW}",) if one.note or other.note else ()
    title = f"REVISE RATE BY {by.replace('-', ' ').upper()}"
    return Table(
        title, columns, rows, facts=tuple(facts), notes=(*few, ONE_LOOK), name="comparison", data=data
    )
