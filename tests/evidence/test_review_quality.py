"""Totals of reviews as shares, the rehearsal's separately."""

from __future__ import annotations

from navigator.domain.records import ReviewTotals
from navigator.evidence.reviews import review_quality


def test_each_share_is_of_its_own_whole() -> None:
    real = ReviewTotals(
        reviews=5,
        in_parts=1,
        unreviewed=1,
        stated=4,
        disagreed=2,
        findings=4,
        unanchored=1,
        remarks=1,
        later=2,
        reversed=1,
    )
    tables = review_quality([real, ReviewTotals(rehearsal=True, reviews=1, stated=1, disagreed=1, later=1)])
    found = tables.real
    assert (found.readings, found.in_parts, found.remarks) == (5, 1, 1)
    assert (found.unreviewed.k, found.unreviewed.n) == (1, 5)
    assert (found.disagreed.k, found.disagreed.n) == (2, 4)
    assert (found.unanchored.k, found.unanchored.n) == (1, 4)
    assert (found.reversed.k, found.reversed.n) == (1, 2)
    rehearsed = tables.rehearsal
    assert (rehearsed.readings, rehearsed.disagreed.k, rehearsed.reversed.n) == (1, 1, 1)


def test_nothing_reviewed_has_no_share() -> None:
    assert review_quality([]).real.disagreed.rate is None
