"""What a snapshot means: who answers, what is left to write, what waits for the reviewer, what is running.

Pure functions over `SchedulerSnapshot`, shared by the choice of actions and by the forecast of the next review.
"""

from __future__ import annotations

import math

from navigator.model.snapshot import SchedulerSnapshot, TaskView
from navigator.model.states import Phase, Role, TaskState

CHECKS_AT_ONCE = 4
"""Checks that may run together: they are CPU work, and the GPU's feeder needs the CPU too."""

FILES_HELD_SECONDS = 75.0
"""How long a task in `checking` keeps others from the files that it names, counted from when it entered that state."""

HOLD_SECONDS = 5.0
"""How long running checks hold up a swap, counted from when their task entered `checking`: those without tests end within it, and
their repair costs no round trip of its own. Tests go on while the models are swapped."""


def may_be_tried(snapshot: SchedulerSnapshot, role: Role, now: float) -> bool:
    """Whether the role may be called, or swapped to, at `now`."""
    return now >= snapshot.unreachable.get(role, -math.inf)


def given_up(snapshot: SchedulerSnapshot, role: Role) -> bool:
    """Whether nothing more is expected of the role in this session."""
    if role is Role.FINAL and not (snapshot.final_enabled or final_reviews(snapshot)):
        return True
    return snapshot.unreachable.get(role) == math.inf


def final_reviews(snapshot: SchedulerSnapshot) -> list[TaskView]:
    """What the final model is to read: everything that the reviewer is done with where it is on, else what was escalated."""
    waiting = [task for task in snapshot.tasks if task.state is TaskState.FINAL_REVIEW]
    return [task for task in waiting if snapshot.final_enabled or task.escalated]


def hurried(snapshot: SchedulerSnapshot) -> str:
    """Why the reviewer is to come at once: the developer asked for a review now, or for one proposal's; "" otherwise."""
    if snapshot.hurry:
        return "you asked for a review"
    asked = next((task for task in reviewer_work(snapshot) if task.escalated), None)
    return f"you asked for the review of {asked.id}" if asked else ""


def answers(snapshot: SchedulerSnapshot, role: Role, now: float) -> bool:
    """Whether a request to the role would be answered now."""
    if given_up(snapshot, role) or not may_be_tried(snapshot, role, now):
        return False
    if role is Role.FINAL or snapshot.both_resident:
        return True
    return snapshot.swapping_to is None and snapshot.resident is role


def requests_running(snapshot: SchedulerSnapshot, role: Role) -> int:
    """Requests of the role under way, or about to be: a busy task may still be gathering its context."""
    busy = (task for task in snapshot.tasks if task.id in snapshot.busy)
    return max(snapshot.in_flight.get(role, 0), sum(role_of(task) is role for task in busy))


def role_of(task: TaskView) -> Role | None:
    """The role that the task waits for or is with; None where it needs no model now."""
    return task.standing.role


def written_by(task: TaskView) -> Role | None:
    """The role that is to write it, or writes it; None where that is done, or not begun."""
    return task.standing.role if task.standing.phase is Phase.WRITE else None


def free_slots(snapshot: SchedulerSnapshot, role: Role) -> int:
    """How many more requests the role takes; a role without a stated capacity takes one at a time."""
    return max(0, snapshot.capacity.get(role, 1) - requests_running(snapshot, role))


def writes_left(snapshot: SchedulerSnapshot, role: Role) -> list[TaskView]:
    """Tasks that the role has yet to write or is writing; none once the role is given up."""
    if given_up(snapshot, role):
        return []
    return [task for task in snapshot.tasks if written_by(task) is role]


def work_for(snapshot: SchedulerSnapshot, role: Role) -> list[TaskView]:
    """What the role is loaded for: under `until="reviewed"` a revision alone is no reason to load the generator."""
    if role is Role.REVIEWER:
        return reviewer_work(snapshot)
    left = writes_left(snapshot, role)
    if snapshot.until == "reviewed" and snapshot.resident is not role and not snapshot.both_resident:
        return [task for task in left if task.round == 0]
    return left


def self_reviews(snapshot: SchedulerSnapshot, role: Role) -> list[TaskView]:
    """Proposals that the role wrote and has yet to review itself before it is swapped out; a running review is not among them."""
    return [
        task
        for task in snapshot.tasks
        if task.own_due
        and task.writer is role
        and task.state is TaskState.AWAITING_REVIEW
        and task.id not in snapshot.busy
    ]


def variants_under_way(snapshot: SchedulerSnapshot) -> frozenset[str]:
    """Groups of variants of which one is still to be written or checked: the others are read with it, in one residency.

    One that cannot be written any more in this session holds up none.
    """
    return frozenset(
        task.group
        for task in snapshot.tasks
        if task.group and task.round == 0 and not task.reviewed and _may_still_be_written(snapshot, task)
    )


def _may_still_be_written(snapshot: SchedulerSnapshot, task: TaskView) -> bool:
    if task.state is TaskState.CHECKING:
        return True
    if written_by(task) is None or given_up(snapshot, task.writer):
        return False
    at_hand = snapshot.both_resident or snapshot.resident is task.writer or task.writer is Role.FINAL
    return at_hand or snapshot.swaps_left != 0


def reviewable(snapshot: SchedulerSnapshot) -> list[TaskView]:
    """Proposals that are read now, or could be: those that wait for other variants are not among them."""
    held = variants_under_way(snapshot)
    return [
        task
        for task in snapshot.tasks
        if task.standing.phase is Phase.REVIEW
        and (task.group not in held or task.escalated or task.round > 0 or task.state is TaskState.REVIEWING)
    ]


def reviewer_work(snapshot: SchedulerSnapshot) -> list[TaskView]:
    """What waits for the reviewer's residency: proposals to read, and tasks that it writes itself."""
    if given_up(snapshot, Role.REVIEWER):
        return []
    return reviewable(snapshot) + writes_left(snapshot, Role.REVIEWER)


def checks_holding(snapshot: SchedulerSnapshot, now: float, seconds: float = HOLD_SECONDS) -> list[TaskView]:
    """Tasks that entered `checking` less than so many seconds ago. A swap waits for them: a failure goes back to the model that
    wrote."""
    return [
        task for task in snapshot.tasks if task.state is TaskState.CHECKING and now < task.since + seconds
    ]
