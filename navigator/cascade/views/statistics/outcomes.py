"""What became of tasks, where you and the reviewer disagreed, how good the reviews were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from navigator.cascade.views.statistics.page import (
    SHARE_COLUMNS,
    Question,
    StatisticsPage,
    Table,
    bars,
    share_rows,
)
from navigator.evidence.intervals import Tables
from navigator.evidence.outcomes import Outcomes, outcomes
from navigator.evidence.reviews import ReviewQuality, SelfReviews, review_quality, self_reviews
from navigator.store.reads.reader import Reader


@dataclass(frozen=True, slots=True)
class Results:
    """What became of tasks, of decisions, and of reviews as such."""

    outcomes: Tables[Outcomes]
    quality: Tables[ReviewQuality]
    self_reviews: Tables[SelfReviews]


def _read_results(reader: Reader, question: Question) -> Results:
    since = question.since
    return Results(
        outcomes=outcomes(reader.task_counts(since), reader.decision_counts(since)),
        quality=review_quality(reader.review_totals(since)),
        self_reviews=self_reviews(reader.verdict_pairs(since)),
    )


def _result_tables(found: Results, rehearsal: bool) -> Sequence[Table]:
    decided = found.outcomes.of(rehearsal)
    quality, own = found.quality.of(rehearsal), found.self_reviews.of(rehearsal)
    if not decided.states:
        return ()
    left = f"not counted: {decided.not_counted} on self-reviewed or unreviewed work"
    disagreements = share_rows(
        (
            ("rejected after APPROVE", decided.rejected_after_approve),
            ("sent back after APPROVE", decided.sent_back_after_approve),
            ("approved over REVISE", decided.approved_over_revise),
            ("approved UNREVIEWED", decided.approved_unreviewed),
        )
    )
    tables = [
        Table(
            "YOU AND THE REVIEWER",
            SHARE_COLUMNS,
            disagreements,
            about="your decisions",
            notes=(left,) if decided.not_counted else (),
        )
    ]
    if quality.readings:
        rows = share_rows(
            (
                ("could not be read", quality.unreviewed),
                ("stated another verdict", quality.disagreed),
                ("unanchored findings", quality.unanchored),
                ("later rounds with a reversal", quality.reversed),
            )
        )
        about = f"{quality.readings:,} reviews, {quality.in_parts:,} of them in parts"
        remarks = (
            (f"{quality.remarks:,} remarks of later rounds, which do not count",) if quality.remarks else ()
        )
        tables.append(Table("REVIEW QUALITY", SHARE_COLUMNS, rows, about=about, notes=remarks))
    if own.agreed.n or own.unread:
        rows = share_rows(
            (
                ("same verdict", own.agreed),
                ("also objected", own.caught),
                ("objected alone", own.alone),
            )
        )
        unread = (f"{own.unread:,} could not be read",) if own.unread else ()
        about = "compared with the reviewer's first verdict"
        tables.append(Table("WRITER'S OWN REVIEWS", SHARE_COLUMNS, rows, about=about, notes=unread))
    states = {name.replace("_", " "): count for name, count in decided.states.items()}
    return (*tables, bars("TASKS BY STATE", states, "no task yet"))


def _result_document(found: Results) -> dict[str, Any]:
    return {
        **asdict(found.outcomes),
        "readings": asdict(found.quality),
        "own_readings": asdict(found.self_reviews),
    }


PAGE: StatisticsPage[Results] = StatisticsPage(
    name="outcomes",
    title="Outcomes",
    help="What became of tasks, where you and the reviewer disagreed, and how good the reviews were.",
    missing="No task yet.",
    read=_read_results,
    tables=_result_tables,
    document=_result_document,
)
