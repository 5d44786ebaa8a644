"""What the conductor does next: a pure function of the current state.

The conductor starts what is named here, marks each named task busy before it yields, records what came of
it, and asks again; so nothing is remembered between two calls and a restart needs no more than the store.

What is named, in this order, and never for a task in `busy`:

- `Land` for approved tasks whose landing is due, `Renew` for stale ones: neither needs a model.
- `Check` for tasks in `checking`, at most `CHECKS_AT_ONCE` at a time. Checks continue during a swap.
- `Generate` for what the role that answers has to write, up to its capacity: first answers to repair
  (`generating`, held by no stage), then by priority, revisions before new tasks, then in the order the
  tasks came, except that a task whose project is being written may overtake `MAY_OVERTAKE` older ones: the
  prompts of one project share their beginning, which the server then has in its cache. A task whose
  `writer` is the reviewer waits for that residency, and is written before the reviews, so that its checks run beside them.
- `ReviewTask` for proposals that wait, up to the slots that are left, escalated ones first, by priority and then project by
  project, because the prompts of one project share their beginning; the project and the proposal that their writer was least sure
  of come first. `FinalReview` where the cloud model is
  enabled, and for escalated proposals.
  Variants of one task are read once all of them are written and checked, so that one residency reads them all.
- `AskExam` for items of the reviewer's exam, in the slots that reviews leave free; real work never counts an item as
  taking a slot, and the conductor cuts one off where a server would have too many.
- `SwapTo` when `navigator.schedule.swap_rule` says that a swap is due and the loaded role is idle.
- else `Sleep` until the clock alone may change the answer, or `Stop` when nothing can progress.

Tasks whose named files meet, within one project, are written one after the other: a task in `queued` or
`revising` is not started while another one that names one of its files is being written (picked by a stage,
or a repair whose writer answers now) or is in `checking` and entered it less than `FILES_HELD_SECONDS`
ago. Once that one awaits its review the next may be written: holding it back until after the review would
put each further task of such a chain into a residency of its own, and the swaps of a session would grow
with its tasks. This cannot
deadlock: only a task held by a stage, a repair that can be made now, or a young check holds another
back; none of these is held back itself, so each ends. A repair that waits for another residency holds
nothing.

`Stop` is for a session with `until` (or one that has used up `swaps_left`): it is named when nothing is
running, no action is possible and no clock will change that. `until="idle"` ends when no task in the loop can
progress; `until="reviewed"` also ends when the only ones left are revisions that would need another swap
back to the generator. An unreachable role is waited for; one that is unreachable until infinity is given
up, and what needs it cannot progress.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from navigator.model.snapshot import (
    Action,
    AskExam,
    FinalReview,
    Generate,
    Land,
    Renew,
    ReviewTask,
    RunChecks,
    SchedulerSnapshot,
    Sleep,
    Stop,
    SwapTo,
    TaskView,
)
from navigator.model.states import LOOP_TASK_STATES, Role, TaskState
from navigator.schedule.swap_rule import (
    CHECKS_AT_ONCE,
    FILES_HELD_SECONDS,
    HOLD_SECONDS,
    SwapDecision,
    answers,
    checks_holding,
    decide_swap,
    exam_items,
    final_reviews,
    free_slots,
    given_up,
    is_repair,
    latest_review,
    may_swap,
    reviewable,
    reviewer_work,
    work_for,
    writes_left,
    written_by,
)


def next_actions(snapshot: SchedulerSnapshot, now: float) -> tuple[Action, ...]:
    """What to start now; never empty.

    Args:
        snapshot: what is true.
        now: the monotonic second that `since`, `last_arrival` and `unreachable` are measured on.
    """
    decision = decide_swap(snapshot, now)
    actions = [*_without_models(snapshot), *_with_models(snapshot, decision, now)]
    if decision is not None and decision.ready:
        actions.append(SwapTo(decision.to))
    return tuple(actions) or (rest(snapshot, now),)


def first_after_swap(snapshot: SchedulerSnapshot, to: Role, now: float) -> list[Generate | ReviewTask]:
    """What `to` is asked first once it is loaded: twice as much as it may have in flight, if nothing else changes."""
    room = {**snapshot.capacity, to: 2 * snapshot.capacity.get(to, 1)}
    loaded = replace(
        snapshot, resident=to, swapping_to=None, both_resident=False, capacity=room, unreachable={}
    )
    actions = _with_models(loaded, None, now)
    return [action for action in actions if isinstance(action, Generate | ReviewTask)]


def _without_models(snapshot: SchedulerSnapshot) -> Iterator[Action]:
    for task in _free(snapshot, TaskState.APPROVED):
        if task.landing_due:
            yield Land(task.id)
    for task in _free(snapshot, TaskState.STALE):
        yield Renew(task.id)
    running = sum(task.state is TaskState.CHECKING and task.id in snapshot.busy for task in snapshot.tasks)
    waiting = sorted(
        _free(snapshot, TaskState.CHECKING), key=lambda task: (-task.priority, task.since, task.order)
    )
    for task in waiting[: max(0, CHECKS_AT_ONCE - running)]:
        yield RunChecks(task.id)


def _with_models(snapshot: SchedulerSnapshot, decision: SwapDecision | None, now: float) -> Iterator[Action]:
    taken = _taken_files(snapshot, now)
    for role in Role:
        if not answers(snapshot, role, now):
            continue
        slots = free_slots(snapshot, role)
        leaving = decision is not None and snapshot.resident is role
        writes = _writes(snapshot, role, slots, taken, repairs_only=leaving)
        yield from (Generate(task.id) for task in writes)
        slots -= len(writes)
        if role is Role.REVIEWER:
            begun = [] if leaving else _reviews(snapshot)[: max(0, slots)]
            yield from (ReviewTask(task.id) for task in begun)
            yield from (AskExam(item) for item in exam_items(snapshot, slots - len(begun)))
        if role is Role.FINAL:
            last = sorted(
                (task for task in final_reviews(snapshot) if task.id not in snapshot.busy),
                key=lambda task: (not task.escalated, -task.priority, task.order),
            )
            yield from (FinalReview(task.id) for task in last[:slots])


MAY_OVERTAKE = 100
"""A task is never written after one of the same priority that came more than this many tasks later: no project starves."""

_Taken = defaultdict[int, dict[str, str]]
"""Project id -> the files named by tasks that are being written, each with the group or the task that names it."""


def _writes(
    snapshot: SchedulerSnapshot, role: Role, slots: int, taken: _Taken, *, repairs_only: bool
) -> list[TaskView]:
    """The tasks that `role` starts to write now, at most `slots` of them, whose files join `taken`."""
    chosen: list[TaskView] = []
    for task in _in_turn(snapshot, role) if slots else ():
        if len(chosen) == slots:
            break
        if is_repair(snapshot, task):
            chosen.append(task)
            continue
        if repairs_only or _meets(task, taken):
            continue
        _take(task, taken)
        chosen.append(task)
    return chosen


def _take(task: TaskView, taken: _Taken) -> None:
    taken[task.project_id] |= dict.fromkeys(task.files, task.group or task.id)


def _meets(task: TaskView, taken: _Taken) -> bool:
    """Whether a task names a file that another one is changing. Variants of one task do not hold each other up."""
    mine = task.group or task.id
    held = taken[task.project_id]
    return any(held.get(file, mine) != mine for file in task.files)


def _in_turn(snapshot: SchedulerSnapshot, role: Role) -> Iterator[TaskView]:
    """What the role has to write, in its order; a project whose prompt the server has just read is preferred a little."""
    writes = sorted(
        (task for task in snapshot.tasks if written_by(task) is role), key=lambda task: task.order
    )
    left = {task.id: task for task in writes if task.id not in snapshot.busy}
    begun = (task for task in snapshot.tasks if task.id in snapshot.busy and task.writer is role)
    warm = {task.project_id for task in begun if written_by(task) or task.state is TaskState.CHECKING}

    def turn(task: TaskView) -> tuple[bool, int, bool, int]:
        return (
            task.state is not TaskState.GENERATING,
            -task.priority,
            task.state is not TaskState.REVISING,
            task.order - (MAY_OVERTAKE if task.project_id in warm else 0),
        )

    while left:
        first = min(left.values(), key=turn)
        del left[first.id]
        warm.add(first.project_id)
        yield first


def _taken_files(snapshot: SchedulerSnapshot, now: float) -> _Taken:
    """The files of tasks whose writing is under way: no task that names one of them is begun beside it."""
    taken: _Taken = defaultdict(dict)
    for task in snapshot.tasks:
        if not task.files:
            continue
        picked = written_by(task) is not None and task.id in snapshot.busy
        if picked or (is_repair(snapshot, task) and answers(snapshot, task.writer, now)):
            _take(task, taken)
    for task in checks_holding(snapshot, now, FILES_HELD_SECONDS):
        _take(task, taken)
    return taken


def _reviews(snapshot: SchedulerSnapshot) -> list[TaskView]:
    waiting = [task for task in reviewable(snapshot) if task.id not in snapshot.busy]
    doubts: defaultdict[int, float] = defaultdict(float)
    for task in waiting:
        doubts[task.project_id] = max(doubts[task.project_id], task.doubt)
    return sorted(
        waiting,
        key=lambda task: (
            not task.escalated,
            -task.priority,
            -doubts[task.project_id],
            task.project_id,
            -task.doubt,
            task.order,
        ),
    )


def _free(snapshot: SchedulerSnapshot, *states: TaskState) -> list[TaskView]:
    """Tasks in one of the states that no stage holds, in the order they came."""
    found = [task for task in snapshot.tasks if task.state in states and task.id not in snapshot.busy]
    return sorted(found, key=lambda task: task.order)


# When there is nothing to start: sleep until the clock may change that, or stop and say why.


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
    return bool(snapshot.until) or (snapshot.swaps_left == 0 and _left(snapshot) > 0)


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
        stuck = sum(task.standing.role is role for task in snapshot.tasks)
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
