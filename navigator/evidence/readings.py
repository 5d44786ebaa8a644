"""What became of reviews as readings: unreadable, disagreeing with themselves, not anchored, turning against one another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from navigator.domain.models import Review
from navigator.domain.states import Role, Verdict
from navigator.evidence.intervals import Share, share


@dataclass(frozen=True, slots=True)
class ReadingRow:
    """One reading of one proposal, and the round that the proposal was of."""

    review: Review
    round: int = 0


@dataclass(frozen=True, slots=True)
class Readings:
    """The reviewer's readings, real ones or the rehearsal's. The generator's and the final model's are not among them.

    Attributes:
        readings: all of them, of every round.
        in_parts: those whose diff did not fit into one prompt.
        unreviewed: those that could not be read, whole or in part.
        disagreed: of those that could, where the model's own verdict is not the one that its grounded findings give.
        unanchored: findings that stand on nothing that was shown, of all findings.
        reversed: of the readings of later rounds, those that objected to what the one before had asked for.
        remarks: findings of later rounds that were not asked for and decided nothing.
    """

    readings: int
    in_parts: int
    unreviewed: Share
    disagreed: Share
    unanchored: Share
    reversed: Share
    remarks: int


@dataclass(frozen=True, slots=True)
class ReadingTables:
    """Real readings, and apart from them the rehearsal's."""

    real: Readings
    rehearsal: Readings


def readings(rows: Iterable[ReadingRow]) -> ReadingTables:
    """Count the reviewer's readings; shares carry 95 % Wilson intervals."""
    own = [row for row in rows if row.review.role is Role.REVIEWER]
    real, rehearsed = (
        _count([row for row in own if row.review.rehearsal is rehearsal]) for rehearsal in (False, True)
    )
    return ReadingTables(real=real, rehearsal=rehearsed)


def _count(rows: list[ReadingRow]) -> Readings:
    reviews = [row.review for row in rows]
    read = [review for review in reviews if review.verdict is not Verdict.UNREVIEWED]
    stated = [review for review in read if review.stated_verdict is not None]
    findings = [finding for review in reviews for finding in review.findings]
    later = [row.review for row in rows if row.round > 0 and row.review.verdict is not Verdict.UNREVIEWED]
    return Readings(
        readings=len(reviews),
        in_parts=sum(review.parts > 1 for review in reviews),
        unreviewed=share(len(reviews) - len(read), len(reviews)),
        disagreed=share(sum(review.stated_verdict is not review.verdict for review in stated), len(stated)),
        unanchored=share(sum(not finding.anchored for finding in findings), len(findings)),
        reversed=share(sum(bool(review.reversals) for review in later), len(later)),
        remarks=sum(finding.remark for finding in findings),
    )
