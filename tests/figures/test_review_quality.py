"""Totals of reviews as shares."""

from __future__ import annotations

from navigator.figures.outcomes import review_quality
from navigator.model.records import ReviewTotals


def test_each_share_is_of_its_own_whole() -> None:
    totals = ReviewTotals(
        reviews=5,
        in_parts=1,
        unreviewed=1,
        stated=4,
        disagreed=2,
        findings=4,
        unanchored=1,
        remarks=1,
    )
    found = review_quality(totals)
    assert (found.readings, found.in_parts, found.remarks) == (5, 1, 1)
    assert (found.unreviewed.k, found.unreviewed.n) == (1, 5)
    assert (found.disagreed.k, found.disagreed.n) == (2, 4)
    assert (found.unanchored.k, found.unanchored.n) == (1, 4)


def test_nothing_reviewed_has_no_share() -> None:
    assert review_quality(ReviewTotals()).disagreed.rate is None
