"""The modelled length of a session, against sums done by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.swaps import ResidencyCall, modelled_time
from navigator.model.states import Role
from navigator.model.timing import StepTimes

# Each further stream adds half a step's time: 100, 66.7 and 50 tokens a second for one, two and three streams.
SPEEDS = {
    Role.GENERATOR: StepTimes(load_seconds=30.0, decode=100.0, prefill=1000.0, kv_share=0.5),
    Role.REVIEWER: StepTimes(load_seconds=40.0, decode=50.0, prefill=500.0),
}
STREAMS = {Role.GENERATOR: 2, Role.REVIEWER: 2}


def job(role: Role, residency: int, prompt: int, answer: int) -> ResidencyCall:
    return ResidencyCall(role, residency, prompt, answer)


def test_one_request_costs_its_reading_and_its_writing() -> None:
    times = modelled_time([job(Role.GENERATOR, 1, 1000, 200)], [Role.GENERATOR], SPEEDS, STREAMS)
    assert times.serial == times.concurrent == pytest.approx(30 + 1 + 2)


def test_streams_share_their_speed() -> None:
    jobs = [job(Role.GENERATOR, 1, 0, 200)] * 2
    times = modelled_time(jobs, [], SPEEDS, STREAMS)
    assert times.serial == pytest.approx(4.0)
    assert times.concurrent == pytest.approx(2.0 * 1.5)


def test_a_stream_left_alone_is_as_fast_as_one() -> None:
    jobs = [job(Role.GENERATOR, 1, 0, 100), job(Role.GENERATOR, 1, 0, 300)]
    assert modelled_time(jobs, [], SPEEDS, STREAMS).concurrent == pytest.approx(1.0 * 1.5 + 2.0)


def test_prompts_are_read_one_after_the_other_by_reviewers_too() -> None:
    jobs = [job(Role.REVIEWER, 1, 1000, 50)] * 2
    times = modelled_time(jobs, [], SPEEDS, STREAMS)
    assert times.concurrent == pytest.approx(2 * 2.0 + 1.0)
    assert times.serial == pytest.approx(2 * (2.0 + 1.0))


def test_requests_take_the_stream_that_is_free_first() -> None:
    jobs = [job(Role.REVIEWER, 1, 0, tokens) for tokens in (200, 50, 100)]
    assert modelled_time(jobs, [], SPEEDS, STREAMS).concurrent == pytest.approx(4.0)


def test_residencies_follow_one_another() -> None:
    jobs = [job(Role.GENERATOR, 1, 0, 100), job(Role.REVIEWER, 2, 0, 50), job(Role.GENERATOR, 3, 0, 100)]
    loads = [Role.GENERATOR, Role.REVIEWER, Role.GENERATOR]
    times = modelled_time(jobs, loads, SPEEDS, STREAMS)
    assert times.concurrent == times.serial == pytest.approx(100 + 3)


def test_a_role_without_speeds_costs_nothing() -> None:
    assert modelled_time([job(Role.FINAL, 1, 10, 10)], [Role.FINAL], SPEEDS, STREAMS).serial == 0


@given(st.lists(st.integers(0, 500), max_size=30), st.integers(1, 8))
def test_concurrency_lies_between_the_best_and_one_at_a_time(answers: list[int], streams: int) -> None:
    """With a cost for each stream but none that outweighs the gain, more streams never take longer than one."""
    speeds = {Role.GENERATOR: StepTimes(load_seconds=0, decode=100, prefill=1000, expert_share=0.2)}
    jobs = [job(Role.GENERATOR, 1, 0, answer) for answer in answers]
    times = modelled_time(jobs, [], speeds, {Role.GENERATOR: streams})
    assert times.concurrent <= times.serial + 1e-9
    assert times.concurrent * streams >= times.serial - 1e-9
