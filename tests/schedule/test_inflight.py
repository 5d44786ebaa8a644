"""The limit on requests in flight: within its bounds, near the knee of a server, and quick to follow one that changes."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.workloads import Scenario
from navigator.schedule.inflight import Inflight, ServerQueue, TimedAnswer

OBSERVED = st.one_of(
    st.builds(TimedAnswer, st.integers(0, 5000), st.floats(0, 1000), st.floats(0, 64)),
    st.builds(ServerQueue, st.integers(0, 64), st.integers(0, 64), st.none() | st.integers(0, 64)),
)


def feed(control: Inflight, seen: TimedAnswer | ServerQueue) -> Inflight:
    return control.answered(seen) if isinstance(seen, TimedAnswer) else control.looked(seen)


@settings(deadline=None)
@given(st.integers(1, 64), st.lists(OBSERVED, max_size=80))
def test_whatever_is_seen_the_limit_stays_within_its_bounds(
    most: int, seen: list[TimedAnswer | ServerQueue]
) -> None:
    control = Inflight.begin(most)
    for one in seen:
        control = feed(control, one)
        assert 1 <= control.limit <= control.most <= most
        assert bool(control.why) <= (control.limit < most)


@settings(max_examples=40, deadline=None)
@given(st.lists(OBSERVED, max_size=60), st.integers(2, 32))
def test_no_history_keeps_it_at_the_bottom_of_a_server_that_can_do_more(
    seen: list[TimedAnswer | ServerQueue], most: int
) -> None:
    """Never starves: after anything, a server on which each stream is as fast as alone is used in full again."""
    control = Inflight.begin(most)
    for one in seen:
        control = feed(control, one)
    control = served(control, lambda n: 50.0, answers=40 * most + 16 * 32, rng=None)
    limits = []
    for _ in range(20):
        control = served(control, lambda n: 50.0, answers=most, rng=None)
        limits.append(control.limit)
    assert statistics.fmean(limits) >= 0.85 * control.most  # now and then fewer are tried for comparison


def served(
    control: Inflight,
    speed: Callable[[int], float],
    *,
    answers: int,
    rng: random.Random | None,
    room: int | None = None,
) -> Inflight:
    """The state after so many answers of a server on which each of n streams writes `speed(n)` tokens a second.

    With `room` it runs so many, lets the others wait, and says so.
    """
    for _ in range(answers):
        n = control.limit
        tokens = rng.randint(100, 3000) if rng else 1000
        noise = rng.uniform(0.95, 1.05) if rng else 1.0
        control = control.answered(TimedAnswer(tokens, noise * tokens / speed(n), n))
        if room is not None:
            control = control.looked(ServerQueue(n, max(0, n - room)))
    return control


def shared(knee: float, alone: float = 100.0) -> Callable[[int], float]:
    """A server that has no queue: beyond the knee its streams share what there is."""
    return lambda n: alone * min(1.0, knee / n)


@settings(max_examples=25, deadline=None)
@given(knee=st.integers(1, 24), most=st.integers(1, 32), seed=st.integers(0, 10_000))
def test_without_a_queue_it_finds_the_knee_by_latency_alone(knee: int, most: int, seed: int) -> None:
    rng = random.Random(seed)
    control = served(Inflight.begin(most), shared(knee), answers=12 * most, rng=rng)
    limits = []
    for _ in range(30):
        control = served(control, shared(knee), answers=5, rng=rng)
        limits.append(control.limit)
    best = min(knee, most)
    assert statistics.fmean(min(limit, best) for limit in limits) >= 0.8 * best, "throughput"
    assert statistics.fmean(limits) <= 1.34 * best + 1, "latency"


@settings(max_examples=25, deadline=None)
@given(room=st.integers(1, 24), most=st.integers(1, 32), seed=st.integers(0, 10_000))
def test_a_queue_that_the_server_tells_of_is_emptied(room: int, most: int, seed: int) -> None:
    """Two looks each time; afterwards it is at most one above."""
    control = served(Inflight.begin(most), shared(room), answers=30, rng=random.Random(seed), room=room)
    best = min(room, most)
    assert 0.75 * best <= control.limit <= best + 1


@pytest.mark.parametrize("tells", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_a_server_that_can_do_half_as_much_is_followed_within_a_few_windows(seed: int, tells: bool) -> None:
    rng = random.Random(seed)
    room = (16, 8) if tells else (None, None)
    control = served(Inflight.begin(16), shared(16), answers=320, rng=rng, room=room[0])
    assert control.limit >= 14
    control = served(control, shared(8), answers=60, rng=rng, room=room[1])
    limits = []
    for _ in range(20):
        control = served(control, shared(8), answers=5, rng=rng, room=room[1])
        limits.append(control.limit)
    assert 6 <= statistics.fmean(limits) <= 11


def test_a_server_that_slows_down_as_a_whole_is_still_used_in_full() -> None:
    """Half as fast at any number of streams: the limit is tried below once more, and comes back."""
    rng = random.Random(3)
    control = served(Inflight.begin(8), lambda n: 100.0, answers=160, rng=rng)
    control = served(control, lambda n: 50.0, answers=160, rng=rng)
    assert control.limit == 8


def test_the_timing_model_uses_what_it_may() -> None:
    """On the modelled GPU more streams always write more; within 5 % of the most is enough."""
    times = Scenario().generator
    for most in (2, 4, 8):
        control = served(Inflight.begin(most), times.stream_speed, answers=200, rng=random.Random(most))
        assert control.limit == most


def test_too_few_in_flight_say_nothing() -> None:
    control = Inflight.begin(8)
    for _ in range(100):
        control = control.answered(TimedAnswer(1000, 500.0, 2.0))
    assert control == Inflight.begin(8)


def test_what_the_server_says_that_it_runs_is_an_upper_limit() -> None:
    control = Inflight.begin(16).looked(ServerQueue(3, 0, room=4))
    assert (control.limit, control.most) == (4, 4)
    assert control.why == ""


def test_requests_from_before_a_lower_limit_say_nothing_about_it() -> None:
    control = Inflight.begin(6)
    for ours, waiting in ((6, 4), (6, 4), (5, 3), (4, 2), (3, 1)):
        control = control.looked(ServerQueue(ours, waiting, room=2))
    assert control.limit == 2
    for _ in range(2):
        control = control.looked(ServerQueue(2, 1))
    assert control.limit == 1, "one of two waits, though no more are sent"


def test_nobody_may_allow_nothing() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Inflight.begin(0)
