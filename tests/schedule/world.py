"""A world that does what the scheduler names: jobs end in any order, some of them badly."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from navigator.model.snapshot import (
    Action,
    BatchRules,
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
from navigator.model.states import Role, TaskState
from navigator.schedule.next_actions import next_actions
from navigator.schedule.swap_rule import CHECKS_AT_ONCE, FILES_HELD_SECONDS
from navigator.store.schema import require_transition

S = TaskState


@dataclass
class Job:
    action: Action
    task: str = ""
    role: Role | None = None


@dataclass
class Live:
    """One task as it changes."""

    id: str
    project: int
    order: int
    priority: int = 0
    files: frozenset[str] = frozenset()
    writer: Role = Role.GENERATOR
    state: TaskState = S.QUEUED
    round: int = 0
    since: float = 0.0
    repairs: int = 0
    landing_due: bool = False

    def view(self) -> TaskView:
        place = (self.id, self.project, self.state, self.priority, self.order, self.round, self.since)
        return TaskView(*place, files=self.files, writer=self.writer, landing_due=self.landing_due)


CAPACITY = {Role.GENERATOR: 3, Role.REVIEWER: 2, Role.FINAL: 1}
TERMINAL = frozenset({S.LANDED, S.REJECTED, S.FAILED, S.CANCELLED, S.UNDONE, S.DONE})


@dataclass
class World:
    """`trouble` is how many bad endings are left: without a bound no session could be asked to end."""

    rng: random.Random
    tasks: dict[str, Live]
    until: str = "idle"
    resident: Role | None = Role.GENERATOR
    both: bool = False
    final: bool = False
    trouble: int = 0
    revise: float = 0.4
    pace: float = 0.01
    quiet: float = 0.0
    calm: bool = True
    arrivals: list[Live] = field(default_factory=list)
    swaps_left: int | None = None
    now: float = 1000.0
    last_arrival: float = 1000.0
    swapping: Role | None = None
    hurry: bool = False
    jobs: list[Job] = field(default_factory=list)
    unreachable: dict[Role, float] = field(default_factory=dict)
    swaps: list[Role] = field(default_factory=list)
    largest_round: int = 0
    stopped: str = ""

    def snapshot(self) -> SchedulerSnapshot:
        flying = {role: sum(job.role is role for job in self.jobs) for role in Role}
        return SchedulerSnapshot(
            tasks=tuple(live.view() for live in self.tasks.values() if live.state not in TERMINAL),
            busy=frozenset(job.task for job in self.jobs if job.task),
            resident=None if self.swapping else self.resident,
            swapping_to=self.swapping,
            both_resident=self.both,
            capacity=CAPACITY,
            in_flight=flying,
            unreachable=self.unreachable,
            batch=BatchRules(target=4, max_wait=1800.0, quiet=self.quiet),
            until=self.until,
            swaps_left=self.swaps_left,
            hurry=self.hurry,
            last_arrival=self.last_arrival,
            final_enabled=self.final,
        )

    def run(self, limit: int = 20_000) -> None:
        """Until `Stop`, or until a world that stays has nothing left to do."""
        for _ in range(limit):
            snapshot = self.snapshot()
            actions = next_actions(snapshot, self.now)
            self.judge(snapshot, actions)
            if isinstance(actions[0], Stop):
                self.stopped = actions[0].reason
                return
            if isinstance(actions[0], Sleep):
                if not self.until and not self.jobs and not self.arrivals and self.at_rest():
                    return
                self.pass_time(actions[0])
                continue
            for action in actions:
                self.start(action)
            if self.rng.random() < 0.5:
                self.finish_one()
        raise AssertionError(f"no end after {limit} steps: {self.snapshot()}")

    def at_rest(self) -> bool:
        at_rest = TERMINAL | {S.AWAITING_APPROVAL}
        return all(live.state in at_rest for live in self.tasks.values())

    def pass_time(self, sleep: Sleep) -> None:
        assert sleep.until > self.now, "a sleep must move the clock"
        if self.arrivals and self.rng.random() < 0.5:
            self.arrive()
        elif self.jobs:
            self.finish_one()
        else:
            self.now = min(sleep.until, self.now + 60)  # as a conductor looks now and then

    def arrive(self) -> None:
        live = self.arrivals.pop()
        live.since = self.last_arrival = self.now
        self.tasks[live.id] = live

    def start(self, action: Action) -> None:
        if isinstance(action, SwapTo):
            self.swapping = action.role
            self.jobs.append(Job(action))
            self.hurry = False
            return
        assert not isinstance(action, Sleep | Stop)
        live = self.tasks[action.task_id]
        role: Role | None = None
        if isinstance(action, Generate):
            role = live.writer
            if live.state is not S.GENERATING:
                self.move(live, S.GENERATING)
        elif isinstance(action, ReviewTask):
            role = Role.REVIEWER
            if live.state is not S.REVIEWING:
                self.move(live, S.REVIEWING)
        elif isinstance(action, FinalReview):
            role = Role.FINAL
        self.jobs.append(Job(action, live.id, role))

    def move(self, live: Live, to: TaskState) -> None:
        require_transition(live.state, to, of=live.id)
        live.state = to
        live.since = self.now

    def bad(self) -> bool:
        if self.trouble <= 0 or self.rng.random() > 0.4:
            return False
        self.trouble -= 1
        return True

    def finish_one(self) -> None:
        if not self.jobs:
            return
        job = self.jobs.pop(self.rng.randrange(len(self.jobs)))
        self.now += self.rng.random() * self.pace
        action = job.action
        if isinstance(action, SwapTo):
            self.end_swap(action.role)
        elif isinstance(action, Generate):
            self.end_writing(self.tasks[job.task])
        elif isinstance(action, RunChecks):
            self.end_check(self.tasks[job.task])
        elif isinstance(action, ReviewTask):
            self.end_review(self.tasks[job.task])
        elif isinstance(action, FinalReview):
            self.move(self.tasks[job.task], S.AWAITING_APPROVAL)
        elif isinstance(action, Land):
            self.move(self.tasks[job.task], S.STALE if self.bad() else S.LANDED)
        elif isinstance(action, Renew):
            live = self.tasks[job.task]
            live.round = 0
            self.move(live, S.QUEUED)

    def end_swap(self, role: Role) -> None:
        self.swapping = None
        if not self.calm and self.bad():
            self.unreachable[role] = self.now + 30
            return
        self.swaps.append(role)
        if self.swaps_left is not None:
            self.swaps_left -= 1
        self.resident = role

    def end_writing(self, live: Live) -> None:
        if self.bad():
            self.move(live, S.REVISING if live.round else S.QUEUED)
            if not self.calm:
                self.unreachable[live.writer] = self.now + 20
        elif self.rng.random() < 0.05:
            self.move(live, S.AWAITING_APPROVAL)
        else:
            self.move(live, S.CHECKING)

    def end_check(self, live: Live) -> None:
        if live.repairs < 2 and self.rng.random() < 0.3:
            live.repairs += 1
            self.move(live, S.GENERATING)
            return
        live.repairs = 0
        self.move(live, S.AWAITING_REVIEW)

    def end_review(self, live: Live) -> None:
        if self.bad():
            self.move(live, S.AWAITING_REVIEW)
            if not self.calm and self.rng.random() < 0.3:
                self.move(live, S.STALE)
        elif live.round < 2 and self.rng.random() < self.revise:
            live.round += 1
            self.largest_round = max(self.largest_round, live.round)
            self.move(live, S.REVISING)
        elif self.final:
            self.move(live, S.FINAL_REVIEW)
        else:
            self.move(live, S.AWAITING_APPROVAL)

    def on(self, role: Role) -> bool:
        """Whether a request to the role would be answered."""
        here = self.both or (self.swapping is None and self.resident is role)
        return here and self.unreachable.get(role, 0.0) <= self.now

    def judge(self, snapshot: SchedulerSnapshot, actions: tuple[Action, ...]) -> None:
        """What must hold of every answer of the scheduler, whatever the world is like."""
        assert actions, "there is always an answer"
        if any(isinstance(action, Sleep | Stop) for action in actions):
            assert len(actions) == 1
            return
        named = [action.task_id for action in actions if not isinstance(action, SwapTo | Sleep | Stop)]
        assert len(named) == len(set(named)), "one action a task"
        assert not set(named) & snapshot.busy, "nothing for a task in somebody's hands"
        starting = dict.fromkeys(Role, 0)
        for action in actions:
            if isinstance(action, Generate):
                starting[self.tasks[action.task_id].writer] += 1
            elif isinstance(action, ReviewTask):
                starting[Role.REVIEWER] += 1
            elif isinstance(action, FinalReview):
                starting[Role.FINAL] += 1
        for role, count in starting.items():
            if not count:
                continue
            assert snapshot.in_flight[role] + count <= snapshot.capacity[role]
            assert role is Role.FINAL or self.both or (snapshot.resident is role and not self.swapping)
            assert snapshot.unreachable.get(role, 0.0) <= self.now
        self.judge_swap(snapshot, actions, starting)
        self.judge_files(snapshot, actions)
        checking = sum(isinstance(job.action, RunChecks) for job in self.jobs)
        assert checking + sum(isinstance(action, RunChecks) for action in actions) <= CHECKS_AT_ONCE

    def judge_swap(
        self, snapshot: SchedulerSnapshot, actions: tuple[Action, ...], starting: dict[Role, int]
    ) -> None:
        swaps = [action for action in actions if isinstance(action, SwapTo)]
        if not swaps:
            return
        assert len(swaps) == 1
        assert not self.both and self.swapping is None and self.swaps_left != 0
        to = swaps[0].role
        assert to is not self.resident
        assert snapshot.unreachable.get(to, 0.0) <= self.now, "a role that cannot answer is not swapped to"
        reads = {S.AWAITING_REVIEW, S.REVIEWING} if to is Role.REVIEWER else set()
        writes = {S.QUEUED, S.GENERATING, S.REVISING}
        assert any(
            live.state in reads or (live.writer is to and live.state in writes)
            for live in self.tasks.values()
        ), "no swap without gain"
        if self.resident is not None:
            assert snapshot.in_flight[self.resident] == 0, "the role that leaves has nothing in flight"
            assert starting[self.resident] == 0, "nor is anything started with it"

    def judge_files(self, snapshot: SchedulerSnapshot, actions: tuple[Action, ...]) -> None:
        begun: list[Live] = []
        for action in actions:
            if not isinstance(action, Generate):
                continue
            live = self.tasks[action.task_id]
            if live.state is S.GENERATING:
                continue
            writing = [
                other
                for other in self.tasks.values()
                if (other.state is S.GENERATING and (other.id in snapshot.busy or self.on(other.writer)))
                or (other.state is S.CHECKING and self.now < other.since + FILES_HELD_SECONDS)
            ]
            for other in [*begun, *writing]:
                assert other.project != live.project or not other.files & live.files
            begun.append(live)
