"""How good reviews are: readable, anchored, consistent; and how a writer's self-review compares with the reviewer's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from navigator.figures.intervals import Share, share
from navigator.model.records import ReviewTotals, VerdictPair
from navigator.model.states import Verdict


@dataclass(frozen=True, slots=True)
class ReviewQuality:
    """The reviewer's reviews; the generator's and the final model's are not among them.

    Attributes:
        readings: all of them, of every round.
        in_parts: those whose diff did not fit into one prompt.
        unreviewed: those that could not be read, whole or in part.
        disagreed: of those that could, where the model's own verdict is not the one that its grounded findings give.
        unanchored: findings that quote nothing that was shown, of all findings.
        reversed: of the reviews of later rounds, those that objected to what the one before had asked for.
        remarks: findings of later rounds that were not asked for and decided nothing.
    """

    readings: int
    in_parts: int
    unreviewed: Share
    disagreed: Share
    unanchored: Share
    reversed: Share
    remarks: int


def review_quality(found: ReviewTotals) -> ReviewQuality:
    """Shares of the totals, with 95 % Wilson intervals."""
    return ReviewQuality(
        readings=found.reviews,
        in_parts=found.in_parts,
        unreviewed=share(found.unreviewed, found.reviews),
        disagreed=share(found.disagreed, found.stated),
        unanchored=share(found.unanchored, found.findings),
        reversed=share(found.reversed, found.later),
        remarks=found.remarks,
    )


@dataclass(frozen=True, slots=True)
class SelfReviews:
    """What self-reviews are worth.

    Attributes:
        agreed: of the pairs in which both could be read, those with the same verdict.
        caught: of the reviewer's REVISE, those where the writer had said REVISE.
        alone: of the reviewer's APPROVE, those where the writer had said REVISE.
        unread: pairs in which one of the two could not be read; in none of the above.
    """

    agreed: Share
    caught: Share
    alone: Share
    unread: int


def self_reviews(pairs: Sequence[VerdictPair]) -> SelfReviews:
    """Count the pairs; shares carry 95 % Wilson intervals."""

    def n(own: Verdict, reviewer: Verdict) -> int:
        return sum(pair.n for pair in pairs if pair.own is own and pair.reviewer is reviewer)

    both_revise, both_approve = n(Verdict.REVISE, Verdict.REVISE), n(Verdict.APPROVE, Verdict.APPROVE)
    missed, alone = n(Verdict.APPROVE, Verdict.REVISE), n(Verdict.REVISE, Verdict.APPROVE)
    read = both_revise + both_approve + missed + alone
    return SelfReviews(
        agreed=share(both_revise + both_approve, read),
        caught=share(both_revise, both_revise + missed),
        alone=share(alone, alone + both_approve),
        unread=sum(pair.n for pair in pairs) - read,
    )
