"""The pages of statistics: one entry each, rendered by `navigator stats NAME` and by the Statistics screen.

The Summary answers three questions first: is the reviewer worth it, is it getting better, what does it cost. An answer is one
sentence; the figures that it rests on are on the other pages. What was not measured is said, with the command that measures it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from navigator.figures.exam import CANNOT_TELL, WORTH_IT, ExamScore, worth_words
from navigator.figures.intervals import ANECDOTAL_BELOW, Share, newcombe, share
from navigator.sheet.statistics.cost import Cost, cost_tables, read_costs, swap_tables, throughput_tables
from navigator.sheet.statistics.page import (
    PageQuestion,
    StatisticsPage,
    Table,
    bounds,
    declared,
    percent,
    short_date,
    utc_text,
)
from navigator.sheet.statistics.reviewer import (
    exam_tables,
    rate_tables,
    scores,
    uncertainty_tables,
    use_words,
)
from navigator.store.reads.reader import Reader
from navigator.store.reads.statistics import REVIEWERS

_OFTEN = 0.5
"""Share of REVISE that is right from which a reviewer that is better than chance is worth it without reservation."""

RECENT_WEEKS = 4
"""Newest weeks that are compared with those before, where no prompt and no model changed."""


@dataclass(frozen=True, slots=True)
class SummaryAnswer:
    """One answer; `known` is False while there is too little to answer."""

    sentence: str
    known: bool = False


def worth(score: ExamScore | None) -> SummaryAnswer:
    """Is the reviewer worth it? `score` is the newest exam of the reviewer that is in use."""
    if score is None or not score.decided:
        return SummaryAnswer(
            "Not measured yet. `navigator exam prepare` and `navigator exam run` try the reviewer on known faults."
        )
    if score.verdict == CANNOT_TELL:
        return SummaryAnswer(f"Cannot tell yet. {score.why}")
    if score.verdict != WORTH_IT:
        return SummaryAnswer(f"No. {worth_words(score)}", True)
    if score.genuine_share is None:
        return SummaryAnswer(f"Yes, better than chance. {score.why}", True)
    head = "Yes."
    if score.genuine_share.value < _OFTEN:
        head = "Partly: it tells faulty changes from clean ones, but most of its REVISE are wrong."
    return SummaryAnswer(f"{head} {worth_words(score)}", True)


def better(reader: Reader) -> SummaryAnswer:
    """Is it getting better? The revise rate since the newest change of a prompt or a model, else that of the newest weeks."""
    uses = reader.first_uses()
    newest = [use for use in uses if use.at == uses[-1].at]
    since = newest[0].at if newest else utc_text(datetime.now(UTC) - timedelta(weeks=RECENT_WEEKS))
    begin = max((use.at for use in uses if use.at < since), default="")
    before, now = share(*reader.revise_counts(begin, since)), share(*reader.revise_counts(since))
    when = f"in the newest {RECENT_WEEKS} weeks"
    if newest:
        when = f"since {short_date(since)} (new: {', '.join(map(use_words, newest))})"
    if min(now.n, before.n) < ANECDOTAL_BELOW:
        return SummaryAnswer(
            f"Cannot tell yet: there are {now.n} first verdicts {when} and {before.n} before;"
            f" {ANECDOTAL_BELOW} of each are needed."
        )
    rates = f"{_words(before)} before, {_words(now)} {when}"
    if any(use.field in REVIEWERS for use in newest):
        return SummaryAnswer(
            f"Cannot tell: the reviewer itself changed, so the rates cannot be compared: {rates}."
        )
    low, high = newcombe(now.k, now.n, before.k, before.n)
    if low <= 0 <= high:
        return SummaryAnswer(f"No change of the revise rate is shown: {rates}.")
    return SummaryAnswer(f"{'Yes' if high < 0 else 'No'}. Revise rate: {rates}.", True)


def price(spent: Cost) -> SummaryAnswer:
    """What does it cost? Tokens and seconds of the models and of swaps, for each accepted change."""
    swaps, n = spent.swaps.seconds, spent.made.accepted
    total = spent.model_seconds + swaps
    if not total:
        return SummaryAnswer("Not measured yet: no model was called. `navigator run` starts the work.")
    if not n:
        spans = f"the models worked {_time(spent.model_seconds)} and swaps took {_time(swaps)}"
        return SummaryAnswer(f"Nothing was accepted yet; so far {spans}.")
    few = f" Anecdotal: {n} accepted." if n < ANECDOTAL_BELOW else ""
    return SummaryAnswer(
        f"An accepted change costs {spent.tokens / n:,.0f} tokens and {_time(total / n)} of the GPU,"
        f" {percent(swaps / total)} of it swaps.{few}",
        True,
    )


def _words(found: Share) -> str:
    return f"{percent(found.rate)} {bounds(found)}"


def _time(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 600 else f"{seconds / 60:,.0f} min"


def summary_tables(reader: Reader, question: PageQuestion) -> Iterator[Table]:
    """The answers; none to see where nothing was counted at all."""
    score = next(iter(scores(reader)), None)
    spent = read_costs(reader, question.since)
    counted = score is not None or spent.made.proposals or spent.work or spent.swaps.n
    for name, title, answer in (
        ("worth", "IS THE REVIEWER WORTH IT?", worth(score)),
        ("better", "IS IT GETTING BETTER?", better(reader)),
        ("cost", "WHAT DOES IT COST?", price(spent)),
    ):
        data = {"sentence": answer.sentence, "known": answer.known}
        yield Table(title, answer=answer.sentence if counted else "", name=name, data=data)


SUMMARY = StatisticsPage(
    "summary",
    "Summary",
    "Nothing is counted yet. Add a task with `navigator task add`, then start the work with `navigator run`.",
    (summary_tables,),
)
REVIEWER = StatisticsPage(
    "reviewer",
    "Reviewer",
    "No first-round verdict yet. The revise rate appears once the reviewer has reviewed proposals.",
    (rate_tables, exam_tables, declared("reviewer"), uncertainty_tables),
)
COST = StatisticsPage("cost", "Cost", "No model called yet.", (cost_tables, swap_tables, throughput_tables))

PAGES = (
    SUMMARY,
    REVIEWER,
    StatisticsPage("outcomes", "Outcomes", "No task yet.", (declared("outcomes"),)),
    COST,
    StatisticsPage("writing", "Writing", "No edits yet.", (declared("writing"),)),
)
"""Every page, in the order of the screen's tabs. A new share is an entry of `figures.toml`, another part a function here."""
