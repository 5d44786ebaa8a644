"""Swaps, speeds, and the modelled length of a session against sums done by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.cost import CallTotals
from navigator.figures.swaps import ResidencyCall, modelled_time, swap_stats, usual_swap
from navigator.model.models import Swap, SwapPhase
from navigator.model.states import Role
from navigator.model.timing import StepTimes
from tests.records import swapped

G, R = Role.GENERATOR, Role.REVIEWER


def swap(to: Role, seconds: float, **more: object) -> Swap:
    return swapped(seconds - 2.0, **{"from": G if to is R else R, "to": to, **more})


def test_swaps_are_summed_up_by_direction_and_phase() -> None:
    swaps = [swap(R, seconds) for seconds in (40.0, 42.0, 44.0, 60.0)] + [swap(G, 32.0)]
    back, there = sorted(swap_stats(swaps), key=lambda row: row.to_role)
    assert (there.from_role, there.to_role, there.strategy, there.failed) == (G, R, "systemd", 0)
    assert (there.seconds.n, there.seconds.mean, there.seconds.median) == (4, 46.5, 43.0)
    assert there.seconds.p95 == pytest.approx(44 + 0.85 * 16)
    assert list(there.phases) == ["stop", "load"]
    assert (there.phases["load"].n, there.phases["load"].median) == (4, 41.0)
    assert back.seconds.p95 == 32.0


def test_a_swap_that_failed_is_counted_but_not_timed() -> None:
    (row,) = swap_stats([swap(R, 40.0), swap(R, 300.0, outcome="failed", reason="health")])
    assert (row.seconds.n, row.seconds.mean, row.failed) == (1, 40.0, 1)
    (lost,) = swap_stats([swap(R, 300.0, outcome="failed")])
    assert (lost.seconds, lost.phases, lost.failed) == (None, {}, 1)


def test_failures_by_class_and_external_swaps_are_in_no_figure() -> None:
    (row,) = swap_stats(
        [
            swap(R, 40.0),
            swap(R, 0.0, made_by="outside"),
            swap(R, 300.0, outcome="went_back", failure="no_memory"),
            swap(R, 200.0, outcome="failed", failure="no_memory"),
            swap(R, 1.0, outcome="failed"),
        ]
    )
    assert (row.seconds.n, row.seconds.mean, row.failed, row.outside) == (1, 40.0, 3, 1)
    assert row.failures == {"no_memory": 2, "unknown": 1}
    (unmeasured,) = swap_stats([swap(R, 0.0, made_by="outside")])
    assert (unmeasured.seconds, unmeasured.failed, unmeasured.outside) == (None, 0, 1)
    assert usual_swap([swap(R, 0.0, made_by="outside")], G, R) is None


def test_a_phase_that_came_twice_in_one_swap_is_one_duration() -> None:
    twice = (SwapPhase(name="health", seconds=1.0), SwapPhase(name="health", seconds=2.5))
    (row,) = swap_stats([swap(R, 3.5, phases=twice)])
    assert (row.phases["health"].n, row.phases["health"].mean) == (1, 3.5)


def test_strategies_and_first_loads_are_never_pooled() -> None:
    swaps = [
        swap(R, 40.0),
        swap(R, 4.0, strategy="sleep"),
        swap(R, 90.0, **{"from": None}),
    ]
    assert [row.seconds.n for row in swap_stats(swaps) if row.seconds] == [1, 1, 1]
    found = [usual_swap(newest_first, G, R) for newest_first in (swaps, swaps[1:])]
    assert [row.seconds.median for row in found if row and row.seconds] == [40.0, 4.0]
    assert usual_swap(swaps, R, G) is None


def calls(**more: object) -> CallTotals:
    values: dict[str, object] = {"role": G, "model": "35B", "calls": 3, "seconds": 25.0, "busy_seconds": 15.0}
    values |= {"prompt_tokens": 3000, "completion_tokens": 1600, "cached_tokens": 750}
    return CallTotals.model_validate({**values, **more})


def test_streams_that_run_at_once_share_the_wall_clock_and_no_time_is_no_speed() -> None:
    row = calls()
    assert row.tokens_per_second == pytest.approx(1600 / 15)
    assert row.stream_tokens_per_second == pytest.approx(1600 / 25)
    assert row.streams == pytest.approx(25 / 15)
    assert row.cached_share == 0.25
    row = calls(seconds=0, busy_seconds=0, prompt_tokens=0)
    assert (row.tokens_per_second, row.stream_tokens_per_second, row.streams) == (None, None, None)
    assert row.cached_share is None


# Each further stream adds half a step's time: 100, 66.7 and 50 tokens a second for one, two and three streams.
SPEEDS = {
    Role.GENERATOR: StepTimes(load_seconds=30.0, decode=100.0, prefill=1000.0, kv_share=0.5),
    Role.REVIEWER: StepTimes(load_seconds=40.0, decode=50.0, prefill=500.0),
}
STREAMS = {Role.GENERATOR: 2, Role.REVIEWER: 2}


Job = ResidencyCall
G_AND_R = [Role.GENERATOR, Role.REVIEWER, Role.GENERATOR]


@pytest.mark.parametrize(
    ("jobs", "loads", "serial", "concurrent"),
    [
        ([Job(G, 1, 1000, 200)], [G], 30 + 1 + 2, 30 + 1 + 2),
        ([Job(G, 1, 0, 200)] * 2, [], 4, 2 * 1.5),  # streams share their speed
        # One that is left alone is as fast as one.
        ([Job(G, 1, 0, 100), Job(G, 1, 0, 300)], [], 4, 1 * 1.5 + 2),
        ([Job(R, 1, 1000, 50)] * 2, [], 2 * (2 + 1), 2 * 2 + 1),  # prompts are read one after the other
        ([Job(R, 1, 0, n) for n in (200, 50, 100)], [], 7, 4),  # the stream that is free first
        ([Job(G, 1, 0, 100), Job(R, 2, 0, 50), Job(G, 3, 0, 100)], G_AND_R, 103, 103),  # one after another
        ([Job(Role.FINAL, 1, 10, 10)], [Role.FINAL], 0, 0),  # no speeds, no cost
    ],
)
def test_a_session_takes_what_a_sum_by_hand_gives(
    jobs: list[ResidencyCall], loads: list[Role], serial: float, concurrent: float
) -> None:
    times = modelled_time(jobs, loads, SPEEDS, STREAMS)
    assert (times.serial, times.concurrent) == pytest.approx((serial, concurrent))


@given(st.lists(st.integers(0, 500), max_size=30), st.integers(1, 8))
def test_concurrency_lies_between_the_best_and_one_at_a_time(answers: list[int], streams: int) -> None:
    """With a cost for each stream but none that outweighs the gain, more streams never take longer than one."""
    speeds = {Role.GENERATOR: StepTimes(load_seconds=0, decode=100, prefill=1000, expert_share=0.2)}
    jobs = [Job(G, 1, 0, answer) for answer in answers]
    times = modelled_time(jobs, [], speeds, {Role.GENERATOR: streams})
    assert times.concurrent <= times.serial + 1e-9
    assert times.concurrent * streams >= times.serial - 1e-9
