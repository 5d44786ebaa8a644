"""What could make models be loaded to and fro: urgent work that alternates, an empty queue, swaps that fail or take long."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from navigator.domain.snapshot import BatchRules, SwapTo
from navigator.scheduling.simulator.policies import contenders
from navigator.scheduling.simulator.scenario import Job, Request, Scenario, workload
from navigator.scheduling.simulator.session import Outcome, Session, prices_of, simulate

NAVIGATOR, *OPPONENTS = contenders(BatchRules())
GREEDY = next(contender for contender in OPPONENTS if contender.name == "greedy")

EVEN = Scenario(spread=0, revise_rate=0, check_failures=0, swap_spread=0)


def run(scenario: Scenario, jobs: list[Job], contender: object = NAVIGATOR) -> Outcome:
    return simulate(scenario, jobs, contender.policy, contender.rules)  # type: ignore[attr-defined]


def alternating(pairs: int, apart: float) -> list[Job]:
    """Every `apart` seconds an urgent task: the last one's review and the next one's writing always want different models."""
    return [
        Job(
            id=f"T{number + 1}",
            project=number % 3,
            arrival=number * apart,
            writes=(Request(8000, 2000),),
            reviews=(Request(6000, 500),),
            checks=(5.0,),
            priority=1,
        )
        for number in range(pairs)
    ]


@pytest.mark.parametrize(("apart", "most"), [(20.0, 11), (60.0, 41), (100.0, 69)])
def test_urgent_tasks_that_alternate_swap_no_more_than_a_greedy_rule(apart: float, most: int) -> None:
    """Each task comes when the one before waits for the other model; dense arrivals share a batch.

    At 100 s apart the swaps are 69 for 40 tasks: what the waits are worth at the patience that is the default.
    """
    jobs = alternating(40, apart)
    outcome, greedy = run(EVEN, jobs), run(EVEN, jobs, GREEDY)
    assert outcome.swaps <= min(most, greedy.swaps)
    assert outcome.longest_review_wait <= NAVIGATOR.rules.max_wait + EVEN.swap_in + 60


def test_an_empty_queue_swaps_nothing_however_long_it_lasts() -> None:
    """A task in the morning, one in the evening: one load of the reviewer each, one way back between, and none for hours."""
    jobs = [
        replace(job, arrival=moment) for job, moment in zip(alternating(2, 0), (0.0, 36_000.0), strict=True)
    ]
    seen: list[float] = []

    def policy(snapshot: object, now: float) -> object:
        actions = NAVIGATOR.policy(snapshot, now)  # type: ignore[arg-type]
        seen.extend(now for action in actions if isinstance(action, SwapTo))
        return actions

    outcome = simulate(EVEN, jobs, policy, NAVIGATOR.rules)  # type: ignore[arg-type]
    assert outcome.swaps == len(seen) == 3
    assert not [moment for moment in seen if 3600 < moment < 36_000]


def test_failing_swaps_are_tried_again_and_cost_no_more_than_themselves() -> None:
    """Three of ten fail and leave nothing loaded: tries above the swaps of a calm session stay near what chance makes of them."""
    made, calm = 0, 0
    for seed in range(20):
        scenario = replace(EVEN, tasks=20, arrivals="steady", hours=2, swap_failures=0.3, seed=seed)
        jobs = workload(scenario)
        made += run(scenario, jobs).swaps
        calm += run(replace(scenario, swap_failures=0.0), jobs).swaps
    assert calm < made < 2 * calm / (1 - 0.3)


@pytest.mark.parametrize("slower", [2.0, 5.0])
def test_swaps_slower_than_measured_are_not_made_more_often(slower: float) -> None:
    """The policy believes the old figures until it has measured the new ones; even so it neither thrashes nor starves."""
    rng = random.Random(4)
    for _ in range(10):
        measured = replace(EVEN, tasks=40, arrivals="steady", hours=4, seed=rng.randrange(1000))
        jobs = workload(measured)
        slow = replace(measured, swap_in=slower * measured.swap_in, swap_back=slower * measured.swap_back)
        surprised = Session(slow, jobs, NAVIGATOR.policy, NAVIGATOR.rules, prices_of(measured)).run()
        as_measured, informed = run(measured, jobs), run(slow, jobs)
        assert surprised.swaps <= as_measured.swaps + 2
        assert informed.swaps <= surprised.swaps
        # One batch may be read while the swap that the next one waits for is under way, there and back.
        assert surprised.longest_review_wait <= NAVIGATOR.rules.max_wait + 3 * slower * 80
