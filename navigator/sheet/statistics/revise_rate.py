"""How often the reviewer asks for a revision: as a whole, by a property, by week."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from typing import Any

from navigator.figures.changes import PARTS, SHOWN_FROM, VersionChange, Watched, changes, first_uses, watch
from navigator.figures.intervals import ANECDOTAL_BELOW, Share, share
from navigator.figures.rates import ASSUMED_RATE, RateRow, RateTables, revise_rate, verdicts_needed
from navigator.model.records import VersionCount
from navigator.model.text import plural, safe_line
from navigator.sheet.statistics.chart import short_date
from navigator.sheet.statistics.page import (
    Column,
    PageQuestion,
    RatePlot,
    Row,
    StatisticsPage,
    Table,
    bounds,
    dash,
    percent,
    rows_of,
)
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


def _read_rates(reader: Reader, question: PageQuestion) -> Rates:
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


RATE_COLUMNS = (
    Column("rate", lambda row: percent(row.rate)),
    Column("95 %", lambda row: bounds(_revise_share(row))),
    Column("n", lambda row: f"{row.n:,}"),
    Column("revise", lambda row: f"{row.revise:,}", wide=True),
    Column("approve", lambda row: f"{row.approve:,}", wide=True),
    Column("unread", lambda row: dash(row.unreviewed)),
    Column("stated", lambda row: percent(row.stated_rate)),
    Column("differs", lambda row: dash(row.disagreed), wide=True),
    Column("to ±10", lambda row: f"{row.more_for_10:,}" if row.more_for_10 else "✓", wide=True),
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
    tables = [
        Table(
            "REVISE RATE",
            RATE_COLUMNS,
            _rate_rows([("all", row)]),
            about="first-round verdicts",
            headline=f"{percent(row.rate)} {bounds(_revise_share(row))}  n {row.n:,}",
            facts=(*changed, *_facts(row)),
            notes=(f"not counted: {left}",) if left else (),
        )
    ]
    if found.by and found.by != "week":
        title = f"BY {found.by.replace('-', ' ').upper()}"
        tables.append(Table(title, RATE_COLUMNS, _rate_rows((one.group, one) for one in grouped)))
    weekly = _by_week(weeks, found.versions)
    return (*tables, *others, weekly)


def _table(title: str, rows: Sequence[RateRow], about: str) -> Iterable[Table]:
    """A rate of its own, beside the revise rate; nothing where nothing was counted."""
    if rows:
        about += "; not part of the revise rate"
        yield Table(title, RATE_COLUMNS, _rate_rows(("all", row) for row in rows), about=about)


def _rate_rows(named: Iterable[tuple[str, RateRow]]) -> tuple[Row, ...]:
    return rows_of(
        RATE_COLUMNS,
        named,
        share=lambda row: _revise_share(row) if row.n else None,
        note=lambda row: row.note or (f"mixes {row.versions} versions" if row.versions > 1 else ""),
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
        yield "Mixture", f"{mixed}, counted together here"


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
    return f"mixes {', '.join(what)}" if what else ""


def _by_week(rows: Sequence[RateRow], versions: Sequence[VersionCount]) -> Table:
    """Consecutive weeks up to the newest with a verdict, the newest first; empty ones between included."""
    by_monday = {date.fromisoformat(row.group): row for row in rows}
    last = max(by_monday)
    first = max(min(by_monday), last - timedelta(weeks=WEEKS - 1))
    mondays = [first + timedelta(weeks=number) for number in range((last - first).days // 7 + 1)]
    shown: list[Row] = []
    for monday in mondays:
        label = f"week of {short_date(monday.isoformat())}"
        row = by_monday.get(monday)
        shown += _rate_rows([(label, row)]) if row else [Row(label, note="no verdicts")]
    points = tuple((monday.isoformat(), _revise_share(by_monday.get(monday))) for monday in mondays)
    plot = RatePlot(points, tuple(mark for mark in marks(versions) if mark[0] >= points[0][0]))
    return Table("OVER TIME, BY WEEK", RATE_COLUMNS, tuple(reversed(shown)), plot=plot)


def _revise_share(row: RateRow | None) -> Share:
    return Share(row.revise, row.n, row.rate, row.low, row.high) if row else share(0, 0)


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


# What followed from changes of prompts and models: the marks of a plot, and the monitor's sentence.

_MODELS = ("writer_model", "model")
_LARGE = 1000


def watched(reader: Reader, counts: Sequence[VersionCount]) -> tuple[Watched, ...]:
    """The newest change of each writer, with what the verdicts since then say."""
    found = []
    for change in changes(counts):
        before = reader.verdicts_of(change.former, until=change.since)
        since = reader.verdicts_of(change.current, since=change.since)
        found.append(Watched(change, sum(before), len(before), watch(sum(before), len(before), since)))
    return tuple(found)


def marks(counts: Iterable[VersionCount]) -> tuple[tuple[str, str], ...]:
    """The first use of each further prompt version, model and way of writing: its UTC time and its name."""
    return tuple((use.at, _group_name(use.field, use.value)) for use in first_uses(counts))


def facts(found: Sequence[Watched]) -> Iterable[tuple[str, str]]:
    """Each change in a named sentence; the writer is named where there are several."""
    for one in found:
        writer = f"{safe_line(one.change.current.writer_model)} " if len(found) > 1 else ""
        yield "Since", f"{writer}{sentence(one)}"


def sentence(found: Watched) -> str:
    """`generate@7f3c (Nov 3): fell from 44% (n 61) to 31% (n 85), evidence 31:1`."""
    return f"{change_words(found.change)}: {rate_words(found)}"


def change_words(change: VersionChange) -> str:
    """`generate@7f3c (Nov 3)`."""
    return f"{_what(change)} ({short_date(change.since)})"


def rate_words(found: Watched) -> str:
    """`fell from 44% (n 61) to 31% (n 85), evidence 31:1`."""
    now = found.watch
    before = share(found.former_revise, found.former_n).rate
    since = share(now.revise, now.n).rate
    if now.shown_at is None:
        return (
            f"{percent(before)} (n {found.former_n:,}) before, {percent(since)} (n {now.n:,}) since; no change shown:"
            f" evidence {odds(now.evidence)}, and {SHOWN_FROM:.0f}:1 is needed"
        )
    moved = "fell" if (since or 0.0) < (before or 0.0) else "rose"
    told = f"{moved} from {percent(before)} (n {found.former_n:,}) to {percent(since)} (n {now.n:,})"
    if now.evidence >= SHOWN_FROM:
        return f"{told}, evidence {odds(now.evidence)}"
    return f"{told}, evidence {odds(now.strongest)} at its strongest, now {odds(now.evidence)}"


def document(found: Watched) -> dict[str, Any]:
    """One change as plain data."""
    change, now = found.change, found.watch
    return {
        "since": change.since,
        "changed": {name: getattr(change.current, name) for name in change.differs},
        "from": {name: getattr(change.former, name) for name in change.differs},
        "back": change.back,
        "versions": {name: getattr(change.current, name) for name in PARTS},
        "before": asdict(share(found.former_revise, found.former_n)),
        "after": asdict(share(now.revise, now.n)),
        "evidence": now.evidence,
        "strongest": now.strongest,
        "shown": now.shown_at is not None,
        "shown_at": now.shown_at,
    }


def _what(change: VersionChange) -> str:
    names = " and ".join(_group_name(name, getattr(change.current, name)) for name in change.differs)
    return f"the return to {names}" if change.back else names


def _group_name(field: str, value: str) -> str:
    """Prompt versions bear the name of what they are for; a model's name does not say what it does."""
    if field in _MODELS:
        value = f"{PARTS[field]} {value}"
    elif field == "block_on":
        value = f"block_on = {value}"
    return safe_line(value) or "–"


def odds(evidence: float) -> str:
    """Evidence in words."""
    if evidence >= _LARGE:
        return f"over {_LARGE:,}:1"
    return f"{evidence:.0f}:1" if evidence >= 10 else f"{evidence:.1f}:1"
