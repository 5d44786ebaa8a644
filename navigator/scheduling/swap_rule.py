"""When to swap. Pure: one answer for one snapshot.

The rules, for one GPU that holds one role at a time:

1. The reviewer is due when something waits for it and it may be tried, and one of these holds: the
   developer asked for a review now (`hurry`); nothing is left to write, and the session runs `until`
   something or no task has arrived for `batch.quiet` seconds; or, in a session that stays, `batch.target`
   wait or the oldest has waited `batch.max_wait` seconds. Under `until` the target and the longest wait do
   not cut a batch short: the developer is away and waits for the whole, and each cut would cost a round
   trip.
2. The generator is due when the reviewer has read everything that waited and something is left to write.
   Under `until="reviewed"` a revision alone is no reason to swap back.
3. Once a swap is due, the role that holds the GPU gets no new work except repairs of answers whose checks
   failed; the few items of the reviewer's exam that its reviews have paid for; and, unless the developer is in a
   hurry, readings of its own changes where these are asked for (once a proposal, so they end). The swap is made when
   nothing of that role is running. Tasks in `checking` hold it, each for at most `CHECKS_HOLD_SECONDS` from when it
   entered that state.
4. When no role holds the GPU, the generator is loaded if there is something to write, else the reviewer
   when due. A role whose server died (`lost`) and that has something to do is loaded before the other one:
   while it may not be tried yet, nothing is.
5. A role that the developer requests (`wanted`) is loaded as soon as 3 allows, whatever else is due.

The bound: in a session under `until` that starts with the generator resident and is neither hurried nor
given new tasks, and whose checks end within the hold, at most 2·r + 1 swaps are made, r being the largest
round begun. Proof: the generator is left only when it has nothing left to write (1), the reviewer only when
it has nothing left to read (2). So when the reviewer is left for the k-th time every task still in the loop
is in `revising` for round k or later, and there are at most r such returns; each is followed by one swap to
the reviewer, and one more went before the first. A start with the other role resident, or with none, adds
one; each hurry, new attempt or longer check at most one round trip.
"""

from __future__ import annotations

from dataclasses import dataclass

from navigator.domain.snapshot import SchedulerSnapshot, TaskView
from navigator.domain.states import Role, TaskState
from navigator.scheduling.exam import exam_left
from navigator.scheduling.view import (
    answers,
    checks_holding,
    first_writes,
    may_be_tried,
    oldest_wait,
    requests_running,
    reviewer_work,
    self_reviews,
    writes_left,
)


@dataclass(frozen=True, slots=True)
class SwapDecision:
    """A swap that is due. `ready` is false while the loaded role still has running work."""

    to: Role
    ready: bool


def decide_swap(snapshot: SchedulerSnapshot, now: float) -> SwapDecision | None:
    """The swap that is due at `now` (a monotonic second), or None when residency stays as it is."""
    if snapshot.both_resident or snapshot.swapping_to is not None or snapshot.swaps_left == 0:
        return None
    if snapshot.wanted not in (None, snapshot.resident) and may_be_tried(snapshot, snapshot.wanted, now):
        return _ready(snapshot, snapshot.wanted, now)
    if snapshot.resident is Role.GENERATOR:
        return _ready(snapshot, Role.REVIEWER, now) if _reviewer_due(snapshot, now) else None
    if snapshot.resident is Role.REVIEWER:
        return _ready(snapshot, Role.GENERATOR, now) if _generator_due(snapshot, now) else None
    return _first_load(snapshot, now)


def may_swap(snapshot: SchedulerSnapshot) -> bool:
    """Whether this session can still change residency at all."""
    return not snapshot.both_resident and snapshot.swaps_left != 0


def wanted_writes(snapshot: SchedulerSnapshot) -> list[TaskView]:
    """The writes that are worth loading the generator for: under `until="reviewed"` only first proposals."""
    left = writes_left(snapshot, Role.GENERATOR)
    return first_writes(left) if snapshot.until == "reviewed" else left


def _ready(snapshot: SchedulerSnapshot, to: Role, now: float) -> SwapDecision:
    resident = snapshot.resident
    idle = resident is None or requests_running(snapshot, resident) == 0
    waited_for = _repairs_left(snapshot) or _own_left(snapshot, now)
    if resident is Role.REVIEWER:
        waited_for = waited_for or exam_left(snapshot, now)
    # What has its review may become a revision, never a review: only a swap to the reviewer is worth holding for it.
    held = [task for task in checks_holding(snapshot, now) if to is Role.REVIEWER or not task.reviewed]
    return SwapDecision(to, ready=idle and not held and not waited_for)


def is_repair(snapshot: SchedulerSnapshot, task: TaskView) -> bool:
    """A task in `generating` that no stage holds: its checks failed, and its writer is to mend it."""
    return task.state is TaskState.GENERATING and task.id not in snapshot.busy


def _repairs_left(snapshot: SchedulerSnapshot) -> bool:
    """Whether the role that holds the GPU has an answer to mend before it goes."""
    if snapshot.resident is None:
        return False
    return any(is_repair(snapshot, task) for task in writes_left(snapshot, snapshot.resident))


def _own_left(snapshot: SchedulerSnapshot, now: float) -> bool:
    """Whether the role that holds the GPU, and answers, has changes of its own to read before it goes."""
    resident = snapshot.resident
    if resident is None or snapshot.hurry or not answers(snapshot, resident, now):
        return False
    return bool(self_reviews(snapshot, resident))


def _reviewer_due(snapshot: SchedulerSnapshot, now: float) -> bool:
    waiting = reviewer_work(snapshot)
    if not waiting or not may_be_tried(snapshot, Role.REVIEWER, now):
        return False
    if snapshot.hurry:
        return True
    written_out = not writes_left(snapshot, Role.GENERATOR) and not checks_holding(snapshot, now)
    if snapshot.until:
        return written_out
    if written_out and now >= snapshot.last_arrival + snapshot.batch.quiet:
        return True
    if len(waiting) >= snapshot.batch.target:
        return True
    oldest = oldest_wait(waiting)
    return oldest is not None and now >= oldest + snapshot.batch.max_wait


def _generator_due(snapshot: SchedulerSnapshot, now: float) -> bool:
    if reviewer_work(snapshot):
        return False
    return bool(wanted_writes(snapshot)) and may_be_tried(snapshot, Role.GENERATOR, now)


def _first_load(snapshot: SchedulerSnapshot, now: float) -> SwapDecision | None:
    to_write = wanted_writes(snapshot)
    if snapshot.lost is not None and (
        to_write if snapshot.lost is Role.GENERATOR else reviewer_work(snapshot)
    ):
        return SwapDecision(snapshot.lost, ready=True) if may_be_tried(snapshot, snapshot.lost, now) else None
    if to_write and may_be_tried(snapshot, Role.GENERATOR, now):
        return SwapDecision(Role.GENERATOR, ready=True)
    if not reviewer_work(snapshot) or not may_be_tried(snapshot, Role.REVIEWER, now):
        return None
    # With the generator out of reach there is nothing better to do with an empty GPU than to review.
    if to_write or _reviewer_due(snapshot, now):
        return SwapDecision(Role.REVIEWER, ready=True)
    return None
