"""What holds of every forecast; the published figures themselves are among those of `tests/lab/golden.toml`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.model.errors import UsageError
from navigator.schedule.batch_time import (
    MOST_A_DAY,
    PUBLISHED,
    Figures,
    Step,
    best_batch,
    break_even,
    forecast,
    task_steps,
)


def seconds(steps: Iterable[Step]) -> float:
    return sum(step.seconds for step in steps)


@given(st.integers(1, 500))
def test_a_forecast_adds_up(batch: int) -> None:
    made = forecast(batch)
    parts = made.write_seconds + made.swap_seconds + made.review_seconds
    assert made.total_seconds == pytest.approx(parts)
    assert made.seconds_each * batch == pytest.approx(made.total_seconds)
    assert made.seconds_each == pytest.approx(
        PUBLISHED.write_seconds + PUBLISHED.review_seconds + made.swap_each
    )


def test_reviews_and_revisions_put_the_break_even_off() -> None:
    assert break_even(PUBLISHED).tokens == pytest.approx(75.4 / (1 / 38 - 1 / 184 - 500 / 48 / 2000))
    rates = [break_even(replace(PUBLISHED, revise_rate=rate)) for rate in (0.0, 0.1, 0.2, 0.35)]
    assert [even.batch for even in rates] == [3, 4, 5, 7]
    assert [even.tokens for even in rates] == sorted(even.tokens or 0 for even in rates)


FIGURES = st.builds(
    Figures,
    swap_in=st.floats(0, 300),
    swap_back=st.floats(0, 300),
    generator_speed=st.floats(20, 500),
    reviewer_speed=st.floats(20, 500),
    proposal_tokens=st.floats(100, 10_000),
    review_tokens=st.floats(0, 2_000),
    revise_rate=st.floats(0, 1),
    single_speed=st.floats(1, 200),
)


@given(FIGURES)
def test_the_break_even_is_the_smallest_batch_that_is_no_slower(figures: Figures) -> None:
    even = break_even(figures)
    if even.batch is None or even.tokens is None:
        assert forecast(100_000, figures).seconds_each > figures.single_seconds * (1 - 1e-9)
        return
    slack = 1 + 1e-6
    assert forecast(even.batch, figures).seconds_each <= figures.single_seconds * slack
    if even.batch > 1:
        assert forecast(even.batch - 1, figures).seconds_each * slack >= figures.single_seconds
    assert even.batch - 1 <= even.tokens / figures.proposal_tokens * slack
    assert even.tokens / figures.proposal_tokens <= even.batch * slack


@given(FIGURES)
def test_the_best_batch_is_the_smallest_within_five_percent_of_an_endless_one(figures: Figures) -> None:
    best = best_batch(figures)
    least = figures.least_seconds_each
    if best is None:
        assert figures.swaps_in(MOST_A_DAY) > 0.05 * MOST_A_DAY * least or figures.round_trip == 0
        return
    assert best <= MOST_A_DAY
    assert forecast(best, figures).seconds_each <= least * 1.05 * (1 + 1e-9)
    if best > 1:
        assert forecast(best - 1, figures).seconds_each > least * 1.05 * (1 - 1e-9)


def test_one_task_through_revisions_that_are_each_reviewed_again() -> None:
    assert seconds(task_steps(PUBLISHED, revisions=1)) == pytest.approx(
        2 * (2000 / 184 + 42.7 + 500 / 48) + 32.7
    )
    names = [step.name for step in task_steps(PUBLISHED, revisions=2)]
    assert names[:3] == ["write", "swap to the reviewer", "review"]
    assert names[3:] == ["swap to the generator", "revise", "swap to the reviewer", "review"] * 2


@pytest.mark.parametrize("single", [94.0, 184.0, 200.0])
def test_a_cascade_that_is_not_faster_never_earns_its_swaps(single: float) -> None:
    assert break_even(replace(PUBLISHED, single_speed=single)).tokens is None


@given(st.integers(1, 500), st.floats(0, 1))
def test_revisions_cost_their_share_and_at_most_one_more_round_trip(batch: int, rate: float) -> None:
    made, plain = forecast(batch, replace(PUBLISHED, revise_rate=rate)), forecast(batch)
    work = rate * (plain.write_seconds + plain.review_seconds)
    swaps = made.revision_seconds - work
    assert -1e-9 <= swaps <= PUBLISHED.round_trip + 1e-9
    assert made.total_seconds == pytest.approx(plain.total_seconds + made.revision_seconds)


def test_what_cannot_be_forecast_is_refused_with_a_hint_and_what_takes_no_time_is_not() -> None:
    assert forecast(3, Figures(0, 0, 10, 10, 0, 0)).tokens_per_second == 0
    for broken in (
        lambda: forecast(0),
        lambda: replace(PUBLISHED, reviewer_speed=0),
        lambda: replace(PUBLISHED, swap_in=-1),
        lambda: replace(PUBLISHED, revise_rate=1.1),
    ):
        with pytest.raises(UsageError):
            broken()
