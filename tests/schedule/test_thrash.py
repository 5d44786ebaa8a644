"""What could make models be loaded to and fro: urgent work that alternates, an empty queue, sizes and verdicts of every kind."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from benchmarks.workloads import Scenario, workload
from navigator.model.snapshot import BatchRules
from navigator.schedule.session import Job, Session
from tests.schedule.test_session import SCENARIOS, Recorded

EVEN = Scenario(spread=0, revise_rate=0, check_failures=0, swap_spread=0)


def alternating(pairs: int, apart: float) -> list[Job]:
    """Every `apart` seconds an urgent task: the last one's review and the next one's writing always want different models."""
    return [
        Job(f"T{number + 1}", number % 3, number * apart, (2177.0,), (615.0,), (5.0,), priority=1)
        for number in range(pairs)
    ]


@given(SCENARIOS)
def test_every_residency_works_and_there_are_at_most_two_for_each_round(scenario: Scenario) -> None:
    jobs = workload(scenario)
    seen = Recorded()
    session = Session(scenario.machine(), jobs, policy=seen).run()
    assert len(session.ended) == len(jobs)
    assert 1 <= session.swaps <= 2 * sum(len(job.writes) for job in jobs)
    assert all(seen.calls), "no swap without gain"


@pytest.mark.parametrize(("apart", "most"), [(20.0, 15), (60.0, 41), (100.0, 73)])
def test_urgent_tasks_that_alternate_share_what_comes_meanwhile(apart: float, most: int) -> None:
    """Each task comes when the one before waits for the other model. From a round trip apart each is written and read alone."""
    seen = Recorded()
    session = Session(EVEN.machine(), alternating(40, apart), policy=seen).run()
    assert session.swaps <= most
    assert max(seconds for _, seconds in seen.review_waits) <= 450 + EVEN.swap_in + 60


def test_an_empty_queue_swaps_nothing_however_long_it_lasts() -> None:
    """A task in the morning, one in the evening: one load of the reviewer each, one way back between, and none for hours."""
    jobs = [
        replace(job, arrival=moment) for job, moment in zip(alternating(2, 0), (0.0, 36_000.0), strict=True)
    ]
    seen = Recorded()
    session = Session(EVEN.machine(), jobs, policy=seen).run()
    assert session.swaps == len(seen.swapped_at) == 3
    assert not [moment for moment in seen.swapped_at if 3600 < moment < 36_000]


def test_quiet_minutes_trade_swaps_for_waiting() -> None:
    jobs = alternating(40, 100.0)
    at_once, held = (Session(EVEN.machine(), jobs, BatchRules(quiet=quiet)).run() for quiet in (0.0, 180.0))
    assert held.swaps < at_once.swaps / 2
    assert sum(held.ended.values()) > sum(at_once.ended.values())
