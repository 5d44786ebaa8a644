"""How often the reviewer asks for a revision: as a whole, by a property, by week."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from typing import Any

from navigator.cascade.views.statistics.page import (
    Column,
    Question,
    RatePlot,
    Row,
    StatisticsPage,
    Table,
    bounds,
    dash,
    few_notes,
    percent,
)
from navigator.cascade.views.statistics.rate_changes import document, facts, marks, watched
from navigator.figures.changes import Watched
from navigator.figures.intervals import ANECDOTAL_BELOW, Share, share
from navigator.figures.rates import ASSUMED_RATE, RateRow, RateTables, revise_rate, verdicts_needed
from navigator.model.records import VersionCount
from navigator.model.text import plural
from navigator.store.reads.reader import Reader

WEEKS = 12
"""Weeks shown over time at most."""


@dataclass(frozen=True, slots=True)
class Rates:
    """The revise rate as a whole, by a property and by week (groups are Mondays), and what changed when.

    `own` is of changes that the writer's own base model reviewed (strategy `adapter`).
    `existing` is of changes that Navigator did not write. `versions` and `watched` are of all verdicts, whatever time is asked
    about.
    """

    whole: RateTables
    grouped: RateTables
    weeks: RateTables
    by: str
    existing: RateTables
    own: RateTables = field(default_factory=lambda: RateTables(()))
    versions: tuple[VersionCount, ...] = ()
    watched: tuple[Watched, ...] = ()


def _without(tables: RateTables, variants: int) -> RateTables:
    """The same, with the verdicts that were left out because they are on further variants of a task."""
    if not variants:
        return tables
    return replace(tables, excluded={**tables.excluded, "further_variants": variants})


def _read_rates(reader: Reader, question: Question) -> Rates:
    counts = reader.verdict_counts(question.by, question.since, weekly=True)
    versions = reader.version_counts()
    variants = reader.variant_verdicts(question.since)
    return Rates(
        whole=_without(revise_rate(counts, whole=True), variants),
        grouped=_without(revise_rate(counts), variants),
        weeks=revise_rate(row.model_copy(update={"group": row.week}) for row in counts),
        by=question.by,
        existing=revise_rate(reader.verdict_counts(since=question.since, existing=True), whole=True),
        own=revise_rate(counts, whole=True, own=True),
        versions=tuple(versions),
        watched=watched(reader, versions),
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
    Column("to ±10", 8, wide=True),
)


def _rate_tables(found: Rates) -> Sequence[Table]:
    whole, grouped, weeks, existing = (
        table.rows for table in (found.whole, found.grouped, found.weeks, found.existing)
    )
    own = _table("SELF-REVIEWS", found.own.rows, "first verdicts of the writer's own model")
    changes = _table("EXISTING CHANGES", existing, "first verdicts on changes that Navigator did not write")
    others = (*own, *changes)
    left = ", ".join(
        plural(count, why.replace("_", "-")) if why == "self_review" else f"{count} {why.replace('_', ' ')}"
        for why, count in sorted(found.whole.excluded.items())
    )
    if not whole:
        none = Table("REVISE RATE", empty=f"no first-round verdict counts; not counted: {left}")
        return (*((none,) if left else ()), *others)
    row = whole[0]
    changed = facts(found.watched)
    rows = (_rate_row("all", row),)
    notes = (*few_notes(rows), *((f"not counted: {left}",) if left else ()))
    tables = [
        Table(
            "REVISE RATE",
            _RATE_COLUMNS,
            rows,
            about="first-round verdicts",
            headline=f"{percent(row.rate)} {bounds(row)}  n {row.n:,}",
            facts=(*changed, *_facts(row)),
            notes=notes,
        )
    ]
    if found.by and found.by != "week":
        title = f"BY {found.by.replace('-', ' ').upper()}"
        groups = tuple(_rate_row(one.group, one) for one in grouped)
        tables.append(Table(title, _RATE_COLUMNS, groups, notes=few_notes(groups)))
    weekly = _by_week(weeks, found.versions)
    return (*tables, *others, weekly)


def _table(title: str, rows: Sequence[RateRow], about: str) -> Iterable[Table]:
    """A rate of its own, beside the revise rate; nothing where nothing was counted."""
    shown = tuple(_rate_row("all", row) for row in rows)
    if shown:
        about += "; not part of the revise rate"
        yield Table(title, _RATE_COLUMNS, shown, about=about, notes=few_notes(shown))


def _rate_row(label: str, row: RateRow, *, goal: bool = True) -> Row:
    more = f"{row.more_for_10:,}" if row.more_for_10 else "✓"
    cells = (
        percent(row.rate),
        bounds(row),
        f"{row.n:,}",
        f"{row.revise:,}",
        f"{row.approve:,}",
        dash(row.unreviewed),
        percent(row.stated_rate),
        dash(row.disagreed),
        more if goal else "",
    )
    return Row(
        label,
        cells,
        share=_share(row),
        note=row.note or (f"pools {row.versions} versions" if row.versions > 1 else ""),
    )


def _facts(row: RateRow) -> Iterable[tuple[str, str]]:
    yield "Margin", how_sure(row)
    if row.stated_rate is not None:
        stated = percent(row.stated_rate)
        yield "Stated", f"the reviewer stated REVISE for {stated}; quotes not found do not count"
    if row.unreviewed:
        answers = f"{row.unreviewed:,} {'answer' if row.unreviewed == 1 else 'answers'}"
        yield "Unread", f"{answers} could not be read (UNREVIEWED); not part of n"
    if mixed := pooled(row):
        yield "Mixture", f"{mixed}; the rate holds for none of them alone"


def how_sure(row: RateRow) -> str:
    """What the interval is worth, and how many verdicts a narrower one needs."""
    said = [_reach(row.n, points, verdicts_needed(points / 100, row.revise, row.n)) for points in (10, 5)]
    if 0 < row.revise < row.n >= ANECDOTAL_BELOW:
        return " · ".join(said)
    few = f" while n is below {ANECDOTAL_BELOW}" if row.n < ANECDOTAL_BELOW else ""
    return f"{' · '.join(said)} (assuming {100 * ASSUMED_RATE:.0f}%{few})"


def _reach(n: int, points: int, need: int) -> str:
    if n >= need:
        return f"±{points} points reached at n {need:,}"
    return f"±{points} needs n {need:,}, {need - n:,} to go"


def pooled(row: RateRow) -> str:
    """What a row mixes, in words; "" where it is about one combination of versions."""
    many = (
        (row.writer_models, "writer models"),
        (row.writer_prompts, "writer prompts"),
        (row.ways, "ways of writing"),
        (row.models, "reviewer models"),
        (row.prompt_versions, "reviewer prompts"),
        (row.rules, "settings of block_on"),
    )
    what = [f"{count} {name}" for count, name in many if count > 1]
    return f"pools {', '.join(what)}" if what else ""


def _by_week(rows: Sequence[RateRow], versions: Sequence[VersionCount]) -> Table:
    """Consecutive weeks up to the newest with a verdict, the newest first; empty ones between included."""
    by_monday = {date.fromisoformat(row.group): row for row in rows}
    last = max(by_monday)
    first = max(min(by_monday), last - timedelta(weeks=WEEKS - 1))
    mondays = [first + timedelta(weeks=number) for number in range((last - first).days // 7 + 1)]
    shown = []
    for monday in mondays:
        label = f"week of {_day(monday)}"
        row = by_monday.get(monday)
        shown.append(_rate_row(label, row, goal=False) if row else Row(label, note="no verdicts"))
    points = tuple((monday.isoformat(), _share(by_monday.get(monday))) for monday in mondays)
    plot = RatePlot(points, tuple(mark for mark in marks(versions) if mark[0] >= points[0][0]))
    return Table(
        "OVER TIME, BY WEEK", _RATE_COLUMNS, tuple(reversed(shown)), plot=plot, notes=few_notes(shown)
    )


def _share(row: RateRow | None) -> Share:
    return Share(row.revise, row.n, row.rate, row.low, row.high) if row else share(0, 0)


def _day(day: date) -> str:
    return f"{day.strftime('%b')} {day.day}"


def _rate_document(found: Rates) -> dict[str, Any]:
    return {
        "rows": [asdict(row) for row in found.grouped.rows],
        "excluded": found.grouped.excluded,
        "existing": [asdict(row) for row in found.existing.rows],
        "self_reviews": [asdict(row) for row in found.own.rows],
        "weeks": [asdict(row) for row in found.weeks.rows],
        "marks": [{"at": at, "label": label} for at, label in marks(found.versions)],
        "changes": [document(one) for one in found.watched],
    }


PAGE: StatisticsPage[Rates] = StatisticsPage(
    name="revise-rate",
    title="Revise rate",
    help="How often the reviewer asks for a revision of a first proposal, with 95 % Wilson intervals.",
    missing="No first-round verdict yet. The revise rate appears once the reviewer has reviewed proposals.",
    read=_read_rates,
    tables=_rate_tables,
    document=_rate_document,
)
