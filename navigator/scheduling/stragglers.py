"""Calls that hold up a swap and run much longer than usual: wait for them, or put them back. Pure.

While the last answers of a role are written the GPU is nearly idle, and everything that waits for the other model waits. Put
back, a call is made again from its beginning, beside others, in the role's next phase. That costs what such a long answer
takes among others and, where nothing else would bring the role back, a round trip. What is left of a call is expected from
the calls measured: the mean of those that took longer, less what has passed; beyond all of them, as long again.

In a session that ends (`until`) the cost is a later end; in one that stays it is waiting, of what is put back against all that
waits for the other model.

A task is put back once an attempt, and only while the first answer of its stage is written: no answered call is repeated.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence
from dataclasses import replace

from navigator.domain.snapshot import SchedulerSnapshot, TaskView
from navigator.domain.states import Role, TaskState
from navigator.scheduling.swap_rule import SwapRule
from navigator.scheduling.view import requests_running, reviewer_work, writes_left

MOST_PUT_BACK = 1
LEAST_MEASURED = 10
"""Calls that have to be known of a role before any is called late."""

WORTH = 4.0
"""A call that is put back has to save so many times the waiting that it costs: what is expected of it is uncertain."""

LATE = 2.0
"""A call is late from this many medians on, and only once it took longer than any that was measured."""


def expected_rest(took: Sequence[float], elapsed: float) -> float:
    """Seconds that a call is expected to take yet, after `elapsed`."""
    longer = [seconds for seconds in took if seconds > elapsed]
    return statistics.fmean(longer) - elapsed if len(longer) >= 2 else elapsed


def late_from(snapshot: SchedulerSnapshot, task: TaskView, role: Role) -> float | None:
    """The monotonic second from which the task's call is late; None where it is not to be put back."""
    took = snapshot.call_seconds.get(role, ())
    if task.asked is None or task.put_back >= MOST_PUT_BACK or len(took) < LEAST_MEASURED:
        return None
    return task.asked + max(*took, LATE * statistics.median(took))


def stragglers(snapshot: SchedulerSnapshot, now: float, decide: SwapRule) -> list[TaskView]:
    """The tasks to put back, where a swap waits for nothing but late calls and waiting for them is dearer; else none."""
    role = snapshot.resident
    busy = [task for task in snapshot.tasks if task.id in snapshot.busy and task.asked is not None]
    if role is None or not busy or len(busy) != requests_running(snapshot, role):
        return []
    moments = [late_from(snapshot, task, role) for task in busy]
    if not all(moment is not None and moment <= now for moment in moments):
        return []
    without = decide(lacking(snapshot, {task.id for task in busy}), now)
    if without is None or not without.ready:
        return []
    took = snapshot.call_seconds[role]
    passed = [now - task.asked for task in busy if task.asked is not None]
    rests = [expected_rest(took, seconds) for seconds in passed]
    whole = [seconds + rest for seconds, rest in zip(passed, rests, strict=True)]
    cost = _session_longer if snapshot.until else _waits_longer
    return busy if cost(snapshot, role, busy, max(rests), whole) < 0 else []


def _session_longer(
    snapshot: SchedulerSnapshot, role: Role, late: Sequence[TaskView], rest: float, whole: Sequence[float]
) -> float:
    """Seconds by which the session ends later if the late calls are put back; negative: sooner.

    Made again beside others they take their share, or as long as they last beyond the others. What they lead to comes a round
    later: where that is a revision, or nothing else brings the role back, a round trip more.
    """
    took, prices = sorted(snapshot.call_seconds[role]), snapshot.prices
    left = len(writes_left(snapshot, role)) if role is Role.GENERATOR else 0
    others = max(0.0, left - len(late)) + prices.revise_rate * len(reviewer_work(snapshot))
    usual = statistics.median(took)
    beside = (
        took[min(len(took) - 1, int(len(took) * others / (others + 1)))] if others >= 1 else others * usual
    )
    share = sum(whole) / usual * (prices.review_seconds if role is Role.REVIEWER else prices.write_seconds)
    back = 1 - (1 - prices.revise_rate) ** len(late)
    alone = 1 - _comes_back(snapshot, role, {task.id for task in late})
    return max(share, max(whole) - beside) + (back + alone) * prices.round_trip - rest


def _waits_longer(
    snapshot: SchedulerSnapshot, role: Role, late: Sequence[TaskView], rest: float, whole: Sequence[float]
) -> float:
    """Seconds that all tasks together wait longer for what is put back; negative: shorter."""
    prices = snapshot.prices
    reviews = len(reviewer_work(snapshot))
    writes = len(writes_left(snapshot, Role.GENERATOR))
    waiting, work = reviews, reviews * prices.review_seconds
    if role is Role.REVIEWER:
        waiting, work = writes, writes * prices.write_seconds
    away = prices.round_trip + work
    return WORTH * sum(away + seconds for seconds in whole) - waiting * rest


def lacking(snapshot: SchedulerSnapshot, ids: Collection[str]) -> SchedulerSnapshot:
    """The same without some tasks and their requests."""
    gone = [task for task in snapshot.tasks if task.id in ids]
    flying = dict(snapshot.in_flight)
    if snapshot.resident is not None:
        held = sum(task.id in snapshot.busy for task in gone)
        flying[snapshot.resident] = max(0, flying.get(snapshot.resident, 0) - held)
    return replace(
        snapshot,
        tasks=tuple(task for task in snapshot.tasks if task.id not in ids),
        busy=snapshot.busy - frozenset(ids),
        in_flight=flying,
    )


def _comes_back(snapshot: SchedulerSnapshot, role: Role, late: set[str]) -> float:
    """How likely the role is loaded again for other work than that which is put back."""
    if role is Role.REVIEWER:
        return 1.0  # it is left only for something to write, which is to be reviewed
    if any(task.id not in late for task in writes_left(snapshot, role)):
        return 1.0
    if snapshot.until == "reviewed":
        return 0.0
    reviews = sum(task.state is not TaskState.REVISING for task in reviewer_work(snapshot))
    return 1 - (1 - snapshot.prices.revise_rate) ** reviews
