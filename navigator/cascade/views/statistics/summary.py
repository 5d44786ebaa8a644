"""Three questions first: is the reviewer worth it, is it getting better, what does it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from navigator.cascade.exam.worth import scores
from navigator.cascade.views.statistics.answers import RECENT_WEEKS, Answer, Figure, better, price, worth
from navigator.cascade.views.statistics.cost import read_costs
from navigator.cascade.views.statistics.page import (
    Column,
    Question,
    Row,
    StatisticsPage,
    Table,
    number,
    percent,
)
from navigator.cascade.views.statistics.rate_changes import odds, watched
from navigator.figures.intervals import ANECDOTAL_BELOW, Share
from navigator.figures.outcomes import outcomes, revisions
from navigator.figures.rates import RateTables, revise_rate
from navigator.figures.reproductions import finding_tests
from navigator.figures.swaps import round_trips
from navigator.store.reads.reader import Reader

_SWAPS = 500
"""Newest swaps that the round trip is made from."""

QUESTIONS = {
    "worth": "IS THE REVIEWER WORTH IT?",
    "better": "IS IT GETTING BETTER?",
    "cost": "WHAT DOES IT COST?",
}


@dataclass(frozen=True, slots=True)
class Summary:
    """The answers by the name of their question; `counted` is False where there is nothing at all."""

    answers: dict[str, Answer]
    counted: bool


def _read(reader: Reader, question: Question) -> Summary:
    since = question.since
    decided = outcomes((), reader.decision_counts(since))
    revised = revisions(reader.revision_counts(since))
    tested = finding_tests(reader.reproduction_counts(since), ())
    examined = scores(reader)
    versions = reader.version_counts()
    spent = read_costs(reader, question)
    trips = round_trips(reader.swaps(_SWAPS, since=since))
    changed = watched(reader, versions)
    weeks = RateTables(())
    if versions and not changed:
        weeks = revise_rate(reader.verdict_counts("week", since))

    score = next(iter(examined), None)
    answers = {
        "worth": worth(score, decided, revised, tested),
        "better": better(changed, weeks.rows),
        "cost": price(spent, trips),
    }
    counted = score is not None or any((spent.proposals, spent.work, spent.swaps.n))
    return Summary(answers, counted)


_COLUMNS = (Column("", 9), Column("95 %", 16), Column("n", 8), Column("page", 13))
_LABELS = {
    "rejected_after_approve": "rejected after APPROVE",
    "approved_over_revise": "approved over REVISE",
    "revisions_fixed_tests": "revisions that fixed tests",
    "revisions_broke_tests": "revisions that broke tests",
    "better_than_chance": "better than chance (J)",
    "revise_that_is_right": "REVISE that is right",
    "swap_round_trip_median": "swap round trip, median",
    "revise_rate_recent": f"revise rate, newest {RECENT_WEEKS} weeks",
    "revise_rate_before": "revise rate before",
    "revise_rate_since": "revise rate since",
}


def _tables(summary: Summary) -> Sequence[Table]:
    if not summary.counted:
        return ()
    return tuple(_answered(title, summary.answers[name]) for name, title in QUESTIONS.items())


def _answered(title: str, answer: Answer) -> Table:
    rows = tuple(_row(name, figure) for name, figure in answer.figures.items())
    few = any(row.note for row in rows)
    notes = (f"anecdotal: n below {ANECDOTAL_BELOW}",) if few else ()
    return Table(title, _COLUMNS, rows, answer=answer.sentence, notes=notes)


def _row(name: str, figure: Figure) -> Row:
    label = _LABELS.get(name, name.replace("_", " "))
    if figure.value is None:
        return Row(label, ("–", "", "0", figure.source))
    if figure.low is None or figure.high is None:
        return Row(label, (_text(figure), "", f"{figure.n:,}", figure.source))
    if figure.unit == "J":
        limits = f"[{figure.low:.2f} to {figure.high:.2f}]"
        return Row(label, (_text(figure), limits, f"{figure.n:,}", figure.source), note=_few(figure))
    limits = f"[{100 * figure.low:.0f}–{100 * figure.high:.0f}]"
    k = round(figure.value * figure.n)
    return Row(
        label,
        (_text(figure), limits, f"{figure.n:,}", figure.source),
        share=Share(k, figure.n, figure.value, figure.low, figure.high),
        note=_few(figure),
    )


def _few(figure: Figure) -> str:
    return "anecdotal" if figure.n < ANECDOTAL_BELOW else ""


def _text(figure: Figure) -> str:
    if figure.unit in ("share", "estimate", "part"):
        return percent(figure.value)
    if figure.unit == "J":
        return number(figure.value, 2)
    if figure.unit == "odds":
        return odds(figure.value or 0.0)
    if figure.unit in ("s", "Wh"):
        return f"{number(figure.value)} {figure.unit}"
    return number(figure.value)


def _document(found: Summary) -> dict[str, Any]:
    return {name: asdict(answer) for name, answer in found.answers.items()}


PAGE: StatisticsPage[Summary] = StatisticsPage(
    name="summary",
    title="Summary",
    help="Is the reviewer worth it, is it getting better, what does it cost.",
    missing="Nothing is counted yet. Add a task with `navigator task add`, then start the work with `navigator run`.",
    read=_read,
    tables=_tables,
    document=_document,
)
