"""Uncertainty against verdicts: the area from ranks, its interval, and what is said about it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.rates import NOT_RELATED, RELATED, TOO_FEW, auc_interval, relations
from navigator.model.records import EntropyRanks

BITS = st.lists(st.integers(0, 6), min_size=1, max_size=12)


def ranks(revise: list[float], approve: list[float]) -> EntropyRanks:
    both = sorted(revise + approve)
    place = {value: both.index(value) + (both.count(value) + 1) / 2 for value in both}
    return EntropyRanks(
        model="m", revise=len(revise), approve=len(approve),
        revise_ranks=sum(place[value] for value in revise), revise_sum=sum(revise), approve_sum=sum(approve),
    )  # fmt: skip


@given(BITS, BITS)
def test_the_area_is_the_share_of_pairs_in_the_right_order(revise: list[int], approve: list[int]) -> None:
    (found,) = relations([ranks([float(x) for x in revise], [float(x) for x in approve])])
    pairs = [(x > y) + (x == y) / 2 for x in revise for y in approve]
    assert found.auc == pytest.approx(sum(pairs) / len(pairs))
    assert 0 <= found.low <= found.auc <= found.high <= 1


def test_the_interval_holds_the_true_area_about_as_often_as_it_says() -> None:
    """Normal entropies one standard deviation apart: the area is 0.760."""
    rng = random.Random(1)
    held = 0
    for _ in range(300):
        (found,) = relations(
            [ranks([rng.gauss(1, 1) for _ in range(15)], [rng.gauss(0, 1) for _ in range(30)])]
        )
        held += found.low <= 0.760 <= found.high
    assert 0.91 <= held / 300 <= 0.99


def test_what_is_said_follows_from_the_interval_and_the_count() -> None:
    high, low = [float(x) for x in range(30, 50)], [float(x) for x in range(20)]
    assert relations([ranks(high, low)])[0].verdict == RELATED
    assert relations([ranks(high[:9], low[:9])])[0].verdict == TOO_FEW
    assert relations([ranks(low[::2] + high[::2], low[1::2] + high[1::2])])[0].verdict == NOT_RELATED
    only = relations([ranks(high, [])])[0]
    assert (only.auc, only.verdict, only.approve_mean) == (None, TOO_FEW, None)
    assert auc_interval(1.0, 20, 20)[1] == 1.0
