"""When to swap. Pure: one answer for one snapshot.

Collation, for one GPU that holds one role at a time: the loaded model stays while it has anything to do; then the other one is
loaded at once, where something waits for it.

1. The reviewer is due when something waits for it and it may be tried, and one of these holds: the developer asked for a
   review now (`hurry`), or escalated a proposal; nothing is left to write (and, where `quiet` is set, no task came for that
   long); or, while new work keeps coming, a bound of `[batch]` is reached: `target` wait, or the oldest has waited for as
   long as it may: `max_wait`, a quarter of it for each step of priority, and less for a change whose writer was unsure of it
   (`longest_wait`). Under `until` no bound cuts a batch short: the developer is away and waits for the whole, and each cut
   would cost a round trip.
2. The generator is due when the reviewer has read everything that waited and something is left to write. Revisions and
   repairs are part of that: they are written with the tasks that came meanwhile. Under `until="reviewed"` a revision alone
   is no reason to swap back.
3. Once a swap is due, the role that holds the GPU gets no new work except repairs of answers whose checks failed; the few items
   of the reviewer's exam that its reviews have paid for; and, unless the developer is in a hurry, readings of its own
   changes where these are asked for (once a proposal, so they end). The swap is made when nothing of that role is running.
   Tasks in `checking` hold it, each for at most `HOLD_SECONDS` from when it entered that state.
4. When no role holds the GPU, the generator is loaded if there is something to write, else the reviewer when due. A role
   whose server died (`lost`) and that has something to do is loaded before the other one: while it may not be tried
   yet, nothing is.
5. A role that the developer requests (`wanted`) is loaded as soon as 3 allows, whatever else is due, and keeps the GPU until
   `held_until` unless a review is asked for.
6. A role that cannot answer is never swapped to.

The bound: in a session under `until` that starts with the generator resident and is neither hurried nor given new tasks, and
whose checks end within the hold, at most 2·r + 1 swaps are made, r being the largest round begun. Proof: the generator is
left only when it has nothing left to write (1), the reviewer only when it has nothing left to read (2). So when the reviewer
is left for the k-th time every task still in the loop is in `revising` for round k or later, and there are at most r such
returns; each is followed by one swap to the reviewer, and one more went before the first. A start with the other role
resident, or with none, adds one; each hurry or escalation, new attempt or longer check at most one round trip.

No thrashing: the reviewer is left only for something to write, with nothing left to read, and the generator only for something to
read: each round trip writes or reviews at least one round of a task. So a session makes at most two swaps for each round of each
task, and none while nothing comes.

Age: a proposal waits for its swap at most its `longest_wait`, and then for what is running, repairs and `HOLD_SECONDS`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from navigator.model.snapshot import SchedulerSnapshot, TaskView
from navigator.model.states import Phase, Role, TaskState

PRIORITY_STEP = 4.0
"""By how much each step of priority, two at most, shortens the longest wait for a review."""


@dataclass(frozen=True, slots=True)
class SwapDecision:
    """A swap that is due. `ready` is false while the loaded role still has running work."""

    to: Role
    ready: bool


def longest_wait(snapshot: SchedulerSnapshot, task: TaskView) -> float:
    """Seconds that the task may wait for the reviewer while the generator has something to write."""
    seconds = snapshot.batch.max_wait / PRIORITY_STEP ** max(0, min(2, task.priority))
    doubt = snapshot.doubt
    return seconds / doubt.above if doubt is not None and task.doubt > doubt.bits else seconds


def latest_review(snapshot: SchedulerSnapshot) -> float:
    """The monotonic second from which something has waited too long for the reviewer; infinity where nothing waits."""
    return min(
        (task.since + longest_wait(snapshot, task) for task in reviewer_work(snapshot)), default=math.inf
    )


def decide_swap(snapshot: SchedulerSnapshot, now: float) -> SwapDecision | None:
    """The swap that is due at `now` (a monotonic second), or None when residency stays as it is."""
    if snapshot.both_resident or snapshot.swapping_to is not None or snapshot.swaps_left == 0:
        return None
    if snapshot.wanted not in (None, snapshot.resident) and may_be_tried(snapshot, snapshot.wanted, now):
        return _ready(snapshot, snapshot.wanted, now)
    if snapshot.resident is None:
        return _first_load(snapshot, now)
    if now < snapshot.held_until and not hurried(snapshot):
        return None
    if snapshot.resident is Role.REVIEWER:
        return _ready(snapshot, Role.GENERATOR, now) if _generator_due(snapshot, now) else None
    return _ready(snapshot, Role.REVIEWER, now) if reviewer_due(snapshot, now) else None


def may_swap(snapshot: SchedulerSnapshot) -> bool:
    """Whether this session can still change residency at all."""
    return not snapshot.both_resident and snapshot.swaps_left != 0


def _ready(snapshot: SchedulerSnapshot, to: Role, now: float) -> SwapDecision:
    resident = snapshot.resident
    idle = resident is None or requests_running(snapshot, resident) == 0
    waited_for = _repairs_left(snapshot)
    if resident is Role.REVIEWER:
        waited_for = waited_for or exam_left(snapshot, now)
    # What has its review may become a revision, never a review: only a swap to the reviewer is worth holding for it.
    held = [
        task
        for task in checks_holding(snapshot, now)
        if to is Role.REVIEWER or task.standing.phase is Phase.CHECK
    ]
    return SwapDecision(to, ready=idle and not held and not waited_for)


def is_repair(snapshot: SchedulerSnapshot, task: TaskView) -> bool:
    """A task in `generating` that no stage holds: its checks failed, and its writer is to mend it."""
    return task.state is TaskState.GENERATING and task.id not in snapshot.busy


def _repairs_left(snapshot: SchedulerSnapshot) -> bool:
    """Whether the role that holds the GPU has an answer to mend before it goes."""
    if snapshot.resident is None:
        return False
    return any(is_repair(snapshot, task) for task in writes_left(snapshot, snapshot.resident))


def reviewer_due(snapshot: SchedulerSnapshot, now: float) -> str:
    """Why the reviewer is due, in words; "" while it is not."""
    waiting = reviewer_work(snapshot)
    if not waiting or not may_be_tried(snapshot, Role.REVIEWER, now):
        return ""
    if why := hurried(snapshot):
        return why
    written_out = not writes_left(snapshot, Role.GENERATOR) and not checks_holding(snapshot, now)
    if snapshot.until:
        return "nothing is left to write" if written_out else ""
    batch = snapshot.batch
    if len(waiting) >= batch.target:
        return f"{len(waiting)} wait, and {batch.target} are a batch"
    if now >= latest_review(snapshot):
        return f"the oldest has waited {minutes(now - min(task.since for task in waiting))}"
    if written_out and now >= snapshot.last_arrival + batch.quiet:
        quiet = f", and no task came for {minutes(batch.quiet)}" if batch.quiet else ""
        return f"nothing is left to write{quiet}"
    return ""


def minutes(seconds: float) -> str:
    """`3 min`, or seconds where it is less than one."""
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def _generator_due(snapshot: SchedulerSnapshot, now: float) -> bool:
    if reviewer_work(snapshot) or not may_be_tried(snapshot, Role.GENERATOR, now):
        return False
    return bool(work_for(snapshot, Role.GENERATOR))


def _first_load(snapshot: SchedulerSnapshot, now: float) -> SwapDecision | None:
    lost = snapshot.lost
    if lost is not None and work_for(snapshot, lost):
        return SwapDecision(lost, ready=True) if may_be_tried(snapshot, lost, now) else None
    to_write = work_for(snapshot, Role.GENERATOR)
    if to_write and may_be_tried(snapshot, Role.GENERATOR, now):
        return SwapDecision(Role.GENERATOR, ready=True)
    # Where the generator cannot be loaded, there is nothing better to do with an empty GPU than to review.
    instead = to_write and reviewer_work(snapshot) and may_be_tried(snapshot, Role.REVIEWER, now)
    return SwapDecision(Role.REVIEWER, ready=True) if instead or reviewer_due(snapshot, now) else None


# When the reviewer's exam goes on. Pure.
#
# An item is asked only of a reviewer that is loaded anyway, in a slot that no review needs, and as often as `ExamView.room` says;
# so a swap waits for a few items at most: no reviews, no room. One that the developer asks for waits for nothing.


def items_with_room(share: float, reviews: int, calls: int, exam: int, before: int) -> int:
    """How many items the share of a residency's tokens pays for, those that are being asked included.

    An item costs what a review of this residency did on average, and leaves `share` kept only if reviews took
    `(1 - share) / share` times as much. What earlier residencies left over counts for one item at most, so that batches too
    small for an item still come to one now and then.

    Args:
        share: of all tokens that the exam may take, below 1; 0 is none.
        reviews: tokens of the reviews of this residency; `calls` is how many calls they were.
        exam: tokens of the exam in this residency.
        before: tokens of reviews of earlier residencies since the last item.
    """
    if share <= 0 or not calls or not reviews:
        return 0
    price = (reviews / calls) * (1 - share) / share
    return max(0, int((min(before, price) + reviews - exam * (1 - share) / share) / price))


def exam_items(snapshot: SchedulerSnapshot, slots: int) -> tuple[int, ...]:
    """The items to ask about now.

    Args:
        slots: what the reviewer has free beside its reviews; items that are being asked take some of them.
    """
    exam = snapshot.exam
    if not exam.waiting or _called_away(snapshot):
        return ()
    allowed = max(exam.room, exam.asked)
    return exam.waiting[: max(0, min(slots - exam.running, allowed))]


def exam_left(snapshot: SchedulerSnapshot, now: float) -> bool:
    """Whether a swap away from the reviewer waits for items of its exam: those being asked, and those with room."""
    exam = snapshot.exam
    if _called_away(snapshot) or not answers(snapshot, Role.REVIEWER, now):
        return False
    return exam.running > 0 or bool(exam.waiting and max(exam.room, exam.asked) > 0)


def _called_away(snapshot: SchedulerSnapshot) -> bool:
    """Whether the developer asked for the other model: nothing of the exam is waited for then."""
    return snapshot.wanted not in (None, Role.REVIEWER)


# When the next review starts, and why then: the scheduler's own rules, followed into the future.


@dataclass(frozen=True, slots=True)
class ReviewOutlook:
    """`seconds` until the next review can start, if no task arrives: 0 when it can now, None when none is in sight.

    `why` says what starts it, in words that follow "review in 25 s: ". The swap itself is not counted. Checks that
    still run may hold it back for a few seconds more.
    """

    seconds: float | None
    why: str = ""


def outlook(snapshot: SchedulerSnapshot, now: float) -> ReviewOutlook:
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
        return ReviewOutlook(None)
    if snapshot.swaps_left is not None and snapshot.swaps_left < swaps_needed:
        return ReviewOutlook(None, "no swap is left in this session")

    reachable = max(0.0, snapshot.unreachable.get(Role.REVIEWER, now) - now)
    each = snapshot.write_seconds
    asked = hurried(snapshot)
    if (waiting or checking) and (at_once or asked):
        why = asked if asked and not at_once else "the reviewer is loaded"
        return ReviewOutlook(reachable, why)
    if snapshot.both_resident:
        return ReviewOutlook(max(reachable, each), "when the next change is written")
    held = max(reachable, snapshot.held_until - now)
    if snapshot.until:
        return ReviewOutlook(max(held, len(to_write) * each), "when everything is written")
    if why := reviewer_due(replace(snapshot, unreachable={}), now):
        return ReviewOutlook(held, why)
    moment, why = _due(snapshot, now)
    return ReviewOutlook(max(held, moment - now), why)


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


# What a snapshot means: who answers, what is left to write, what waits for the reviewer, what is running.


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
    return max(snapshot.in_flight.get(role, 0), sum(task.standing.role is role for task in busy))


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


def variants_under_way(snapshot: SchedulerSnapshot) -> frozenset[str]:
    """Groups of variants of which one is still to be written or checked: the others are read with it, in one residency.

    One that cannot be written any more in this session holds up none.
    """
    return frozenset(
        task.group
        for task in snapshot.tasks
        if task.group and task.round == 0 and not task.proving and _may_still_be_written(snapshot, task)
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
