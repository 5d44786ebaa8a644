"""Simulated sessions: nothing lost, nothing faster than the bound, and the published session within its own figures."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navigator.domain.errors import UsageError
from navigator.domain.snapshot import BatchRules
from navigator.domain.timing import StepTimes
from navigator.scheduling.simulator.bounds import bound, lower_bound, optimum
from navigator.scheduling.simulator.card import Card
from navigator.scheduling.simulator.policies import contenders
from navigator.scheduling.simulator.scenario import (
    ARRIVALS,
    PUBLISHED,
    Request,
    Scenario,
    read_scenario,
    workload,
)
from navigator.scheduling.simulator.session import Outcome, simulate

NAVIGATOR, *OPPONENTS = contenders(BatchRules())


def run(scenario: Scenario, contender: object = NAVIGATOR, until: str = "") -> Outcome:
    return simulate(scenario, workload(scenario), contender.policy, contender.rules, until)  # type: ignore[attr-defined]


def test_the_published_session_one_stream_at_a_time() -> None:
    """326 s of writing, 312.5 s of reviews and the way there: 701 s, with reviews rounded to ten seconds and the way back."""
    outcome = run(PUBLISHED, until="idle")
    assert outcome.makespan == pytest.approx(30 * 2000 / 184 + 42.7 + 30 * 500 / 48, rel=1e-6)
    assert outcome.swaps == 1


def test_streams_share_a_card_as_the_timing_model_says() -> None:
    """Two answers of 100 tokens, the second one asked for when the first is half written."""
    times = StepTimes(load_seconds=0, decode=10, prefill=100, kv_share=0.5)
    card = Card(times)
    card.add("a", Request(0, 100))
    assert card.advance(5.0) == []
    card.add("b", Request(200, 100))
    assert card.next_event() == 2.0  # a prompt is read alone
    assert card.advance(2.0) == []
    assert card.next_event() == pytest.approx(50 * times.step_seconds(2))
    assert card.advance(card.next_event()) == ["a"]
    assert card.next_event() == pytest.approx(50 * times.step_seconds(1))
    assert card.advance(card.next_event()) == ["b"]
    assert card.next_event() == math.inf
    assert card.busy == pytest.approx(5 + 2 + 50 * 0.15 + 50 * 0.1)


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
    swap_failures=st.sampled_from((0.0, 0.2)),
    swap_in=st.sampled_from((2.0, 42.7, 120.0)),
    urgent=st.sampled_from((0.0, 0.3)),
    seed=st.integers(0, 10_000),
)


@settings(max_examples=60, deadline=None)
@given(SCENARIOS)
def test_every_policy_ends_every_task_and_none_beats_the_bound(scenario: Scenario) -> None:
    jobs = workload(scenario)
    least = lower_bound(scenario, jobs)
    for contender in (NAVIGATOR, *OPPONENTS):
        outcome = simulate(scenario, jobs, contender.policy, contender.rules)
        assert outcome.makespan >= least.makespan * (1 - 1e-9), contender.name
        assert outcome.mean_wait >= least.mean_wait * (1 - 1e-9), contender.name
        assert 0 <= outcome.gpu_idle_share < 1
        # Reading and writing, done in this session: a swap was needed for the first review.
        assert outcome.swaps >= 1


@settings(max_examples=40, deadline=None)
@given(SCENARIOS)
def test_no_proposal_waits_longer_for_its_review_than_the_limits_allow(scenario: Scenario) -> None:
    """The longest wait, what runs when it ends, and two swaps that may each fail three times in a row."""
    scenario = replace(scenario, swap_failures=0.0, spread=0.0)
    outcome = run(scenario)
    running = 25 * (16 * 2000 / 184 + 8000 / 8333) + 3 * 95
    assert outcome.longest_review_wait <= 1800 + running + 3 * (scenario.swap_in + scenario.swap_back)


def test_no_swap_without_gain() -> None:
    """One task: to the reviewer, and back only where it is revised."""
    once = replace(PUBLISHED, tasks=1)
    assert run(once).swaps == 1
    revised = replace(once, revise_rate=1.0, revisions=1)
    assert run(revised).swaps == 3


def test_weighing_shortens_waits_against_the_limits_alone() -> None:
    steady = Scenario(tasks=60, arrivals="steady", hours=8)
    alone = next(contender for contender in OPPONENTS if contender.name == "limits only")
    weighed, unweighed = run(steady), run(steady, alone)
    assert weighed.mean_wait < 0.7 * unweighed.mean_wait
    assert weighed.makespan <= unweighed.makespan


def test_the_clairvoyant_is_found_for_a_few_tasks() -> None:
    """Two tasks that come 100 s apart: waiting for the second one saves a round trip, and no rule can know."""
    scenario = replace(PUBLISHED, tasks=2, arrivals="steady", hours=0.05, seed=3)
    jobs = workload(scenario)
    best = optimum(scenario, jobs)
    assert best is not None
    assert best.kind == "exact"
    for contender in (NAVIGATOR, *OPPONENTS):
        outcome = simulate(scenario, jobs, contender.policy, contender.rules)
        assert outcome.makespan >= best.makespan - 1e-9
        assert outcome.mean_wait >= best.mean_wait - 1e-9
    assert best.makespan >= lower_bound(scenario, jobs).makespan - 1e-9
    assert bound(Scenario(tasks=50), workload(Scenario(tasks=50))).kind == "lower bound"


def test_cards_behind_gateways_swap_nothing() -> None:
    pool = Scenario(tasks=200, projects=50, arrivals="steady", hours=1, cards=6, reviewer_cards=4)
    outcome = run(pool)
    assert outcome.swaps == 0
    assert outcome.makespan >= lower_bound(pool, workload(pool)).makespan


def test_a_scenario_is_read_from_a_table_and_mistakes_are_named() -> None:
    read = read_scenario({"tasks": 5, "streams": [4, 2], "generator": {"decode": 100.0}})
    assert (read.tasks, read.streams, read.generator.decode, read.generator.prefill) == (
        5,
        (4, 2),
        100.0,
        8333.0,
    )
    for broken in (
        {"task": 5},
        {"arrivals": "never"},
        {"tasks": 0},
        {"revise_rate": 2},
        {"streams": 8},
        {"generator": {"speed": 3}},
        {"cards": 2, "reviewer_cards": 2},
        {"tasks": "many"},
    ):
        with pytest.raises(UsageError):
            read_scenario(broken)
