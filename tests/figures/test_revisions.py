"""What revisions did, findings met, landed commits reverted, and agreement of a reviewer with itself."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.exam import kappa, retest
from navigator.figures.intervals import wilson
from navigator.figures.outcomes import NOT_LOOKED, findings_met, landed, outcomes, revisions
from navigator.model.outcomes import FateCount, FindingTotals, RepeatCount, RevisionCount
from navigator.model.records import DecisionCount
from navigator.model.states import CheckOutcome, DecisionKind, Verdict

PASSED, FAILED, BEFORE = CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.FAILED_BEFORE
APPROVE, REVISE, UNREVIEWED = Verdict


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        (FAILED, PASSED, "fixed"),
        (FAILED, BEFORE, "fixed"),  # the new failures are gone; the base's are left
        (BEFORE, PASSED, "fixed"),
        (PASSED, PASSED, "cosmetic"),
        (PASSED, FAILED, "harmful"),
        (PASSED, BEFORE, "harmful"),
        (BEFORE, FAILED, "harmful"),
        (FAILED, FAILED, "no_help"),
        (BEFORE, BEFORE, "unknown"),  # they fail whatever the revision does
        (None, PASSED, "unknown"),
        (PASSED, CheckOutcome.UNTESTED, "unknown"),
        (CheckOutcome.SKIPPED, FAILED, "unknown"),
    ],
)
def test_every_pair_of_outcomes_has_one_name(
    before: CheckOutcome | None, after: CheckOutcome | None, effect: str
) -> None:
    found = revisions([RevisionCount(before=before, after=after, n=3)])
    counted = {name: getattr(found, name).k for name in ("fixed", "cosmetic", "harmful", "no_help")}
    counted["unknown"] = found.unknown
    assert counted == {name: 3 if name == effect else 0 for name in counted}


def test_shares_are_of_the_revisions_whose_tests_tell_something() -> None:
    found = revisions(
        [
            RevisionCount(before=FAILED, after=PASSED, n=6),
            RevisionCount(before=PASSED, after=FAILED, n=2),
            RevisionCount(before=PASSED, n=5),
        ]
    )
    assert (found.fixed.k, found.fixed.n, found.unknown) == (6, 8, 5)
    assert (found.harmful.low, found.harmful.high) == wilson(2, 8)


def test_findings_that_the_next_review_does_not_speak_of_are_counted_beside() -> None:
    found = findings_met(
        [
            FindingTotals(round=2, revisions=1, asked=2, met=2),
            FindingTotals(round=1, revisions=4, asked=10, met=6, unmet=1, unread=1),
        ]
    )
    assert [(row.round, row.met.k, row.met.n, row.unknown, row.unread) for row in found] == [
        (1, 6, 7, 3, 1),
        (2, 2, 2, 0, 0),
    ]


def test_every_verdict_is_laid_against_every_decision() -> None:
    kinds = (DecisionKind.APPROVE, DecisionKind.REJECT, DecisionKind.SEND_BACK)
    counts = [
        DecisionCount(verdict=verdict, decision=kind, n=10 * row + column)
        for row, verdict in enumerate((APPROVE, REVISE, UNREVIEWED), 1)
        for column, kind in enumerate(kinds, 1)
    ]
    own = DecisionCount(verdict=APPROVE, decision=DecisionKind.REJECT, self_review=True, n=50)
    found = outcomes([], [*counts, own])
    table = {
        row.verdict: (row.approved.k, row.rejected.k, row.sent_back.k, row.approved.n)
        for row in found.by_verdict
    }
    assert table == {
        APPROVE: (11, 12, 13, 36),
        REVISE: (21, 22, 23, 66),
        UNREVIEWED: (31, 32, 33, 96),
    }


def test_reverted_commits_are_a_share_of_those_whose_fate_is_known() -> None:
    found = landed(
        [
            FateCount(verdict=APPROVE, fate="kept", looked="2026-11-20", n=18),
            FateCount(verdict=APPROVE, fate="reverted", how="named", looked="2026-11-19"),
            FateCount(verdict=REVISE, fate="undone", n=1),
            FateCount(verdict=REVISE, fate="unknown", reason="not on main", n=4),
            FateCount(fate="", n=3),
        ]
    )
    assert (found.reverted.k, found.reverted.n) == (2, 20)
    assert [(row.verdict, row.reverted.k, row.reverted.n, row.unknown) for row in found.by_verdict] == [
        (APPROVE, 1, 19, 0),
        (REVISE, 1, 1, 4),
        (None, 0, 0, 3),
    ]
    assert found.how == {"named": 1, "undone": 1}
    assert found.unknown == {"not on main": 4, NOT_LOOKED: 3}
    assert found.looked == "2026-11-19"


def test_reviews_that_were_repeated_agree_or_not() -> None:
    found = retest(
        [
            RepeatCount(first=REVISE, second=REVISE, n=20),
            RepeatCount(first=REVISE, second=APPROVE, n=5),
            RepeatCount(first=APPROVE, second=REVISE, n=10),
            RepeatCount(first=APPROVE, second=APPROVE, n=15),
            RepeatCount(first=UNREVIEWED, second=APPROVE, n=2),
        ]
    )
    assert (found.agreed.k, found.agreed.n, found.unread) == (35, 50, 2)
    assert found.kappa.value == pytest.approx(0.4)


@given(st.tuples(*[st.integers(0, 60)] * 4))
def test_kappa_lies_within_its_interval(cells: tuple[int, int, int, int]) -> None:
    found = kappa(*cells)
    assert found.n == sum(cells)
    if found.value is None:
        assert found.reason
        return
    assert -1 <= found.low <= found.value <= found.high <= 1


def test_one_verdict_every_time_says_nothing_about_agreement() -> None:
    assert kappa(0, 0, 0, 40).value is None
    assert kappa(40, 0, 0, 0).value is None
    assert kappa(0, 0, 0, 0).reason == "no pair"


def test_complete_agreement_of_few_pairs_is_no_certainty() -> None:
    few, many = kappa(1, 0, 0, 1), kappa(60, 0, 0, 90)
    assert few.value == many.value == 1
    assert few.low < 0.1
    assert many.low > 0.9


@pytest.mark.parametrize("rate", [0.2, 0.35, 0.5])
@pytest.mark.parametrize("true", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("n", [30, 120])
def test_the_interval_of_kappa_covers_the_true_value(n: int, true: float, rate: float) -> None:
    """By simulation with a fixed seed: 800 samples, of which 95 % have a standard error of 0.8 points."""
    both, one = rate**2 + rate * (1 - rate) * true, rate * (1 - rate) * (1 - true)
    source = random.Random(n)
    weights = (both, one, one, 1 - both - 2 * one)
    covered = 0
    for _ in range(800):
        drawn = source.choices(range(4), weights, k=n)
        found = kappa(*(drawn.count(cell) for cell in range(4)))
        covered += found.low <= true <= found.high
    assert 0.92 <= covered / 800 <= 0.985
