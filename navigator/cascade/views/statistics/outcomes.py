"""What became of tasks, where you and the reviewer disagreed, how good the reviews were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from navigator.cascade.views.statistics.aftermath import (
    exam_repeat_table,
    finding_table,
    landed_table,
    repeat_table,
    revision_table,
)
from navigator.cascade.views.statistics.page import (
    SHARE_COLUMNS,
    Column,
    Question,
    Row,
    StatisticsPage,
    Table,
    bars,
    bounds,
    few_notes,
    percent,
    share_rows,
)
from navigator.figures.agreement import Retest, retest
from navigator.figures.outcomes import (
    FindingsMet,
    Landed,
    Outcomes,
    ReviewQuality,
    Revisions,
    SelfReviews,
    VerdictDecisions,
    findings_met,
    landed,
    outcomes,
    review_quality,
    revisions,
    self_reviews,
)
from navigator.model.text import plural
from navigator.store.reads.reader import Reader

_DECISION_COLUMNS = (
    Column("n", 7),
    Column("approved", 19),
    Column("rejected", 19),
    Column("sent back", 19),
)


@dataclass(frozen=True, slots=True)
class Results:
    """What became of tasks, decisions, revisions and landed commits, and of reviews as such."""

    outcomes: Outcomes
    quality: ReviewQuality
    self_reviews: SelfReviews
    revisions: Revisions
    findings: tuple[FindingsMet, ...]
    landed: Landed
    repeats: Retest
    exam_repeats: Retest


def _read_results(reader: Reader, question: Question) -> Results:
    since = question.since
    return Results(
        outcomes=outcomes(reader.task_counts(since), reader.decision_counts(since)),
        quality=review_quality(reader.review_totals(since)),
        self_reviews=self_reviews(reader.verdict_pairs(since)),
        revisions=revisions(reader.revision_counts(since)),
        findings=findings_met(reader.finding_totals(since)),
        landed=landed(reader.fate_counts(since)),
        repeats=retest(reader.repeat_counts(since)),
        exam_repeats=retest(reader.exam_repeats(since)),
    )


def _result_tables(found: Results) -> Sequence[Table]:
    decided = found.outcomes
    if not decided.states:
        return ()
    states = {name.replace("_", " "): count for name, count in decided.states.items()}
    return (
        *_decision_tables(decided),
        *revision_table(found.revisions),
        *finding_table(found.findings),
        *landed_table(found.landed),
        *_quality_tables(found.quality, found.self_reviews),
        *repeat_table(found.repeats),
        *exam_repeat_table(found.exam_repeats),
        bars("TASKS BY STATE", states, "no task yet"),
    )


def _decision_tables(decided: Outcomes) -> Iterable[Table]:
    left = f"not counted: {decided.not_counted} on self-reviewed or unreviewed work"
    disagreements = share_rows(
        (
            ("rejected after APPROVE", decided.rejected_after_approve),
            ("sent back after APPROVE", decided.sent_back_after_approve),
            ("approved over REVISE", decided.approved_over_revise),
            ("approved UNREVIEWED", decided.approved_unreviewed),
        )
    )
    yield Table(
        "YOU AND THE REVIEWER",
        SHARE_COLUMNS,
        disagreements,
        about="your decisions",
        notes=(*few_notes(disagreements), *((left,) if decided.not_counted else ())),
    )
    if any(row.approved.n for row in decided.by_verdict):
        yield Table(
            "VERDICTS AND DECISIONS",
            _DECISION_COLUMNS,
            tuple(_decision_row(row) for row in decided.by_verdict),
            about="of the decisions on each verdict",
        )


def _decision_row(row: VerdictDecisions) -> Row:
    n = row.approved.n
    if not n:
        return Row(row.verdict.value, note="no decision yet")
    shares = (row.approved, row.rejected, row.sent_back)
    return Row(
        row.verdict.value, (f"{n:,}", *(f"{one.k:,}  {percent(one.rate)} {bounds(one)}" for one in shares))
    )


def _quality_tables(quality: ReviewQuality, own: SelfReviews) -> Iterable[Table]:
    if quality.readings:
        rows = share_rows(
            (
                ("could not be read", quality.unreviewed),
                ("stated another verdict", quality.disagreed),
                ("unanchored findings", quality.unanchored),
                ("later rounds with a reversal", quality.reversed),
            )
        )
        about = f"{plural(quality.readings, 'review')}, {quality.in_parts:,} in parts"
        remarks = (
            (f"{plural(quality.remarks, 'remark')} of later rounds, not counted",) if quality.remarks else ()
        )
        yield Table("REVIEW QUALITY", SHARE_COLUMNS, rows, about=about, notes=(*few_notes(rows), *remarks))
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
        yield Table(
            "WRITER'S OWN REVIEWS", SHARE_COLUMNS, rows, about=about, notes=(*few_notes(rows), *unread)
        )


def _result_document(found: Results) -> dict[str, Any]:
    return {
        **asdict(found.outcomes),
        "readings": asdict(found.quality),
        "own_readings": asdict(found.self_reviews),
        "revisions": asdict(found.revisions),
        "findings_met": [asdict(row) for row in found.findings],
        "landed": asdict(found.landed),
        "repeats": asdict(found.repeats),
        "exam_repeats": asdict(found.exam_repeats),
    }


PAGE: StatisticsPage[Results] = StatisticsPage(
    name="outcomes",
    title="Outcomes",
    help="What became of tasks, revisions and landed commits, where you and the reviewer disagreed, how good reviews were.",
    missing="No task yet.",
    read=_read_results,
    tables=_result_tables,
    document=_result_document,
)
