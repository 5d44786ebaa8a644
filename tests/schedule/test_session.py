"""The session that the forecast plays forward: nothing lost, nobody starved, the published session within its own figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.workloads import ARRIVALS, PUBLISHED, Scenario, workload
from navigator.model.snapshot import Action, Generate, ReviewTask, SchedulerSnapshot, SwapTo
from navigator.model.timing import StepTimes
from navigator.schedule.next_actions import next_actions
from navigator.schedule.session import Session, SimulatedCard
from navigator.schedule.swap_rule import longest_wait
from tests.schedule.test_rules import snap, task


@pytest.mark.parametrize(
    ("streams", "seconds"), [(1, 30 * 2000 / 184 + 42.7 + 30 * 500 / 48), (8, 198), (16, 154), (30, 123)]
)
def test_the_published_session(streams: int, seconds: float) -> None:
    """One stream at a time: 326 s of writing, 312.5 s of reviews and the way there; 701 s with the way back."""
    scenario = replace(PUBLISHED, streams=(streams, streams))
    session = Session(scenario.machine(), workload(scenario), until="idle").run()
    assert session.now == pytest.approx(seconds, abs=0.5)
    assert session.swaps == 1


def test_streams_share_a_card_as_the_timing_model_says() -> None:
    """Two answers of 100 tokens, the second one asked for when the first is half written."""
    times = StepTimes(load_seconds=0, decode=10, prefill=100, kv_share=0.5)
    card = SimulatedCard(times)
    card.add("a", 100)
    assert card.advance(5.0) == []
    card.add("b", 100)
    assert card.next_event() == pytest.approx(50 * times.step_seconds(2))
    assert card.advance(card.next_event()) == ["a"]
    assert card.next_event() == pytest.approx(50 * times.step_seconds(1))
    assert card.advance(card.next_event()) == ["b"]
    assert card.next_event() == math.inf


class Recorded:
    """The scheduler, and what it named: for each residency how many calls were begun, and how long each review was waited for."""

    def __init__(self) -> None:
        self.swapped_at: list[float] = []
        self.calls = [0]
        self.review_waits: list[tuple[str, float]] = []

    def __call__(self, snapshot: SchedulerSnapshot, now: float) -> Sequence[Action]:
        actions = next_actions(snapshot, now)
        since = {task.id: task.since for task in snapshot.tasks}
        for action in actions:
            self.calls[-1] += isinstance(action, Generate | ReviewTask)
            if isinstance(action, ReviewTask):
                self.review_waits.append((action.task_id, now - since[action.task_id]))
        if any(isinstance(action, SwapTo) for action in actions):
            self.swapped_at.append(now)
            self.calls.append(0)
        return actions


SCENARIOS = st.builds(
    Scenario,
    tasks=st.integers(1, 25),
    projects=st.integers(1, 5),
    arrivals=st.sampled_from(ARRIVALS),
    hours=st.sampled_from((0.1, 1.0, 6.0)),
    revise_rate=st.sampled_from((0.0, 0.35, 1.0)),
    spread=st.sampled_from((0.0, 0.5, 1.0)),
    check_seconds=st.sampled_from((0.0, 5.0, 90.0)),
    check_failures=st.sampled_from((0.0, 0.3)),
    swap_in=st.sampled_from((2.0, 42.7, 120.0)),
    urgent=st.sampled_from((0.0, 0.3)),
    seed=st.integers(0, 10_000),
)


@given(SCENARIOS)
def test_every_task_ends_and_no_proposal_waits_longer_than_it_may(scenario: Scenario) -> None:
    """Its longest wait, then what runs when that is over, repairs with their checks, and the swap that may just have begun."""
    scenario = replace(scenario, spread=0.0, swap_spread=0.0)
    jobs = workload(scenario)
    seen = Recorded()
    session = Session(scenario.machine(), jobs, policy=seen).run()
    assert set(session.ended) == {job.id for job in jobs}
    # No card answers faster alone than beside others, so a call takes at most what 25 take together.
    running = 25 * (16 * 2000 / 184 + 8000 / 8333) + 3 * 95
    longest = {job.id: longest_wait(snap(), task(1, priority=job.priority)) for job in jobs}
    for name, seconds in seen.review_waits:
        assert seconds <= longest[name] + running + 3 * (scenario.swap_in + scenario.swap_back)
