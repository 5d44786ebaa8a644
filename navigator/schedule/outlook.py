"""When the next review starts, and why then: the scheduler's own rules, followed into the future."""

from __future__ import annotations

from dataclasses import dataclass, replace

from navigator.model.snapshot import SchedulerSnapshot
from navigator.model.states import Role, TaskState
from navigator.schedule.swap_rule import latest_review, minutes, reviewer_due
from navigator.schedule.view import HOLD_SECONDS, given_up, hurried, reviewer_work, writes_left


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
    if why := reviewer_due(replace(snapshot, unreachable={}), now):
        return Outlook(held, why)
    moment, why = _due(snapshot, now)
    return Outlook(max(held, moment - now), why)


def _due(snapshot: SchedulerSnapshot, now: float) -> tuple[float, str]:
    """The second from which the reviewer is due if one change after the other is written, and why."""
    batch, each = snapshot.batch, snapshot.write_seconds
    waiting = reviewer_work(snapshot)
    left = len(writes_left(snapshot, Role.GENERATOR))
    checks = [task.since + HOLD_SECONDS for task in snapshot.tasks if task.state is TaskState.CHECKING]
    coming = len(waiting) + len(checks)
    why = f"when no task came for {minutes(batch.quiet)}" if batch.quiet else "when nothing is left to write"
    ways = [(max(now + left * each, snapshot.last_arrival + batch.quiet, *checks), why)]
    if coming + left >= batch.target:
        ways.append((now + max(0, batch.target - coming) * each, f"when {batch.target} wait"))
    if waiting:
        latest, oldest = latest_review(snapshot), min(task.since for task in waiting)
        ways.append((latest, f"when the oldest has waited {minutes(latest - oldest)}"))
    else:
        ways.append((now + each + batch.max_wait, f"when the oldest has waited {minutes(batch.max_wait)}"))
    return min(ways)
