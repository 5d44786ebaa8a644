"""Experiments at swaps: the draw, a bet that is fair whatever the outcomes are, false alarms, power, and what is counted when."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.experiment_simulation import residencies, shown_at
from navigator.domain.experiment import Experiment, ResidencyOutcome
from navigator.evidence.experiment import Unit, compare, draw, evidence_path, interval

UNITS = st.lists(
    st.builds(Unit, st.booleans(), st.integers(0, 10).map(lambda k: k / 10), st.integers(1, 40)), max_size=12
)
PLAN = Experiment(
    name="strict", what="reviewer-prompt", arms=("review", "strict"), share=0.5, outcome="revise-rate",
    residencies=100, seed="7", started="2026-11-01T00:00:00.000Z",
)  # fmt: skip


def test_the_same_seed_draws_the_same_arms_and_about_the_share_that_was_asked_for() -> None:
    drawn = [draw("a seed", number, 0.3) for number in range(1, 2001)]
    assert drawn == [draw("a seed", number, 0.3) for number in range(1, 2001)]
    assert 0.26 < sum(drawn) / len(drawn) < 0.34
    assert drawn != [draw("another seed", number, 0.3) for number in range(1, 2001)]


@given(UNITS, st.floats(0, 1), st.integers(1, 30), st.floats(0.1, 0.9), st.booleans())
def test_whatever_the_outcomes_are_the_next_draw_is_a_fair_bet(
    units: list[Unit], value: float, n: int, second: float, rates: bool
) -> None:
    """What makes it safe to look after every residency: over the draw alone the expected evidence is the evidence before."""
    before = math.exp(evidence_path(units, second, rates=rates)[-1]) if units else 1.0
    after = [
        math.exp(evidence_path([*units, Unit(arm, value, n)], second, rates=rates)[-1])
        for arm in (False, True)
    ]
    assert (1 - second) * after[0] + second * after[1] == pytest.approx(before, rel=1e-6)


def test_reviews_that_are_alike_within_a_residency_raise_few_false_alarms() -> None:
    """Strongly alike and drifting: a test of pooled counts would be wrong in most of these runs."""
    rng = random.Random(3)
    found = [shown_at(residencies(rng, (0.35, 0.35), 0.3, 6, 0.3)) for _ in range(150)]
    assert sum(at is not None for at in found) <= 13  # 5 % are 7.5; more than 13 have a chance of 2 %


def test_a_difference_of_twenty_points_is_found_and_lies_in_the_interval() -> None:
    rng = random.Random(3)
    runs = [residencies(rng, (0.35, 0.15), 0.05, 10, 0.0) for _ in range(40)]
    assert sum(shown_at(units) is not None for units in runs) >= 36
    bounds = [interval(units, 0.5, rates=True) for units in runs[:5]]
    assert all(low is not None and high is not None and low <= -0.2 <= high < 0 for low, high in bounds)


def rows(*outcomes: tuple[str, int, int]) -> list[ResidencyOutcome]:
    return [
        ResidencyOutcome(number=number, arm=arm, ended=True, hits=hits, n=n)
        for number, (arm, hits, n) in enumerate(outcomes, 1)
    ]


def test_a_residency_counts_once_it_is_over_and_so_are_the_verdicts_of_those_before() -> None:
    found = rows(("review", 1, 4), ("strict", 3, 4), ("review", 0, 0), ("strict", 4, 4))
    compared = compare(PLAN, found)
    assert (compared.counted, compared.waiting) == (3, 0)
    assert compared.difference == pytest.approx(7 / 8 - 1 / 4)
    held = compare(PLAN, [found[0], found[1].model_copy(update={"open": 1}), *found[2:]])
    assert (held.counted, held.waiting, held.difference, held.low) == (1, 3, None, None)
    running = compare(PLAN, [*found[:3], found[3].model_copy(update={"ended": False})])
    assert running.counted == 2


def test_it_decides_once_and_ends_undecided_after_as_many_residencies_as_were_asked_for() -> None:
    apart = rows(*((("strict", 9, 10) if draw("x", n, 0.5) else ("review", 1, 10)) for n in range(1, 41)))
    decided = compare(PLAN, apart)
    assert decided.decided_at is not None and decided.decided_at < 40
    assert compare(PLAN, apart[: decided.decided_at]).decided_at == decided.decided_at
    assert not decided.over
    alike = rows(*((("strict" if draw("x", n, 0.5) else "review"), 3, 10) for n in range(1, 41)))
    assert compare(PLAN.model_copy(update={"residencies": 40}), alike).over
    assert not compare(PLAN.model_copy(update={"residencies": 41}), alike).over


def test_speeds_are_compared_as_a_ratio() -> None:
    plan = PLAN.model_copy(update={"outcome": "tokens-per-second"})
    found = [
        ResidencyOutcome(
            number=n, arm="strict" if draw("y", n, 0.5) else "review", ended=True, n=5, value=value
        )
        for n in range(1, 31)
        for value in [100 * (1.3 if draw("y", n, 0.5) else 1.0) * (1 + 0.02 * (n % 3))]
    ]
    compared = compare(plan, found)
    assert compared.difference == pytest.approx(0.3, abs=0.03)
    assert compared.decided_at is not None and compared.low is not None and 0 < compared.low < 0.3
