"""One session on a virtual clock, for the forecast: `next_actions` names what to do, simulated cards and checks do it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from navigator.model.snapshot import (
    Action,
    BatchRules,
    Generate,
    ReviewTask,
    RunChecks,
    SchedulerSnapshot,
    Sleep,
    Stop,
    SwapTo,
    TaskView,
)
from navigator.model.states import Role, TaskState
from navigator.model.timing import StepTimes
from navigator.schedule.next_actions import next_actions

S = TaskState
_BEGINS_AS = {S.GENERATING: S.QUEUED, S.REVIEWING: S.AWAITING_REVIEW}
"""Where a session that begins in the middle puts what a stage holds: a request under way begins anew."""

_DONE = 1e-6


@dataclass(frozen=True, slots=True)
class Job:
    """One task with its whole future, of which the scheduler sees the present only.

    Attributes:
        arrival: second from which it is in `state`; before 0 where the session begins in the middle.
        writes: tokens of each round's answer that will be written, the first proposal first.
        reviews: one per round; the last one approves, or is the last that is allowed. None for a report, which nobody reviews.
        checks: seconds that the checks of each round take.
        repairs: rounds whose checks fail once, and whose repair is written again.
    """

    id: str
    project: int
    arrival: float
    writes: tuple[float, ...]
    reviews: tuple[float, ...]
    checks: tuple[float, ...]
    repairs: frozenset[int] = frozenset()
    priority: int = 0
    writer: Role = Role.GENERATOR
    state: TaskState = S.QUEUED


@dataclass(frozen=True, slots=True)
class SimulatedMachine:
    """The GPU and its models.

    Attributes:
        times: of each role's model.
        swap: seconds of a swap to each role, on average; `swap_spread` is the standard deviation of their logarithm.
        capacity: requests that each role has in flight at most.
        both: both roles answer at once, each on its own card, and nothing is swapped.
        seed: of the swaps' times.
    """

    times: Mapping[Role, StepTimes]
    swap: Mapping[Role, float]
    capacity: dict[Role, int]
    swap_spread: float = 0.0
    both: bool = False
    seed: int = 0


@dataclass
class SimulatedCard:
    """One model on one GPU, as `model.timing` says: answers grow together. Reading prompts takes no time of its own."""

    times: StepTimes
    _left: dict[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._left)

    def add(self, key: str, tokens: float) -> None:
        """Send a request whose answer has so many tokens."""
        self._left[key] = tokens

    def next_event(self) -> float:
        """Seconds until an answer ends; infinity when idle."""
        return min(self._left.values()) * self.times.step_seconds(len(self._left)) if self._left else math.inf

    def advance(self, seconds: float) -> list[str]:
        """Let at most `next_event` seconds pass; returns the keys of the answers that ended."""
        if not self._left:
            return []
        written = seconds / self.times.step_seconds(len(self._left))
        self._left = {key: tokens - written for key, tokens in self._left.items()}
        ended = [key for key, tokens in self._left.items() if tokens <= _DONE]
        for key in ended:
            del self._left[key]
        return ended


@dataclass(slots=True)
class _Task:
    job: Job
    order: int
    state: TaskState
    since: float
    round: int = 0
    repaired: bool = False
    held: bool = False
    view: TaskView | None = None


@dataclass
class Session:
    """A run over one workload. The same arguments give the same session.

    Args:
        rules: `[batch]`.
        until: as of `navigator run --until`; "" for a conductor that stays.
        resident: what is loaded at second 0; `swapping_to` what is being loaded, half of which is over.
        policy: what to start for a snapshot at a second of the clock.

    Attributes:
        ended: when each task that is done began to wait for the developer.
        swapping: seconds of all swaps that were begun, `swaps` of them.
    """

    machine: SimulatedMachine
    jobs: Sequence[Job]
    rules: BatchRules = field(default_factory=BatchRules)
    until: str = ""
    resident: Role | None = Role.GENERATOR
    swapping_to: Role | None = None
    policy: Callable[[SchedulerSnapshot, float], Sequence[Action]] = next_actions
    now: float = 0.0
    swaps: int = 0
    swapping: float = 0.0
    ended: dict[str, float] = field(default_factory=dict)
    _tasks: dict[str, _Task] = field(default_factory=dict)
    _swap: tuple[Role, float] | None = None
    _checks: dict[str, float] = field(default_factory=dict)
    _stopped: bool = False

    def __post_init__(self) -> None:
        self._cards = {role: SimulatedCard(times) for role, times in self.machine.times.items()}
        # A stable sort: of those that come together the first named is the first taken.
        self._arrivals = sorted(self.jobs, key=lambda job: job.arrival)[::-1]
        self._swap_times = random.Random(f"{self.machine.seed} swaps")
        if self.swapping_to is not None:
            self._swap = (self.swapping_to, self.machine.swap[self.swapping_to] / 2)

    def run(self) -> Session:
        """Until every task waits for the developer, or the policy stops; returns itself."""
        while len(self.ended) < len(self.jobs):
            self._arrive()
            wake = self._decide()
            if self._stopped:
                break
            self._pass_time(wake)
        return self

    def _snapshot(self) -> SchedulerSnapshot:
        live = self._tasks.values()
        return SchedulerSnapshot(
            tasks=tuple(task.view or self._viewed(task) for task in live),
            busy=frozenset(task.job.id for task in live if task.held),
            resident=None if self._swap else self.resident,
            swapping_to=self._swap[0] if self._swap else None,
            both_resident=self.machine.both,
            capacity=self.machine.capacity,
            in_flight={role: len(card) for role, card in self._cards.items()},
            batch=self.rules,
            until=self.until,
            last_arrival=max((task.job.arrival for task in live), default=0.0),
        )

    def _viewed(self, task: _Task) -> TaskView:
        task.view = TaskView(
            id=task.job.id,
            project_id=task.job.project,
            state=task.state,
            priority=task.job.priority,
            order=task.order,
            round=task.round,
            since=task.since,
            writer=task.job.writer,
        )
        return task.view

    def _arrive(self) -> None:
        while self._arrivals and self._arrivals[-1].arrival <= self.now:
            job = self._arrivals.pop()
            state = _BEGINS_AS.get(job.state, job.state)
            self._tasks[job.id] = _Task(job, len(self._tasks) + len(self.ended), state, job.arrival)

    def _decide(self) -> float:
        """Start what the policy names, until it names no more; returns the second at which it wants to be asked again."""
        while True:
            actions = self.policy(self._snapshot(), self.now)
            first = actions[0]
            if isinstance(first, Sleep):
                return first.until
            if isinstance(first, Stop):
                self._stopped = True
                return math.inf
            for action in actions:
                self._start(action)

    def _start(self, action: Action) -> None:
        if isinstance(action, SwapTo):
            spread = self.machine.swap_spread
            factor = math.exp(self._swap_times.gauss(-spread * spread / 2, spread))
            seconds = factor * self.machine.swap[action.role]
            self._swap = (action.role, self.now + seconds)
            self.swaps += 1
            self.swapping += seconds
            return
        assert isinstance(action, Generate | RunChecks | ReviewTask), action
        task = self._tasks[action.task_id]
        task.held = True
        if isinstance(action, RunChecks):
            self._checks[task.job.id] = self.now + task.job.checks[task.round]
        elif isinstance(action, Generate):
            self._move(task, S.GENERATING)
            self._cards[task.job.writer].add(task.job.id, task.job.writes[task.round])
        else:
            self._move(task, S.REVIEWING)
            self._cards[Role.REVIEWER].add(task.job.id, task.job.reviews[task.round])

    def _move(self, task: _Task, state: TaskState) -> None:
        if state is not task.state:
            task.state, task.since = state, self.now
        task.view = None

    def _pass_time(self, wake: float) -> None:
        moments = [wake, *self._checks.values()]
        if self._arrivals:
            moments.append(self._arrivals[-1].arrival)
        if self._swap:
            moments.append(self._swap[1])
        passed = min(min(moments) - self.now, *(card.next_event() for card in self._cards.values()))
        if passed == math.inf:
            self._stopped = True
            return
        # By at least what a float can hold: after an endless swap, seconds would change nothing.
        self.now = max(self.now + passed, math.nextafter(self.now, math.inf))
        for card in self._cards.values():
            for key in card.advance(max(0.0, passed)):
                self._answered(self._tasks[key])
        for key in [key for key, second in self._checks.items() if second <= self.now]:
            del self._checks[key]
            self._checked(self._tasks[key])
        if self._swap and self._swap[1] <= self.now:
            self.resident, self._swap = self._swap[0], None

    def _answered(self, task: _Task) -> None:
        task.held = False
        if task.state is S.GENERATING and task.job.reviews:
            self._move(task, S.CHECKING)
        elif task.round + 1 < len(task.job.writes):
            task.round, task.repaired = task.round + 1, False
            self._move(task, S.REVISING)
        else:
            del self._tasks[task.job.id]
            self.ended[task.job.id] = self.now

    def _checked(self, task: _Task) -> None:
        task.held = False
        repair = task.round in task.job.repairs and not task.repaired
        task.repaired = task.repaired or repair
        self._move(task, S.GENERATING if repair else S.AWAITING_REVIEW)
