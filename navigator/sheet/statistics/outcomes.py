"""What became of tasks, revisions and landed commits, where you and the reviewer disagreed, how good reviews were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from navigator.figures.exam import Retest, retest
from navigator.figures.intervals import Share
from navigator.figures.outcomes import (
    FindingsMet,
    Landed,
    Outcomes,
    ReviewQuality,
    Revisions,
    SelfReviews,
    findings_met,
    landed,
    outcomes,
    review_quality,
    revisions,
    self_reviews,
)
from navigator.model.states import Verdict
from navigator.model.text import plural
from navigator.sheet.statistics.page import (
    SHARE_COLUMNS,
    Column,
    PageQuestion,
    Row,
    StatisticsPage,
    Table,
    bars,
    bounds,
    percent,
    share_rows,
    share_table,
)
from navigator.store.reads.reader import Reader


def _of_decisions(found: Share) -> str:
    return f"{found.k:,}  {percent(found.rate)} {bounds(found)}"


_DECISION_COLUMNS = (
    Column("n", lambda row: f"{row.approved.n:,}"),
    Column("approved", lambda row: _of_decisions(row.approved)),
    Column("rejected", lambda row: _of_decisions(row.rejected)),
    Column("sent back", lambda row: _of_decisions(row.sent_back)),
)

_HOW = {
    "named": "named by the commit that reverts it",
    "undone": "undone with Navigator",
}


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


def _read(reader: Reader, question: PageQuestion) -> Results:
    since = question.since
    return Results(
        outcomes=outcomes(reader.task_counts(since), reader.decision_counts(since)),
        quality=review_quality(reader.review_totals(since)),
        self_reviews=self_reviews(reader.verdict_pairs(since)),
        revisions=revisions(reader.revision_counts(since)),
        findings=findings_met(reader.finding_totals(since)),
        landed=landed(reader.fate_counts(since)),
        repeats=retest(reader.repeat_counts(since)),
    )


def _tables(found: Results) -> Sequence[Table]:
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
        bars("TASKS BY STATE", states, "no task yet"),
    )


def _decision_tables(decided: Outcomes) -> Iterable[Table]:
    disagreements = (
        ("rejected after APPROVE", decided.rejected_after_approve),
        ("sent back after APPROVE", decided.sent_back_after_approve),
        ("approved over REVISE", decided.approved_over_revise),
        ("approved UNREVIEWED", decided.approved_unreviewed),
    )
    left = (decided.not_counted, "not counted: on self-reviewed or unreviewed work")
    yield share_table("YOU AND THE REVIEWER", disagreements, "your decisions", (left,))
    if any(row.approved.n for row in decided.by_verdict):
        rows = tuple(
            Row(row.verdict.value, tuple(column.of(row) for column in _DECISION_COLUMNS))
            if row.approved.n
            else Row(row.verdict.value, note="no decision yet")
            for row in decided.by_verdict
        )
        about = "of the decisions on each verdict"
        yield Table("VERDICTS AND DECISIONS", _DECISION_COLUMNS, rows, about=about)


def _quality_tables(quality: ReviewQuality, own: SelfReviews) -> Iterable[Table]:
    if quality.readings:
        yield share_table(
            "REVIEW QUALITY",
            (
                ("could not be read", quality.unreviewed),
                ("stated another verdict", quality.disagreed),
                ("unanchored findings", quality.unanchored),
            ),
            f"{plural(quality.readings, 'review')}, {quality.in_parts:,} in parts",
            ((quality.remarks, "remarks of later rounds, not counted"),),
        )
    if own.agreed.n or own.unread:
        yield share_table(
            "WRITER'S OWN REVIEWS",
            (("same verdict", own.agreed), ("also objected", own.caught), ("objected alone", own.alone)),
            "compared with the reviewer's first verdict",
            ((own.unread, "could not be read"),),
        )


def revision_table(found: Revisions) -> Iterable[Table]:
    """What the tests said before and after each revision; nothing where there was none."""
    if found.fixed.n or found.unknown:
        yield share_table(
            "TESTS BEFORE AND AFTER EACH REVISION",
            (
                ("fixed: fail → pass", found.fixed),
                ("cosmetic: pass → pass", found.cosmetic),
                ("harmful: pass → fail", found.harmful),
                ("no help: fail → fail", found.no_help),
            ),
            "the project's own tests",
            ((found.unknown, "not known: tests not run, or failing as on the base"),),
        )


def finding_table(found: tuple[FindingsMet, ...]) -> Iterable[Table]:
    """Findings met by the revision, by round."""
    if found:
        yield share_table(
            "FINDINGS MET",
            (
                pair
                for row in found
                for pair in (
                    (f"met in round {row.round}", row.met),
                    ("  repaired: the code was changed", row.repaired),
                    ("  withdrawn: the code is as it was", row.withdrawn),
                )
            ),
            f"{plural(sum(row.revisions for row in found), 'revision')}, as the next review says",
            (
                (sum(row.unknown for row in found), "not known: the next review does not say"),
                (sum(row.unread for row in found), "of those reviews could not be read"),
            ),
        )


def landed_table(found: Landed) -> Iterable[Table]:
    """Landed commits that were reverted later, by verdict."""
    unknown = sum(found.unknown.values())
    if not found.reverted.n and not unknown:
        return
    by_verdict = ((f"  {_verdict_words(row.verdict)}", row.reverted) for row in found.by_verdict)
    notes = []
    if found.how:
        notes.append(", ".join(f"{count:,} {_HOW[how]}" for how, count in found.how.items()))
    if unknown:
        notes.append("not known: " + ", ".join(f"{count:,} {why}" for why, count in found.unknown.items()))
    if found.looked:
        notes.append(f"last looked at {found.looked[:16].replace('T', ' ')} UTC")
    yield replace(
        share_table("LANDED COMMITS", (("reverted later", found.reverted), *by_verdict)), notes=tuple(notes)
    )


def _verdict_words(verdict: Verdict | None) -> str:
    return f"after {verdict.value}" if verdict else "without an independent review"


def repeat_table(found: Retest) -> Iterable[Table]:
    """The same diff reviewed twice by one model under one prompt version."""
    if not found.agreed.n and not found.unread:
        return
    one = found.kappa
    known = one.value is not None
    cells = (f"{one.value:.2f}", f"[{one.low:.2f}–{one.high:.2f}]", f"n {one.n:,}") if known else ()
    rows = (*share_rows((("same verdict", found.agreed),)), Row("Cohen's kappa", cells, note=one.reason))
    notes = (f"{found.unread:,} pairs could not be read",) if found.unread else ()
    about = "the first two reviews by one model and prompt version"
    yield Table("THE SAME DIFF REVIEWED TWICE", SHARE_COLUMNS, rows, about=about, notes=notes)


def _results_json(found: Results) -> dict[str, Any]:
    return {
        **asdict(found.outcomes),
        "readings": asdict(found.quality),
        "own_readings": asdict(found.self_reviews),
        "revisions": asdict(found.revisions),
        "findings_met": [asdict(row) for row in found.findings],
        "landed": asdict(found.landed),
        "repeats": asdict(found.repeats),
    }


PAGE: StatisticsPage[Results] = StatisticsPage(
    name="outcomes",
    title="Outcomes",
    help="What became of tasks, revisions and landed commits, where you and the reviewer disagreed, how good reviews were.",
    missing="No task yet.",
    read=_read,
    tables=_tables,
    document=_results_json,
)
