"""One session on a virtual clock: a policy names actions, the simulated cards and checks carry them out."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from navigator.domain.snapshot import (
    Action,
    BatchRules,
    Check,
    Generate,
    Prices,
    PutBack,
    ReviewTask,
    SchedulerSnapshot,
    Sleep,
    Stop,
    SwapTo,
    TaskView,
)
from navigator.domain.states import Role, TaskState
from navigator.scheduling.simulator.card import Card
from navigator.scheduling.simulator.scenario import Job, Request, Scenario

S = TaskState
Policy = Callable[[SchedulerSnapshot, float], Sequence[Action]]
"""What to start for a snapshot at a second of the clock: `next_actions`, or an opponent."""

_BEGINS_AS = {S.GENERATING: S.QUEUED, S.REVIEWING: S.AWAITING_REVIEW}
"""Where a session that begins in the middle puts what a stage holds."""

_MEASURED = 200
"""Newest calls of a role whose durations are known."""

_RETRY_SECONDS = 30.0
"""A swap that failed is not tried again for this long."""

_ROLES = (Role.GENERATOR, Role.REVIEWER)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a session came to. Seconds throughout.

    Attributes:
        makespan: from the first arrival until the last task waited for the developer.
        mean_wait: of a task, from its arrival until it waited for the developer; `p95_wait` of the slowest twentieth.
        longest_review_wait: the longest that a proposal waited for the start of its review.
        swaps: made, failed ones included.
        gpu_idle_share: of the makespan, in which no card read, wrote or loaded.
        tokens: written.
    """

    makespan: float
    mean_wait: float
    p95_wait: float
    longest_review_wait: float
    swaps: int
    gpu_idle_share: float
    tokens: float


@dataclass(slots=True)
class _Task:
    job: Job
    order: int
    state: TaskState = S.QUEUED
    since: float = 0.0
    round: int = 0
    repaired: bool = False
    held: bool = False
    asked: float | None = None
    put_back: int = 0
    view: TaskView | None = None


@dataclass
class Session:
    """A run of one policy over one workload.

    Args:
        scenario: speeds, swaps, cards.
        jobs: what arrives.
        policy: see `Policy`.
        rules: the batch limits that the snapshot names; `prices` what it says that things cost.
        until: as of `navigator run --until`; "" for a conductor that stays.
    """

    scenario: Scenario
    jobs: Sequence[Job]
    policy: Policy
    rules: BatchRules
    prices: Prices
    until: str = ""
    now: float = 0.0
    swaps: int = 0
    _tasks: dict[str, _Task] = field(default_factory=dict)
    _resident: Role | None = Role.GENERATOR
    _swap: tuple[Role, float, bool] | None = None
    _checks: dict[str, float] = field(default_factory=dict)
    _not_before: dict[Role, float] = field(default_factory=dict)
    _hurry: bool = False
    _stopped: bool = False
    _swapping: float = 0.0
    _ended: dict[str, float] = field(default_factory=dict)
    _took: dict[Role, list[float]] = field(default_factory=dict)
    _deferred: set[str] = field(default_factory=set)
    put_back: int = 0
    _review_waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        scenario = self.scenario
        both = scenario.cards > 1
        counts = (scenario.cards - scenario.reviewer_cards, scenario.reviewer_cards) if both else (1, 1)
        self._cards = {
            role: [Card(scenario.speeds(role)) for _ in range(count)]
            for role, count in zip(_ROLES, counts, strict=True)
        }
        self._capacity = {
            role: streams * count
            for role, streams, count in zip(_ROLES, scenario.streams, counts, strict=True)
        }
        self._arrivals = sorted(self.jobs, key=lambda job: job.arrival, reverse=True)
        self._swap_times = random.Random(f"{scenario.seed} swaps")

    def take_up(
        self, states: Mapping[str, TaskState], resident: Role | None, swapping_to: Role | None = None
    ) -> None:
        """Begin in the middle: jobs that are under way, by their state, and what is loaded or being loaded.

        Each is in its state since its `arrival`, which lies before the clock's start. A request under way begins anew.
        """
        for job in reversed(self._arrivals):
            if job.id in states:
                state = _BEGINS_AS.get(states[job.id], states[job.id])
                self._tasks[job.id] = _Task(job, order=len(self._tasks), state=state, since=job.arrival)
        self._arrivals = [job for job in self._arrivals if job.id not in states]
        self._resident = resident
        if swapping_to is not None:
            self._swap = (swapping_to, self.now + self.scenario.swap_seconds(swapping_to) / 2, False)

    @property
    def ended(self) -> Mapping[str, float]:
        """When each task that is done began to wait for the developer."""
        return self._ended

    @property
    def swapping(self) -> float:
        """Seconds of all swaps that were begun."""
        return self._swapping

    def run(self) -> Outcome:
        """Until every task waits for the developer, or the policy stops."""
        while len(self._ended) < len(self.jobs):
            self._arrive()
            wake = self._decide()
            if self._stopped:
                break
            self._pass_time(wake)
        return self._outcome()

    def _outcome(self) -> Outcome:
        tokens = sum(
            request.tokens
            for job in self.jobs
            for request in (*job.writes, *job.reviews, *(job.writes[at] for at in job.repairs))
        )
        first = min(job.arrival for job in self.jobs)
        makespan = max(self._ended.values(), default=self.now) - first
        waits = [self._ended.get(job.id, self.now) - job.arrival for job in self.jobs]
        cards = [card for found in self._cards.values() for card in found]
        available = makespan * (len(cards) if self.scenario.cards > 1 else 1)
        busy = sum(card.busy for card in cards) + self._swapping
        p95 = statistics.quantiles(waits, n=20, method="inclusive")[-1] if len(waits) > 1 else waits[0]
        return Outcome(
            makespan=makespan,
            mean_wait=statistics.fmean(waits),
            p95_wait=p95,
            longest_review_wait=max(self._review_waits, default=0.0),
            swaps=self.swaps,
            gpu_idle_share=max(0.0, 1 - busy / available) if available else 0.0,
            tokens=tokens,
        )

    # What a policy sees

    def snapshot(self) -> SchedulerSnapshot:
        """What is true now."""
        live = self._tasks.values()
        return SchedulerSnapshot(
            tasks=tuple(task.view or self._viewed(task) for task in live),
            busy=frozenset(task.job.id for task in live if task.held),
            resident=None if self._swap else self._resident,
            swapping_to=self._swap[0] if self._swap else None,
            both_resident=self.scenario.cards > 1,
            capacity=self._capacity,
            in_flight={role: sum(map(len, cards)) for role, cards in self._cards.items()},
            unreachable={role: second for role, second in self._not_before.items() if second > self.now},
            batch=self.rules,
            prices=self.prices,
            until=self.until,
            hurry=self._hurry,
            last_arrival=max((task.job.arrival for task in live), default=0.0),
            call_seconds={role: tuple(took[-_MEASURED:]) for role, took in self._took.items()},
            deferred=frozenset(self._deferred),
        )

    def _viewed(self, task: _Task) -> TaskView:
        task.view = TaskView(
            id=task.job.id,
            project_id=task.job.project,
            state=task.state,
            priority=task.job.priority,
            order=task.order,
            attempt=0,
            round=task.round,
            since=task.since,
            writer=task.job.writer,
            asked=task.asked,
            put_back=task.put_back,
        )
        return task.view

    # What happens

    def _arrive(self) -> None:
        while self._arrivals and self._arrivals[-1].arrival <= self.now:
            job = self._arrivals.pop()
            self._tasks[job.id] = _Task(job, order=len(self._tasks) + len(self._ended), since=self.now)

    def _decide(self) -> float:
        """Start what the policy names, until it names no more; returns the second at which it wants to be asked again."""
        while True:
            actions = self.policy(self.snapshot(), self.now)
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
            factor, fails = swap_factor(self.scenario, self._swap_times)
            seconds = factor * self.scenario.swap_seconds(action.role)
            self._swap = (action.role, self.now + seconds, fails)
            self.swaps += 1
            self._swapping += seconds
            self._hurry = False
            return
        assert isinstance(action, Generate | Check | ReviewTask | PutBack), action
        task = self._tasks[action.task_id]
        if isinstance(action, PutBack):
            self._put_back(task)
            return
        task.held = True
        if isinstance(action, Check):
            self._checks[task.job.id] = self.now + task.job.checks[task.round]
            return
        if isinstance(action, Generate):
            self._move(task, S.GENERATING)
            self._send(task.job.writer, task, task.job.writes[task.round])
            return
        self._review_waits.append(self.now - task.since)
        self._move(task, S.REVIEWING)
        self._send(Role.REVIEWER, task, task.job.reviews[task.round])

    def _put_back(self, task: _Task) -> None:
        assert any(card.drop(task.job.id) for cards in self._cards.values() for card in cards)
        task.held, task.asked, task.put_back = False, None, task.put_back + 1
        self.put_back += 1
        self._deferred.add(task.job.id)
        again = S.AWAITING_REVIEW if task.state is S.REVIEWING else S.REVISING if task.round else S.QUEUED
        self._move(task, again)

    def _send(self, role: Role, task: _Task, request: Request) -> None:
        task.asked = self.now if not task.repaired else None
        task.view = None
        min(self._cards[role], key=len).add(task.job.id, request)

    def _move(self, task: _Task, state: TaskState) -> None:
        if state is not task.state:
            task.state, task.since = state, self.now
        task.view = None

    def _pass_time(self, wake: float) -> None:
        cards = [card for found in self._cards.values() for card in found]
        arrival = self._arrivals[-1].arrival if self._arrivals else math.inf
        swap = self._swap[1] if self._swap else math.inf
        happens = min(
            arrival,
            swap,
            *self._checks.values(),
            *(self.now + card.next_event() for card in cards),
            *(second for second in self._not_before.values() if second > self.now),
            math.inf,
        )
        if happens == math.inf and self._only_a_person_helps():
            self._hurry = True
            return
        until = max(self.now, min(happens, wake))
        passed, self.now = until - self.now, until
        for card in cards:
            for key in card.advance(passed):
                self._answered(self._tasks[key])
        for key in [key for key, second in self._checks.items() if second <= self.now]:
            del self._checks[key]
            self._checked(self._tasks[key])
        if self._swap and self._swap[1] <= self.now:
            self._swapped(*self._swap)

    def _only_a_person_helps(self) -> bool:
        """Whether nothing happens any more by itself: limits that time alone cannot reach."""
        rules = self.rules
        return min(rules.max_wait, rules.quiet, rules.patience) == math.inf

    def _swapped(self, role: Role, _: float, failed: bool) -> None:
        self._swap = None
        self._deferred.clear()
        if failed:
            self._resident = None
            self._not_before[role] = self.now + _RETRY_SECONDS
            return
        self._resident = role

    def _answered(self, task: _Task) -> None:
        task.held = False
        if task.asked is not None:
            role = Role.REVIEWER if task.state is S.REVIEWING else task.job.writer
            self._took.setdefault(role, []).append(self.now - task.asked)
            task.asked = None
        if task.state is S.GENERATING and task.job.reviews:
            self._move(task, S.CHECKING)
            return
        if task.round + 1 < task.job.rounds:
            task.round, task.repaired = task.round + 1, False
            self._move(task, S.REVISING)
            return
        del self._tasks[task.job.id]
        self._ended[task.job.id] = self.now

    def _checked(self, task: _Task) -> None:
        task.held = False
        if task.round in task.job.repairs and not task.repaired:
            task.repaired = True
            self._move(task, S.GENERATING)
            return
        self._move(task, S.AWAITING_REVIEW)


def simulate(
    scenario: Scenario, jobs: Sequence[Job], policy: Policy, rules: BatchRules, until: str = ""
) -> Outcome:
    """Run one policy over a workload. The same arguments give the same outcome."""
    return Session(scenario, jobs, policy, rules, prices_of(scenario), until).run()


def swap_factor(scenario: Scenario, draws: random.Random) -> tuple[float, bool]:
    """How much longer than its mean the next swap takes, and whether it fails."""
    spread = scenario.swap_spread
    return math.exp(draws.gauss(-spread * spread / 2, spread)), draws.random() < scenario.swap_failures


def prices_of(scenario: Scenario) -> Prices:
    """What a conductor would have measured in this scenario: means, of as many streams as may run."""

    def each(role: Role, streams: int, prompt: float, tokens: float) -> float:
        times = scenario.speeds(role)
        return times.read_seconds(int(prompt)) + tokens * times.step_seconds(streams) / streams

    write, review = scenario.streams
    return Prices(
        swap_in=scenario.swap_in,
        swap_back=scenario.swap_back,
        write_seconds=each(Role.GENERATOR, write, scenario.prompt_tokens, scenario.proposal_tokens),
        review_seconds=each(Role.REVIEWER, review, scenario.review_prompt_tokens, scenario.review_tokens),
        revise_rate=scenario.revise_rate,
        check_failures=scenario.check_failures,
    )
