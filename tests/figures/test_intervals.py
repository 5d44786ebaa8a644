"""Intervals and tests of proportions against published values, and by simulation."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.intervals import (
    Z_95,
    newcombe,
    percent_of,
    percentile,
    share,
    summarise,
    wilson,
)
from navigator.figures.rates import VerdictCount, revise_rate
from navigator.model.states import Verdict


@pytest.mark.parametrize(
    ("k", "n", "low", "high", "digits"),
    [
        (19, 20, 0.7639, 0.9911, 4),
        (35, 100, 0.26364, 0.44746, 5),
        (0, 10, 0.0, 0.278, 3),
        (10, 10, 0.722, 1.0, 3),
    ],
)
def test_known_intervals(k: int, n: int, low: float, high: float, digits: int) -> None:
    made = wilson(k, n)
    assert (round(made[0], digits), round(made[1], digits)) == (low, high)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_limits_solve_the_score_equation(pair: tuple[int, int]) -> None:
    k, n = pair
    low, high = wilson(k, n)
    assert 0 <= low <= k / n <= high <= 1
    assert ((low == 0.0), (high == 1.0)) == (k == 0, k == n)
    for limit in (low, high):
        score = (k / n - limit) ** 2
        assert score == pytest.approx(Z_95**2 * limit * (1 - limit) / n, abs=1e-12)


def test_of_nothing_nothing_is_known() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert share(0, 0).rate is None


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (1, 0)])
def test_what_is_no_proportion_is_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="no proportion"):
        wilson(k, n)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=60))
def test_the_percentile_is_the_inclusive_quantile(values: list[float]) -> None:
    twentieths = statistics.quantiles(values, n=20, method="inclusive")
    assert percentile(values, 0.95) == pytest.approx(twentieths[-1])
    assert percentile(values, 0.5) == pytest.approx(statistics.median(values))
    assert (percentile(values, 0), percentile(values, 1)) == (min(values), max(values))


def test_summaries_of_little() -> None:
    assert summarise([]) is None
    one = summarise([42.7])
    assert (one.n, one.mean, one.median, one.p95) == (1, 42.7, 42.7, 42.7)


def test_halves_are_rounded_up_as_readers_do() -> None:
    assert [percent_of(share) for share in (0.0, 1 / 8, 3 / 8, 0.124, 1.0)] == [0, 13, 38, 12, 100]


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


def test_the_intervals_of_the_revise_rate_hold_the_truth() -> None:
    n, rng = 88, random.Random(88)
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
