"""Three questions first: is the reviewer worth it, is it getting better, what does it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from navigator.figures.changes import PARTS, Watched
from navigator.figures.compare import newcombe
from navigator.figures.cost import Cost
from navigator.figures.exam import CANNOT_TELL, WORTH_IT, ExamScore, worth_words
from navigator.figures.intervals import ANECDOTAL_BELOW, Share, share
from navigator.figures.outcomes import Outcomes, Revisions, outcomes, revisions
from navigator.figures.rates import RateRow, RateTables, revise_rate
from navigator.figures.reproductions import FindingTests, finding_tests
from navigator.figures.swaps import RoundTrip, round_trips
from navigator.sheet.exam_worth import scores
from navigator.sheet.statistics.cost import read_costs
from navigator.sheet.statistics.page import (
    PageQuestion,
    StatisticsPage,
    Table,
    bounds,
    percent,
)
from navigator.sheet.statistics.revise_rate import change_words, rate_words, watched
from navigator.store.reads.reader import Reader

# The three questions that the summary answers, from figures that other pages count as well.
#
# An answer is one sentence and the figures that it rests on. What was not measured is said, with the command that measures it.

_OFTEN = 0.5
"""Share of REVISE that is right from which a reviewer that is better than chance is worth it without reservation."""

RECENT_WEEKS = 4
"""Newest weeks that are compared with those before."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure behind an answer.

    Attributes:
        value: a fraction where the unit is "share".
        n: observations behind it.
        low: lower limit of its 95 % interval; None where it has none.
        high: upper limit.
        unit: "share", "estimate" (a share that was computed, not counted), "J" (Youden's, -1 to 1), "part" (of a sum), "odds",
            "s", "tokens" or "Wh".
        source: the page that has more about it.
    """

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    unit: str = "share"
    source: str = ""


@dataclass(frozen=True, slots=True)
class SummaryAnswer:
    """One answer. `figures` are named as in the JSON; `known` is False while there is too little to answer."""

    sentence: str
    known: bool
    figures: dict[str, Figure] = field(default_factory=dict)


def of_share(found: Share, source: str) -> Figure:
    """A rate with its interval."""
    return Figure(found.rate, found.n, found.low, found.high, source=source)


def worth(
    score: ExamScore | None, decided: Outcomes, revised: Revisions, tested: FindingTests
) -> SummaryAnswer:
    """Is the reviewer worth it? The exam answers; tests of findings, decisions and revisions say what became of its verdicts.

    Args:
        score: the newest exam of the reviewer that is in use; None where none of its answers was counted.
    """
    examined = score is not None and score.decided > 0
    figures = _exam_figures(score) if score is not None and examined else {}
    if tested.all.reproduced.n:
        figures["findings_reproduced"] = of_share(tested.all.reproduced, "reviewer")
    figures |= {
        name: of_share(found, "outcomes")
        for name, found in (
            ("rejected_after_approve", decided.rejected_after_approve),
            ("approved_over_revise", decided.approved_over_revise),
            ("revisions_fixed_tests", revised.fixed),
            ("revisions_broke_tests", revised.harmful),
        )
        if found.n or not examined
    }
    if score is None or not examined:
        said = "Not measured yet. `navigator exam prepare` and `navigator exam run` try the reviewer on known faults."
        return SummaryAnswer(said, False, figures)
    if score.verdict == CANNOT_TELL:
        return SummaryAnswer(f"Cannot tell yet. {score.why}", False, figures)
    if score.verdict != WORTH_IT:
        return SummaryAnswer(f"No. {worth_words(score)}", True, figures)
    if score.genuine_share is None:
        return SummaryAnswer(f"Yes, better than chance. {score.why}", True, figures)
    often_right = score.genuine_share.value >= _OFTEN
    head = (
        "Yes."
        if often_right
        else "Partly: it tells faulty changes from clean ones, but most of its REVISE are wrong."
    )
    return SummaryAnswer(f"{head} {worth_words(score)}", True, figures)


def _exam_figures(score: ExamScore) -> dict[str, Figure]:
    figures = {
        "known_faults_caught": of_share(score.sensitivity, "reviewer"),
        "clean_changes_passed": of_share(score.specificity, "reviewer"),
    }
    if score.named.n:
        figures["findings_at_the_fault"] = of_share(score.named, "reviewer")
    if score.youden is not None:
        found = score.youden
        figures["better_than_chance"] = Figure(
            found.value, score.decided, found.low, found.high, "J", "reviewer"
        )
    if score.genuine_share is not None:
        found = score.genuine_share
        figures["revise_that_is_right"] = Figure(
            found.value, score.revise.n, found.low, found.high, "estimate", "exam"
        )
    return figures


def better(changed: Sequence[Watched], weeks: Sequence[RateRow]) -> SummaryAnswer:
    """Is it getting better? The revise rate since the newest change of a prompt or a model, else that of the newest weeks.

    Args:
        changed: the newest change of each writer, as the monitor sees it.
        weeks: the revise rate by week, groups are Mondays, oldest first; weeks without a verdict may be missing.
    """
    if not changed:
        return _better_by_week(weeks)
    newest = max(changed, key=lambda one: one.change.since)
    now = newest.watch
    before, since = share(newest.former_revise, newest.former_n), share(now.revise, now.n)
    figures = {
        "revise_rate_before": of_share(before, "reviewer"),
        "revise_rate_since": of_share(since, "reviewer"),
        "evidence_of_a_change": Figure(now.evidence, now.n, unit="odds", source="reviewer"),
    }
    what = change_words(newest.change)
    rates = f"{_share_with_n(before)} before, {_share_with_n(since)} since"
    if any(PARTS[name] == "reviewer" for name in newest.change.differs):
        said = (
            f"Cannot tell: the reviewer itself changed with {what}, so the rates cannot be compared: {rates}."
        )
        return SummaryAnswer(said, False, figures)
    if now.shown_at is None:
        return SummaryAnswer(f"No change of the revise rate is shown since {what}: {rates}.", False, figures)
    fell = (since.rate or 0.0) < (before.rate or 0.0)
    return SummaryAnswer(
        f"{'Yes' if fell else 'No'}. The revise rate {rate_words(newest)}, since {what}.", True, figures
    )


def _better_by_week(weeks: Sequence[RateRow]) -> SummaryAnswer:
    recent, before = _pooled(weeks[-RECENT_WEEKS:]), _pooled(weeks[:-RECENT_WEEKS])
    figures = {
        "revise_rate_before": of_share(before, "reviewer"),
        "revise_rate_recent": of_share(recent, "reviewer"),
    }
    if min(recent.n, before.n) < ANECDOTAL_BELOW:
        said = (
            f"Cannot tell yet: the newest {RECENT_WEEKS} weeks have {recent.n} verdicts and those before {before.n};"
            f" {ANECDOTAL_BELOW} of each are needed."
        )
        return SummaryAnswer(said, False, figures)
    low, high = newcombe(recent.k, recent.n, before.k, before.n)
    rates = f"{_share_words(before)} before, {_share_words(recent)} in the newest {RECENT_WEEKS} weeks"
    if low <= 0 <= high:
        return SummaryAnswer(f"No change of the revise rate is shown: {rates}.", False, figures)
    return SummaryAnswer(f"{'Yes' if high < 0 else 'No'}. Revise rate: {rates}.", True, figures)


def price(spent: Cost, trips: Sequence[RoundTrip] = ()) -> SummaryAnswer:
    """What does it cost? Tokens and seconds of the models and of swaps, for each accepted change.

    Args:
        trips: swaps to the reviewer and back; strategies are never pooled, the one with most is shown.
    """
    total = spent.model_time.total + spent.swaps.seconds.total
    if not total:
        return SummaryAnswer("Not measured yet: no model was called. `navigator run` starts the work.", False)
    swapping = spent.swaps.seconds.total / total
    n = spent.accepted
    figures = {
        "tokens_per_accepted_change": Figure(spent.tokens.per_accepted, n, unit="tokens", source="cost"),
        "seconds_per_accepted_change": Figure(total / n if n else None, n, unit="s", source="cost"),
        "swap_share_of_time": Figure(swapping, spent.swaps.n, unit="part", source="cost"),
    }
    if trips:
        took = max((trip.seconds for trip in trips), key=lambda seconds: seconds.n)
        figures["swap_round_trip_median"] = Figure(took.median, took.n, unit="s", source="cost")
    if not n:
        spans = f"the models worked {_time(spent.model_time.total)} and swaps took {_time(spent.swaps.seconds.total)}"
        return SummaryAnswer(f"Nothing was accepted yet; so far {spans}.", False, figures)
    few = f" Anecdotal: {n} accepted." if n < ANECDOTAL_BELOW else ""
    said = (
        f"An accepted change costs {spent.tokens.per_accepted:,.0f} tokens and {_time(total / n)} of the GPU,"
        f" {percent(swapping)} of it swaps.{few}"
    )
    return SummaryAnswer(said, True, figures)


def _pooled(weeks: Sequence[RateRow]) -> Share:
    return share(sum(row.revise for row in weeks), sum(row.n for row in weeks))


def _share_with_n(found: Share) -> str:
    return f"{percent(found.rate)} (n {found.n:,})"


def _share_words(found: Share) -> str:
    return f"{percent(found.rate)} {bounds(found)}"


def _time(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 600 else f"{seconds / 60:,.0f} min"


_SWAPS = 500
"""Newest swaps that the round trip is made from."""

QUESTIONS = {
    "worth": "IS THE REVIEWER WORTH IT?",
    "better": "IS IT GETTING BETTER?",
    "cost": "WHAT DOES IT COST?",
}


@dataclass(frozen=True, slots=True)
class SummaryAnswers:
    """The answers by the name of their question; `counted` is False where there is nothing at all."""

    answers: dict[str, SummaryAnswer]
    counted: bool


def _read(reader: Reader, question: PageQuestion) -> SummaryAnswers:
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
    return SummaryAnswers(answers, counted)


def _tables(summary: SummaryAnswers) -> Sequence[Table]:
    if not summary.counted:
        return ()
    # The figures behind the sentences are in the document, and on the pages that they name.
    return tuple(Table(title, answer=summary.answers[name].sentence) for name, title in QUESTIONS.items())


def _answers_json(found: SummaryAnswers) -> dict[str, Any]:
    return {name: asdict(answer) for name, answer in found.answers.items()}


PAGE: StatisticsPage[SummaryAnswers] = StatisticsPage(
    name="summary",
    title="Summary",
    help="Is the reviewer worth it, is it getting better, what does it cost.",
    missing="Nothing is counted yet. Add a task with `navigator task add`, then start the work with `navigator run`.",
    read=_read,
    tables=_tables,
    document=_answers_json,
)
