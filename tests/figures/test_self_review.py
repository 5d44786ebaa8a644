"""A writer's self-review against the reviewer's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.outcomes import self_reviews
from navigator.model.records import VerdictPair
from navigator.model.states import Verdict

A, R, U = Verdict.APPROVE, Verdict.REVISE, Verdict.UNREVIEWED


def pair(own: Verdict, reviewer: Verdict, n: int = 1) -> VerdictPair:
    return VerdictPair(own=own, reviewer=reviewer, n=n)


def test_agreement_and_what_each_saw_alone() -> None:
    pairs = [pair(A, A, 5), pair(R, R, 2), pair(A, R, 3), pair(R, A), pair(U, R), pair(A, U)]
    found = self_reviews(pairs)
    assert (found.agreed.k, found.agreed.n) == (7, 11)
    assert (found.caught.k, found.caught.n) == (2, 5)
    assert (found.alone.k, found.alone.n) == (1, 6)
    assert found.unread == 2
    assert found.agreed.low < 7 / 11 < found.agreed.high


@given(
    st.lists(
        st.builds(
            pair,
            st.sampled_from(Verdict),
            st.sampled_from(Verdict),
            st.integers(1, 9),
        )
    )
)
def test_every_pair_is_counted_once(rows: list[VerdictPair]) -> None:
    found = self_reviews(rows)
    assert found.agreed.n + found.unread == sum(row.n for row in rows)
    assert found.caught.n + found.alone.n == found.agreed.n
    assert found.agreed.k == found.caught.k + (found.alone.n - found.alone.k)
