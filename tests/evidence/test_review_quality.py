"""Readings are counted as what they were: unreadable, contrary, loose, turned round; each role's and each world's apart."""

from __future__ import annotations

from navigator.domain.models import Finding, Review
from navigator.domain.states import Criterion, FindingKind, Role, Severity, Verdict
from navigator.evidence.readings import ReadingRow, readings

APPROVE, REVISE, UNREVIEWED = Verdict.APPROVE, Verdict.REVISE, Verdict.UNREVIEWED


def note(*, anchored: bool = True, remark: bool = False) -> Finding:
    return Finding(
        kind=FindingKind.WRONG,
        severity=Severity.MAJOR,
        criterion=Criterion.SAFETY,
        message="m",
        anchored=anchored,
        remark=remark,
    )


def test_each_reading_is_counted_once_where_it_belongs() -> None:
    rows = [
        ReadingRow(Review(verdict=APPROVE, stated_verdict=APPROVE)),
        ReadingRow(Review(verdict=REVISE, stated_verdict=APPROVE, findings=(note(), note(anchored=False)))),
        ReadingRow(Review(verdict=UNREVIEWED, parts=3, findings=(note(),))),
        ReadingRow(
            Review(
                verdict=APPROVE, stated_verdict=REVISE, findings=(note(remark=True),), reversals=("a", "b")
            ),
            1,
        ),
        ReadingRow(Review(verdict=APPROVE, stated_verdict=APPROVE), 2),
        ReadingRow(Review(verdict=APPROVE, stated_verdict=REVISE, rehearsal=True), 1),
        ReadingRow(Review(verdict=APPROVE, stated_verdict=REVISE, role=Role.GENERATOR)),
        ReadingRow(Review(verdict=APPROVE, stated_verdict=REVISE, role=Role.FINAL)),
    ]
    found = readings(rows).real
    assert (found.readings, found.in_parts, found.remarks) == (5, 1, 1)
    assert (found.unreviewed.k, found.unreviewed.n) == (1, 5)
    assert (found.disagreed.k, found.disagreed.n) == (2, 4)
    assert (found.unanchored.k, found.unanchored.n) == (1, 4)
    assert (found.reversed.k, found.reversed.n) == (1, 2)
    rehearsed = readings(rows).rehearsal
    assert (rehearsed.readings, rehearsed.disagreed.k, rehearsed.reversed.n) == (1, 1, 1)


def test_a_later_reading_that_could_not_be_read_is_no_reading_without_a_reversal() -> None:
    assert readings([ReadingRow(Review(verdict=UNREVIEWED), 1)]).real.reversed.n == 0
