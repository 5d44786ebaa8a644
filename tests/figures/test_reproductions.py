"""Findings whose tests were run, counted."""

from __future__ import annotations

import pytest

from navigator.figures.intervals import wilson
from navigator.figures.reproductions import finding_tests
from navigator.model.records import ReproducedDecision, ReproductionCount
from navigator.model.states import Criterion, DecisionKind, ReproductionOutcome, RevisedOutcome, Severity

R, F = ReproductionOutcome, RevisedOutcome


def count(outcome: R, n: int, severity: Severity = Severity.MAJOR, revised: F = F.NONE):
    return ReproductionCount(
        severity=severity,
        criterion=Criterion.CORRECTNESS,
        outcome=outcome,
        revised=revised,
        n=n,
    )


def test_what_ran_is_counted_and_what_did_not_is_beside_it() -> None:
    found = finding_tests(
        [
            count(R.REGRESSION, 6, revised=F.PASSES),
            count(R.REGRESSION, 1, revised=F.FAILS),
            count(R.UNMET, 2, Severity.BLOCKER, F.PASSES),
            count(R.UNMET, 1, Severity.BLOCKER),
            count(R.NOT_REPRODUCED, 5),
            count(R.COULD_NOT_RUN, 4),
        ],
        [
            ReproducedDecision(decision=DecisionKind.APPROVE, proved=True, n=1),
            ReproducedDecision(decision=DecisionKind.REJECT, proved=True, n=3),
            ReproducedDecision(decision=DecisionKind.APPROVE, proved=False, n=2),
        ],
    )
    assert (found.all.reproduced.k, found.all.reproduced.n, found.all.could_not) == (10, 15, 4)
    assert (found.all.reproduced.low, found.all.reproduced.high) == pytest.approx(wilson(10, 15))
    assert [(row.name, row.reproduced.k, row.reproduced.n) for row in found.by_severity] == [
        ("blocker", 3, 3),
        ("major", 7, 12),
    ]
    assert (found.met.k, found.met.n) == (8, 9) and (found.met_unmet.k, found.met_unmet.n) == (2, 2)
    assert (found.approved_proved.k, found.approved_proved.n) == (1, 4)
    assert (found.approved_other.k, found.approved_other.n) == (2, 2)
