"""The pages of statistics: one entry each, rendered by `navigator stats NAME` and by the Statistics screen.

The Summary answers two questions first: is the reviewer worth it, what does it cost. An answer is one
sentence; the figures that it rests on are on the other pages. What was not measured is said, with the command that measures it.
"""

from __future__ import annotations

from collections.abc import Iterator

from navigator.figures.cost import Cost, cost_tables, read_costs
from navigator.figures.exam import CANNOT_TELL, WORTH_IT, ExamScore, worth_words
from navigator.figures.intervals import ANECDOTAL_BELOW
from navigator.figures.page import PageQuestion, StatisticsPage, Table, declared, percent
from navigator.figures.reviewer import exam_tables, rate_tables, scores
from navigator.store.reads.reader import Reader

_OFTEN = 0.5
"""Share of REVISE that is right from which a reviewer that is better than chance is worth it without reservation."""


def worth(score: ExamScore | None) -> str:
    """Is the reviewer worth it? `score` is the newest exam of the reviewer that is in use."""
    if score is None or not score.decided:
        return "Not measured yet. `navigator exam prepare` and `navigator exam run` try the reviewer on known faults."
    if score.verdict == CANNOT_TELL:
        return f"Cannot tell yet. {score.why}"
    if score.verdict != WORTH_IT:
        return f"No. {worth_words(score)}"
    if score.genuine_share is None:
        return f"Yes, better than chance. {score.why}"
    head = "Yes."
    if score.genuine_share.value < _OFTEN:
        head = "Partly: it tells faulty changes from clean ones, but most of its REVISE are wrong."
    return f"{head} {worth_words(score)}"


def price(spent: Cost) -> str:
    """What does it cost? Tokens and seconds of the models and of swaps, for each accepted change."""
    swaps, n = spent.swaps.seconds, spent.made.accepted
    total = spent.model_seconds + swaps
    if not total:
        return "Not measured yet: no model was called. `navigator run` starts the work."
    if not n:
        spans = f"the models worked {_time(spent.model_seconds)} and swaps took {_time(swaps)}"
        return f"Nothing was accepted yet; so far {spans}."
    few = f" Anecdotal: {n} accepted." if n < ANECDOTAL_BELOW else ""
    return (
        f"An accepted change costs {spent.tokens / n:,.0f} tokens and {_time(total / n)} of the GPU,"
        f" {percent(swaps / total)} of it swaps.{few}"
    )


def _time(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 600 else f"{seconds / 60:,.0f} min"


def summary_tables(reader: Reader, question: PageQuestion) -> Iterator[Table]:
    """The answers; none to see where nothing was counted at all."""
    score = next(iter(scores(reader)), None)
    spent = read_costs(reader, question.since)
    counted = score is not None or spent.made.proposals or spent.work or spent.swaps.n
    for name, title, answer in (
        ("worth", "IS THE REVIEWER WORTH IT?", worth(score)),
        ("cost", "WHAT DOES IT COST?", price(spent)),
    ):
        yield Table(title, answer=answer if counted else "", name=name, data={"sentence": answer})


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
    (rate_tables, exam_tables, declared("reviewer")),
)
COST = StatisticsPage("cost", "Cost", "No model called yet.", (cost_tables,))

PAGES = (
    SUMMARY,
    REVIEWER,
    StatisticsPage("outcomes", "Outcomes", "No task yet.", (declared("outcomes"),)),
    COST,
    StatisticsPage("writing", "Writing", "No edits yet.", (declared("writing"),)),
)
"""Every page, in the order of the screen's tabs. A new share is an entry of `figures.toml`, another part a function here."""
