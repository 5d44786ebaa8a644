"""When there is nothing to start: sleep until the clock may change that, or stop and say why."""

from __future__ import annotations

import math
from collections.abc import Iterator

from navigator.model.snapshot import SchedulerSnapshot, Sleep, Stop
from navigator.model.standing import LOOP_TASK_STATES
from navigator.model.states import Role, TaskState
from navigator.schedule.swap_rule import latest_review, may_swap
from navigator.schedule.view import (
    FILES_HELD_SECONDS,
    HOLD_SECONDS,
    final_reviews,
    given_up,
    reviewer_work,
    role_of,
    work_for,
    writes_left,
)

_NAMES = {Role.GENERATOR: "generator", Role.REVIEWER: "reviewer", Role.FINAL: "final reviewer"}


def rest(snapshot: SchedulerSnapshot, now: float) -> Sleep | Stop:
    """`Sleep` to the next moment at which the clock alone changes the answer, or `Stop` when there is none.

    A conductor that stays (`until` empty) sleeps for ever, which is infinity, unless it has used up its swaps and what is
    left needs one. Whoever looks more often bounds it.
    """
    wake = min((second for second in _moments(snapshot) if second > now), default=math.inf)
    if wake == math.inf and _nothing_running(snapshot) and _session_ends(snapshot):
        return Stop(_reason(snapshot))
    return Sleep(wake)


def _nothing_running(snapshot: SchedulerSnapshot) -> bool:
    running = any(snapshot.in_flight.values()) or snapshot.exam.running
    return not snapshot.busy and not running and snapshot.swapping_to is None


def _session_ends(snapshot: SchedulerSnapshot) -> bool:
    if snapshot.until:
        return True
    return snapshot.swaps_left == 0 and bool(_left(snapshot))


def _moments(snapshot: SchedulerSnapshot) -> Iterator[float]:
    """The monotonic seconds at which some rule may change its mind, past ones included."""
    for role, second in snapshot.unreachable.items():
        if second != math.inf and _needs(snapshot, role):
            yield second
    for task in snapshot.tasks:
        if task.state is TaskState.CHECKING:
            yield task.since + FILES_HELD_SECONDS
            yield task.since + HOLD_SECONDS
    yield snapshot.held_until
    if snapshot.until or not may_swap(snapshot) or snapshot.resident is Role.REVIEWER:
        return
    if reviewer_work(snapshot):
        yield latest_review(snapshot)
        yield snapshot.last_arrival + snapshot.batch.quiet


def _needs(snapshot: SchedulerSnapshot, role: Role) -> bool:
    """Whether something would be started if the role could be tried."""
    if role is Role.FINAL:
        return not given_up(snapshot, role) and (
            bool(final_reviews(snapshot)) or bool(writes_left(snapshot, role))
        )
    here = snapshot.both_resident or snapshot.resident is role
    return (here or may_swap(snapshot)) and bool(work_for(snapshot, role))


def _left(snapshot: SchedulerSnapshot) -> int:
    """How many tasks the loop has not done with."""
    return sum(task.state in LOOP_TASK_STATES for task in snapshot.tasks)


def _reason(snapshot: SchedulerSnapshot) -> str:
    """Why the session ends, in one sentence for people."""
    left = _left(snapshot)
    if not left:
        said = [f"{snapshot.for_you} {_wait(snapshot.for_you)} for you"] if snapshot.for_you else []
        said += [f"{_tasks(snapshot.blocked)} for other tasks to land"] if snapshot.blocked else []
        return f"{'; '.join(said) or 'Nothing is left to do'}."

    for role, name in _NAMES.items():
        stuck = sum(role_of(task) is role for task in snapshot.tasks)
        if stuck and given_up(snapshot, role):
            off = role is Role.FINAL and not snapshot.final_enabled
            why = "is not enabled" if off else "cannot be used"
            return f"The {name} {why}; {_tasks(stuck)} for it."
    if snapshot.swaps_left == 0:
        return f"No swap is left in this session; {_tasks(left)} for the other model."
    if snapshot.until == "reviewed":
        return f"Everything has had its review; {_tasks(left)} to be revised in another session."
    return f"Nothing can progress; {_tasks(left)} in the queue."


def _tasks(count: int) -> str:
    return f"{count} task{'s' if count != 1 else ''} {_wait(count)}"


def _wait(count: int) -> str:
    return "waits" if count == 1 else "wait"
