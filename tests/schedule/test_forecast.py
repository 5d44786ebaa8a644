"""The time to finish: continued from any state, the same answer for the same question, near what a noisy session takes."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.forecast import forecasts
from navigator.figures.intervals import wilson
from navigator.model.snapshot import TaskView
from navigator.model.states import Role, TaskState
from navigator.schedule.batch_time import PUBLISHED
from navigator.schedule.forecast import MOST_TASKS, Terms, remaining

S = TaskState
STATES = (S.QUEUED, S.GENERATING, S.CHECKING, S.AWAITING_REVIEW, S.REVIEWING, S.REVISING)


def view(number: int, state: TaskState = S.QUEUED, round: int = 0, project: int = 1) -> TaskView:
    return TaskView(f"T{number}", project, state, 0, number, round, since=0.0)


@given(
    tasks=st.lists(
        st.tuples(st.sampled_from(STATES), st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=12
    ),
    resident=st.sampled_from((None, Role.GENERATOR, Role.REVIEWER)),
    until=st.sampled_from(("idle", "reviewed", "")),
    rate=st.sampled_from((0.0, 0.35, 1.0)),
    absurd=st.sampled_from(("", "", "swap_in", "swap_back", "proposal_tokens", "review_tokens")),
)
@settings(max_examples=8)
def test_every_state_comes_to_an_end(
    tasks: list[tuple[TaskState, int, int]], resident: Role | None, until: str, rate: float, absurd: str
) -> None:
    """Whatever a damaged row says that a swap or an answer takes."""
    views = [view(number, state, round, project) for number, (state, round, project) in enumerate(tasks)]
    plan = Terms(2, resident=resident, until=until)
    figures = replace(PUBLISHED, revise_rate=rate, **({absurd: 2.0**62} if absurd else {}))
    found = remaining(views, 100.0, figures, plan)
    assert found is not None
    assert found == remaining(views, 100.0, figures, plan)
    assert math.isfinite(found.seconds)
    assert 0 <= found.low <= found.seconds <= found.high


def test_one_task_alone_takes_what_its_steps_take() -> None:
    found = remaining(
        [view(1)], 0.0, PUBLISHED, Terms(2, resident=Role.GENERATOR, streams=(1, 1), check_seconds=0.0)
    )
    assert found is not None
    steps = PUBLISHED.write_seconds + PUBLISHED.swap_in + PUBLISHED.review_seconds
    assert found.seconds == pytest.approx(steps, rel=0.1)
    assert found.low < steps < found.high
    assert (found.swaps, found.revisions) == (1, 0)


def test_the_revise_rate_sends_back_its_share() -> None:
    views = [view(number) for number in range(20)]
    rates = {
        rate: remaining(views, 0.0, replace(PUBLISHED, revise_rate=rate), Terms(2)) for rate in (0.0, 0.35)
    }
    none, some = (found.revisions for found in rates.values() if found)
    assert none == 0 < some < 20  # 7 of 20 and 2 or 3 of these again, more or less: they are drawn
    times = [found.seconds for found in rates.values() if found]
    assert times[0] < times[1]


def test_more_tasks_than_are_followed_are_counted_in_proportion() -> None:
    few = remaining([view(number) for number in range(MOST_TASKS)], 0.0, PUBLISHED, Terms(2))
    many = remaining([view(number) for number in range(3 * MOST_TASKS)], 0.0, PUBLISHED, Terms(2))
    assert few is not None and many is not None
    assert many.followed == MOST_TASKS
    assert many.swaps == few.swaps
    assert 3 * few.seconds - 2 * few.swaps * 50 < many.seconds < 3 * few.seconds


def test_a_forecast_is_near_what_a_noisy_session_takes() -> None:
    """And four of five are within the interval, as far as so few can tell."""
    found = forecasts(8)
    assert statistics.median(abs(one.expected / one.actual - 1) for one in found) < 0.25
    low, high = wilson(sum(one.low <= one.actual <= one.high for one in found), len(found))
    assert low < 0.8 < high


def test_a_rate_of_few_verdicts_makes_the_interval_wider() -> None:
    tasks = [view(number) for number in range(4)]
    few, many = (
        remaining(tasks, 0.0, replace(PUBLISHED, revise_rate=0.1, revise_n=n), Terms(2)) for n in (1, 1000)
    )
    assert few is not None and many is not None
    assert few.high > many.high
    assert few.low == pytest.approx(many.low, rel=0.1)


def test_a_swap_under_way_is_not_begun_again() -> None:
    """It is half done, on average; without that knowledge the whole of it would be counted."""
    waiting = [view(1, S.AWAITING_REVIEW)]
    under_way = remaining(
        waiting, 0.0, PUBLISHED, Terms(2, resident=Role.GENERATOR, swapping_to=Role.REVIEWER)
    )
    not_yet = remaining(waiting, 0.0, PUBLISHED, Terms(2, resident=Role.GENERATOR))
    assert under_way is not None and not_yet is not None
    assert not_yet.seconds - under_way.seconds == pytest.approx(PUBLISHED.swap_in / 2, rel=0.3)


def test_projects_without_tests_have_no_failed_checks_to_repair() -> None:
    tasks = [view(number) for number in range(1, 9)]
    tested = remaining(tasks, 0.0, PUBLISHED, Terms(2))
    untested = remaining(tasks, 0.0, PUBLISHED, Terms(2, untested=frozenset({1})))
    assert tested is not None and untested is not None
    assert untested.seconds < tested.seconds
