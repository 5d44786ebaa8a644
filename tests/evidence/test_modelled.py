"""The modelled length of a session, against sums done by hand."""

from __future__ import annotations

import pytest

from navigator.domain.states import Role
from navigator.evidence.modelled import Job, Speeds, modelled_time

SPEEDS = {
    Role.GENERATOR: Speeds(load_seconds=30.0, decode=100.0, prefill=1000.0, slowdown=0.5),
    Role.REVIEWER: Speeds(load_seconds=40.0, decode=50.0, prefill=500.0, slowdown=0.0),
}
STREAMS = {Role.GENERATOR: 2, Role.REVIEWER: 2}


def job(role: Role, residency: int, prompt: int, answer: int) -> Job:
    return Job(role, residency, prompt, answer)


def test_one_request_costs_its_reading_and_its_writing() -> None:
    times = modelled_time([job(Role.GENERATOR, 1, 1000, 200)], [Role.GENERATOR], SPEEDS, STREAMS)
    assert times.serial == times.concurrent == pytest.approx(30 + 1 + 2)


def test_streams_share_their_speed() -> None:
    jobs = [job(Role.GENERATOR, 1, 0, 200)] * 2
    times = modelled_time(jobs, [], SPEEDS, STREAMS)
    assert times.serial == pytest.approx(4.0)
    assert times.concurrent == pytest.approx(2.0 * 1.5)


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
