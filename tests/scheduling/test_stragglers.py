"""Calls that run much longer than usual: put back where a swap waits for nothing else and that is cheaper, and never twice."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navigator.domain.snapshot import (
    Action,
    BatchRules,
    Prices,
    PutBack,
    SchedulerSnapshot,
    Sleep,
    SwapTo,
    TaskView,
)
from navigator.domain.states import Role, TaskState
from navigator.scheduling.next_actions import next_actions
from navigator.scheduling.rest import LATE_AGAIN_SECONDS
from navigator.scheduling.simulator.policies import contenders
from navigator.scheduling.simulator.scenario import Job, Scenario, workload
from navigator.scheduling.simulator.session import Outcome, Session, prices_of
from navigator.scheduling.stragglers import expected_rest

G, R = Role.GENERATOR, Role.REVIEWER
S = TaskState
NOW = 10_000.0
USUAL = tuple(10.0 + number for number in range(20))
SLEEPERS = Prices(swap_in=5.0, swap_back=4.0)


def task(number: int, state: TaskState, **more: Any) -> TaskView:
    values = {"project_id": 1, "priority": 0, "order": number, "attempt": 1, "round": 0, "since": NOW - 500}
    return TaskView(id=f"T{number}", state=state, **{**values, **more})


def late(asked: float, **more: Any) -> SchedulerSnapshot:
    """T1 has been written since `asked`, and 25 proposals wait for their review; nothing else is left to write."""
    waiting = (task(number, S.AWAITING_REVIEW) for number in range(2, 27))
    values: dict[str, Any] = {
        "tasks": (task(1, S.GENERATING, asked=asked), *waiting),
        "busy": frozenset({"T1"}),
        "in_flight": {G: 1},
        "resident": G,
        "capacity": {G: 8, R: 8},
        "prices": SLEEPERS,
        "call_seconds": {G: USUAL},
    }
    return SchedulerSnapshot(**{**values, **more})


LONG = 200.0
T1, *WAITING = late(NOW - LONG).tasks


@pytest.mark.parametrize(
    ("why", "snapshot", "put_back"),
    [
        ("nearly ten times as long as usual, and 25 wait", late(NOW - LONG), True),
        ("as long as others", late(NOW - 25), False),
        ("swaps that cost more than the wait", late(NOW - LONG, prices=Prices(800, 800)), False),
        ("too few calls to say what is usual", late(NOW - LONG, call_seconds={G: USUAL[:9]}), False),
        ("nothing measured", late(NOW - LONG, call_seconds={}), False),
        ("put back before", late(NOW - LONG, tasks=(replace(T1, put_back=1), *WAITING)), False),
        ("the session is to end soon, and starting anew ends it later", late(NOW - LONG, until="idle"), False),
        ("an answer is there already", late(NOW - LONG, tasks=(replace(T1, asked=None), *WAITING)), False),
        ("nothing waits for the other model", late(NOW - LONG, tasks=(T1,)), False),
        ("something is left to write", late(NOW - LONG, tasks=(T1, task(40, S.QUEUED), *WAITING[:3]), capacity={G: 1}), False),
        ("the reviewer cannot be loaded", late(NOW - LONG, unreachable={R: math.inf}), False),
        ("no swap is left", late(NOW - LONG, swaps_left=0), False),
    ],
)  # fmt: skip
def test_when_a_call_is_put_back(why: str, snapshot: SchedulerSnapshot, put_back: bool) -> None:
    actions = next_actions(snapshot, NOW)
    assert (PutBack("T1") in actions) is put_back, why
    if put_back:
        assert actions == (PutBack("T1"),)


def test_while_a_call_is_late_it_is_asked_again_soon() -> None:
    """Nothing happens by itself: the clock has to ask."""
    few = late(NOW - 45, tasks=late(NOW - 45).tasks[:3])
    (asleep,) = next_actions(few, NOW)
    assert asleep == Sleep(NOW + LATE_AGAIN_SECONDS)
    early = late(NOW - 20)
    (asleep,) = next_actions(early, NOW)
    assert asleep == Sleep(NOW - 20 + 2 * 19.5)


def test_what_was_put_back_waits_for_the_swap_and_for_nothing_else() -> None:
    back = late(NOW, tasks=(task(1, S.QUEUED), *late(NOW).tasks[1:]), busy=frozenset(), in_flight={})
    assert next_actions(replace(back, deferred=frozenset({"T1"})), NOW) == (SwapTo(R),)
    gone = replace(back, deferred=frozenset({"T1"}), unreachable={R: math.inf})
    assert [type(action).__name__ for action in next_actions(gone, NOW)] == ["Generate"], (
        "no swap is due any more"
    )


@given(st.lists(st.floats(0.1, 1e4), min_size=10, max_size=50), st.floats(0, 1e5))
def test_what_is_left_of_a_call_is_never_less_than_nothing(took: list[float], elapsed: float) -> None:
    assert 0 <= expected_rest(took, elapsed) <= max(*took, elapsed)


def played(
    scenario: Scenario, jobs: list[Job], *, never: bool, until: str = "idle"
) -> tuple[Outcome, Counter[str]]:
    navigator = contenders(BatchRules())[0]
    backs: Counter[str] = Counter()

    def policy(snapshot: SchedulerSnapshot, now: float) -> tuple[Action, ...]:
        seen = replace(snapshot, call_seconds={}) if never else snapshot
        actions = tuple(navigator.policy(seen, now))
        backs.update(action.task_id for action in actions if isinstance(action, PutBack))
        return actions

    session = Session(scenario, jobs, policy, navigator.rules, prices_of(scenario), until)
    return session.run(), backs


def test_a_runaway_answer_does_not_hold_a_batch() -> None:
    """One of 40 answers is 30 times as long as the others; the models are asleep in memory, so a swap takes seconds."""
    scenario = Scenario(
        tasks=40, spread=0.3, revise_rate=0.35, swap_in=5.0, swap_back=4.0, check_seconds=1.0, seed=3
    )
    jobs = workload(scenario)
    first = jobs[20].writes[0]
    jobs[20] = replace(jobs[20], writes=(replace(first, tokens=60_000.0), *jobs[20].writes[1:]))
    (held, none), (left, backs) = (played(scenario, jobs, never=never, until="") for never in (True, False))
    assert (none, backs) == (Counter(), Counter({"T21": 1}))
    assert left.mean_wait < 0.85 * held.mean_wait
    # Written from its beginning again, beside few others: whoever waits for the whole session does better to wait.
    assert left.makespan > held.makespan
    assert played(scenario, jobs, never=False, until="idle")[1] == Counter()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    spread=st.sampled_from((0.5, 1.0, 1.5)),
    swap=st.sampled_from((2.0, 5.0, 42.7)),
    until=st.sampled_from(("idle", "")),
)
def test_it_ends_every_task_and_puts_each_back_at_most_once(
    seed: int, spread: float, swap: float, until: str
) -> None:
    scenario = Scenario(tasks=30, spread=spread, swap_in=swap, swap_back=0.77 * swap, hours=0.5, seed=seed)
    if not until:
        scenario = replace(scenario, arrivals="steady")
    jobs = workload(scenario)
    outcome, backs = played(scenario, jobs, never=False, until=until)
    assert not backs or max(backs.values()) == 1
    without, _ = played(scenario, jobs, never=True, until=until)
    assert backs or outcome.makespan == pytest.approx(without.makespan), (
        "what is not put back changes nothing"
    )
