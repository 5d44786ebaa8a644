"""What was spent, divided by what came out."""

from __future__ import annotations

from navigator.figures.cost import Amount, cost
from navigator.model.outcomes import SwapTotals, WorkTotals, Yield
from navigator.model.records import CallTotals
from navigator.model.states import Role

G, R = Role.GENERATOR, Role.REVIEWER
MADE = Yield(accepted=4, proposals=10, reviews=8)


def test_totals_are_divided_by_what_came_out() -> None:
    found = cost(
        MADE,
        [
            WorkTotals(role=G, work="write", calls=12, lost=1, prompt_tokens=9_000, completion_tokens=1_000),
            WorkTotals(role=R, work="exam", calls=3, prompt_tokens=5_000),
            WorkTotals(role=R, work="review", calls=8, prompt_tokens=800, cached_tokens=400, seconds=40),
        ],
        [
            CallTotals(role=G, model="a", calls=10, busy_seconds=30),
            CallTotals(role=G, model="b", calls=2, busy_seconds=10),
            CallTotals(role=R, model="c", calls=8, busy_seconds=20),
        ],
        SwapTotals(n=5, seconds=200, batch_n=4, batch_seconds=150, failed=1, unmeasured=2),
    )
    assert found.tokens == Amount(10_800, 2_700, 1_080, 1_350)
    assert found.work[0].completion_tokens == Amount(1_000, 250, 100, 125)
    assert (found.work[0].lost, found.work[2].call_seconds.per_review) == (1, 5)
    assert [(one.role, one.seconds.per_accepted) for one in found.model_seconds] == [(G, 10), (R, 5)]
    assert found.model_time.total == 60
    assert found.swaps.seconds.per_accepted == 50
    assert (found.swaps.batch_share, found.swaps.failed, found.swaps.unmeasured) == (0.75, 1, 2)


def test_nothing_accepted_is_no_division() -> None:
    found = cost(Yield(), [], [], SwapTotals())
    assert found.tokens == Amount(0, None, None, None)
    assert found.swaps.batch_share is None
