"""Differences of two proportions against published values, an exact test against its definition."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.intervals import newcombe
from navigator.figures.rates import revise_rate
from navigator.model.records import VerdictCount
from navigator.model.states import Verdict


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        # Newcombe 1998, table II, method 10.
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((6, 7, 2, 7), 0.0582, 0.8062),
        ((5, 56, 0, 29), -0.0381, 0.1926),
        ((0, 10, 0, 20), -0.1611, 0.2775),
        ((0, 10, 0, 10), -0.2775, 0.2775),
        ((10, 10, 0, 20), 0.6791, 1.0),
        ((10, 10, 0, 10), 0.6075, 1.0),
    ],
)
def test_published_intervals(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    found = newcombe(*counts)
    assert (round(found[0], 4), round(found[1], 4)) == (low, high)


PAIR = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(PAIR, PAIR)
def test_the_order_of_the_two_changes_the_sign_alone(one: tuple[int, int], other: tuple[int, int]) -> None:
    low, high = newcombe(*one, *other)
    assert -1 <= low <= one[0] / one[1] - other[0] / other[1] <= high <= 1
    assert newcombe(*other, *one) == pytest.approx((-high, -low))


# By simulation, through what the pages use.


@pytest.mark.parametrize("n", [30, 88, 350])
def test_the_intervals_of_the_revise_rate_hold_the_truth(n: int) -> None:
    rng = random.Random(n)
    held = 0
    for _ in range(2000):
        rate = rng.uniform(0.10, 0.65)
        revise = sum(rng.random() < rate for _ in range(n))
        counts = [
            VerdictCount(verdict=verdict, n=k)
            for verdict, k in ((Verdict.REVISE, revise), (Verdict.APPROVE, n - revise))
            if k
        ]
        (row,) = revise_rate(counts).rows
        held += row.low <= rate <= row.high
    assert 0.94 <= held / 2000 <= 0.97


@pytest.mark.parametrize("n", [30, 100])
def test_the_intervals_of_differences_hold_the_truth(n: int) -> None:
    rng = random.Random(n)
    held = 0
    for _ in range(2000):
        one, other = rng.uniform(0.10, 0.65), rng.uniform(0.10, 0.65)
        k1, k2 = (sum(rng.random() < rate for _ in range(n)) for rate in (one, other))
        low, high = newcombe(k1, n, k2, n)
        held += low <= one - other <= high
    assert 0.94 <= held / 2000 <= 0.97
