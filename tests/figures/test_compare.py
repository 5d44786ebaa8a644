"""Differences of two proportions against published values, an exact test against its definition."""

from __future__ import annotations

import random
import sys
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.compare import MOST_EXACT, boschloo, compared, newcombe
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


def one_sided(k1: int, n1: int, k2: int, n2: int) -> float:
    """Fisher's p that the first rate is larger."""
    successes = k1 + k2
    every = comb(n1 + n2, successes)
    return (
        sum(
            comb(n1, a) * comb(n2, successes - a)
            for a in range(k1, min(n1, successes) + 1)
            if successes - a <= n2
        )
        / every
    )


def test_boschloo_is_the_worst_case_of_fishers_p_over_the_common_rate() -> None:
    k1, n1, k2, n2 = 9, 16, 2, 14
    extreme = [
        (a, b)
        for a in range(n1 + 1)
        for b in range(n2 + 1)
        if one_sided(a, n1, b, n2) <= one_sided(k1, n1, k2, n2) * (1 + 1e-9)
    ]

    def size(p: float) -> float:
        return sum(
            comb(n1, a) * comb(n2, b) * p ** (a + b) * (1 - p) ** (n1 + n2 - a - b) for a, b in extreme
        )

    assert boschloo(k1, n1, k2, n2) == pytest.approx(
        2 * max(size(p / 1000) for p in range(1, 1000)), rel=1e-4
    )
    assert boschloo(14, 40, 6, 40) == pytest.approx(0.0452, abs=5e-5)


def test_a_comparison_has_both_rates_the_difference_and_the_test() -> None:
    found = compared(14, 40, 6, 40)
    assert (found.first.rate, found.second.rate) == (0.35, 0.15)
    assert found.difference == pytest.approx(0.2)
    assert (round(found.low, 3), round(found.high, 3)) == (0.009, 0.374)
    assert found.p == pytest.approx(0.0452, abs=5e-5) and found.p_missing == ""


def test_what_cannot_be_tested_says_why_and_keeps_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = compared(0, 0, 3, 9)
    assert (empty.difference, empty.low, empty.high) == (None, -1.0, 1.0)
    assert empty.p_missing == "one of them has no verdict"
    many = compared(400, 1000, 30, MOST_EXACT // 1000 + 1)
    assert (many.p, many.p_missing) == (None, "too many verdicts for an exact test")
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    without = compared(14, 40, 6, 40)
    assert without.p is None and "pip install 'navigator-cascade[statistics]'" in without.p_missing
    assert (round(without.low, 3), round(without.high, 3)) == (0.009, 0.374)


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
