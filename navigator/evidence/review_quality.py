"""How good reviews are as reviews: unreadable, at odds with themselves, unanchored, at odds with one another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from navigator.domain.records import ReviewTotals
from navigator.evidence.intervals import Share, Tables, apart, share


@dataclass(frozen=True, slots=True)
class ReviewQuality:
    """The reviewer's reviews, real or the rehearsal's. The generator's and the final model's are not among them.

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


def review_quality(totals: Iterable[ReviewTotals]) -> Tables[ReviewQuality]:
    """Shares of the totals, with 95 % Wilson intervals."""
    return apart(totals, lambda rows: _shares(rows[0] if rows else ReviewTotals()))


def _shares(found: ReviewTotals) -> ReviewQuality:
    return ReviewQuality(
        readings=found.reviews,
        in_parts=found.in_parts,
        unreviewed=share(found.unreviewed, found.reviews),
        disagreed=share(found.disagreed, found.stated),
        unanchored=share(found.unanchored, found.findings),
        reversed=share(found.reversed, found.later),
        remarks=found.remarks,
    )
