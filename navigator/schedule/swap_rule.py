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
from navigator.schedule.view import (
    HOLD_SECONDS,
    answers,
    checks_holding,
    given_up,
    hurried,
    may_be_tried,
    requests_running,
    reviewer_work,
    self_reviews,
    work_for,
    writes_left,
)

PRIORITY_STEP = 4.0
"""By how much each step of priority, two at most, shortens the longest wait for a review."""


@dataclass(frozen=True, slots=True)
class SwapDecision:
    """A swap that is due, and why in one sentence. `ready` is false while the loaded role still has running work."""

    to: Role
    ready: bool
    why: str = ""


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
        return _ready(snapshot, snapshot.wanted, now, "you asked for it")
    if snapshot.resident is None:
        return _first_load(snapshot, now)
    if now < snapshot.held_until and not hurried(snapshot):
        return None
    to, due = (
        (Role.GENERATOR, _generator_due)
        if snapshot.resident is Role.REVIEWER
        else (Role.REVIEWER, reviewer_due)
    )
    why = due(snapshot, now)
    return _ready(snapshot, to, now, why) if why else None


def may_swap(snapshot: SchedulerSnapshot) -> bool:
    """Whether this session can still change residency at all."""
    return not snapshot.both_resident and snapshot.swaps_left != 0


def _ready(snapshot: SchedulerSnapshot, to: Role, now: float, why: str) -> SwapDecision:
    resident = snapshot.resident
    idle = resident is None or requests_running(snapshot, resident) == 0
    waited_for = _repairs_left(snapshot) or _own_left(snapshot, now)
    if resident is Role.REVIEWER:
        waited_for = waited_for or exam_left(snapshot, now)
    # What has its review may become a revision, never a review: only a swap to the reviewer is worth holding for it.
    held = [
        task
        for task in checks_holding(snapshot, now)
        if to is Role.REVIEWER or task.standing.phase is Phase.CHECK
    ]
    return SwapDecision(to, ready=idle and not held and not waited_for, why=why)


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
    if resident is None or hurried(snapshot) or not answers(snapshot, resident, now):
        return False
    return bool(self_reviews(snapshot, resident))


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


def _generator_due(snapshot: SchedulerSnapshot, now: float) -> str:
    if reviewer_work(snapshot) or not may_be_tried(snapshot, Role.GENERATOR, now):
        return ""
    return "everything that waited has its review" if work_for(snapshot, Role.GENERATOR) else ""


def _first_load(snapshot: SchedulerSnapshot, now: float) -> SwapDecision | None:
    lost = snapshot.lost
    if lost is not None and work_for(snapshot, lost):
        tried = may_be_tried(snapshot, lost, now)
        return SwapDecision(lost, ready=True, why="its server died") if tried else None
    to_write = work_for(snapshot, Role.GENERATOR)
    if to_write and may_be_tried(snapshot, Role.GENERATOR, now):
        return SwapDecision(Role.GENERATOR, ready=True, why="nothing is loaded")
    why = reviewer_due(snapshot, now)
    if to_write and not why and reviewer_work(snapshot) and may_be_tried(snapshot, Role.REVIEWER, now):
        # There is nothing better to do with an empty GPU than to review.
        why = "the generator cannot be loaded"
    return SwapDecision(Role.REVIEWER, ready=True, why=why) if why else None


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


def exam_items(snapshot: SchedulerSnapshot, slots: int, leaving: object) -> tuple[int, ...]:
    """The items to ask about now.

    Args:
        slots: what the reviewer has free beside its reviews; items that are being asked take some of them.
        leaving: the swap that is due, None where none is.
    """
    exam = snapshot.exam
    if not exam.waiting or _called_away(snapshot):
        return ()
    allowed = max(exam.room, exam.asked)
    if exam.idle and leaving is None and not reviewer_work(snapshot):
        allowed = len(exam.waiting)
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
