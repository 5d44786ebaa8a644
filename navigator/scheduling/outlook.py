"""When the next review starts, and why then: the scheduler's own rules, followed into the future."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from navigator.domain.snapshot import SchedulerSnapshot, TaskView
from navigator.domain.states import Role, TaskState
from navigator.scheduling.swap_rule import latest_review, minutes, reviewer_due
from navigator.scheduling.view import HOLD_SECONDS, given_up, hurried, reviewer_work, writes_left

_FORESEEN = 200
"""Proposals that are written in the forecast at most; what comes later is no forecast."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """`seconds` until the next review can start, if no task arrives: 0 when it can now, None when none is in sight.

    `why` says what starts it, in words that follow "review in 25 s: ". The swap itself is not counted. Checks that
    still run may hold it back for a few seconds more.
    """

    seconds: float | None
    why: str = ""


def outlook(snapshot: SchedulerSnapshot, now: float) -> Outlook:
    """Follow the rules until the reviewer is due.

    Args:
        snapshot: what is true; `write_seconds` says how long a proposal takes to write.
        now: the monotonic second of the snapshot's clock.
    """
    waiting = reviewer_work(snapshot)
    checking = [task for task in snapshot.tasks if task.state is TaskState.CHECKING]
    to_write = writes_left(snapshot, Role.GENERATOR)
    at_once = snapshot.both_resident or Role.REVIEWER in (snapshot.resident, snapshot.swapping_to)
    swaps_needed = 0 if at_once and (waiting or checking or snapshot.both_resident) else 1 + at_once
    if given_up(snapshot, Role.REVIEWER) or not (waiting or checking or to_write):
        return Outlook(None)
    if snapshot.swaps_left is not None and snapshot.swaps_left < swaps_needed:
        return Outlook(None, "no swap is left in this session")

    reachable = max(0.0, snapshot.unreachable.get(Role.REVIEWER, now) - now)
    each = snapshot.write_seconds
    asked = hurried(snapshot)
    if (waiting or checking) and (at_once or asked):
        why = asked if asked and not at_once else "the reviewer is loaded"
        return Outlook(reachable, why)
    if snapshot.both_resident:
        return Outlook(max(reachable, each), "when the next change is written")
    held = max(reachable, snapshot.held_until - now)
    if snapshot.until:
        return Outlook(max(held, len(to_write) * each), "when everything is written")
    moment, why = _due(snapshot, now)
    return Outlook(max(held, moment - now, 0.0) if moment < math.inf else None, why)


def _due(snapshot: SchedulerSnapshot, now: float) -> tuple[float, str]:
    """The second at which `reviewer_due` first holds while one change after the other is written; infinity for never."""
    moment = now
    for _ in range(_FORESEEN):
        second, why = _due_without_another(snapshot, moment)
        left = [task for task in snapshot.tasks if _is_left(task)]
        if not left or second <= moment + snapshot.write_seconds:
            return second, why
        moment += snapshot.write_seconds
        done = replace(left[0], state=TaskState.AWAITING_REVIEW, since=moment)
        snapshot = replace(
            snapshot,
            tasks=tuple(done if task is left[0] else task for task in snapshot.tasks),
            busy=snapshot.busy - {done.id},
        )
    return math.inf, ""


def _is_left(task: TaskView) -> bool:
    writing = task.state in (TaskState.QUEUED, TaskState.REVISING, TaskState.GENERATING)
    return task.state is TaskState.CHECKING or (writing and task.writer is Role.GENERATOR)


def _due_without_another(snapshot: SchedulerSnapshot, now: float) -> tuple[float, str]:
    """The earliest rule of `reviewer_due`, if nothing is written any more."""
    waiting = reviewer_work(snapshot)
    if not waiting:
        return math.inf, ""
    tried = replace(snapshot, unreachable={})
    if why := reviewer_due(tried, now):
        return now, why
    latest, quiet = latest_review(snapshot), snapshot.batch.quiet
    oldest = min(task.since for task in waiting)
    ways = [(latest, f"when the oldest has waited {minutes(latest - oldest)}")]
    checks = [task.since for task in snapshot.tasks if task.state is TaskState.CHECKING]
    if not writes_left(snapshot, Role.GENERATOR):
        free = max(since + HOLD_SECONDS for since in checks) if checks else now
        why = f"when no task came for {minutes(quiet)}" if quiet else "when nothing is left to write"
        ways.append((max(free, snapshot.last_arrival + quiet), why))
    return min(ways)
