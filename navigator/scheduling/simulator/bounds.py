"""What no policy can beat: the best of all moments for a swap where few tasks come, a lower bound where many do."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from navigator.domain.snapshot import BatchRules, SchedulerSnapshot
from navigator.domain.states import Role
from navigator.scheduling.simulator.policies import Contender
from navigator.scheduling.simulator.scenario import Job, Request, Scenario
from navigator.scheduling.simulator.session import Session, prices_of, swap_factor
from navigator.scheduling.swap_rule import SwapDecision, decide_swap
from navigator.scheduling.view import requests_running, reviewer_work, writes_left

_NO_LIMITS = BatchRules(target=1_000_000, max_wait=math.inf, quiet=math.inf, patience=math.inf)

SESSIONS = 4000
"""Sessions that the exact search runs at most; it gives up beyond."""


_MOMENTS = 14
"""Moments for a swap in a session without any, beyond which the search is not begun."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Seconds that no policy goes below.

    `kind` is "exact": the best over every moment at which something happens, for a clairvoyant who serves in the usual order; or
    "lower bound": not reachable in general.
    """

    makespan: float
    mean_wait: float
    kind: str


def bound(scenario: Scenario, jobs: Sequence[Job], *, sessions: int = SESSIONS) -> Bound:
    """The exact optimum where it is found within `sessions` runs, else the lower bound."""
    found = optimum(scenario, jobs, sessions=sessions) if scenario.cards == 1 else None
    return found or lower_bound(scenario, jobs)


def lower_bound(scenario: Scenario, jobs: Sequence[Job]) -> Bound:
    """The larger of what the work takes and what the slowest single task takes, with the swaps that nobody can avoid.

    The work of all tasks is done at the speed of full streams, by the shortest remaining work first; each task by itself is
    written and reviewed as the only stream.
    """
    rounds = max(job.rounds for job in jobs)
    swaps = _swaps(scenario, rounds)
    work = {job.id: _work(scenario, job) for job in jobs}
    cards = scenario.cards if scenario.cards > 1 else 1
    first = min(job.arrival for job in jobs)
    paths = [_alone(scenario, job) for job in jobs]
    makespan = max(
        sum(work.values()) / cards + (swaps if scenario.cards == 1 else 0.0),
        max(job.arrival - first + path for job, path in zip(jobs, paths, strict=True)),
    )
    together = all(job.arrival == first for job in jobs)
    lead = _swaps(scenario, 1) if together and scenario.cards == 1 else 0.0
    shared = _shortest_first(jobs, {key: value / cards for key, value in work.items()}) + lead
    return Bound(makespan, max(sum(paths) / len(paths), shared), "lower bound")


def _requests(job: Job) -> tuple[list[Request], list[Request]]:
    return [*job.writes, *(job.writes[at] for at in job.repairs)], list(job.reviews)


def _work(scenario: Scenario, job: Job) -> float:
    """GPU seconds of a task at the best speed that any number of streams reaches."""
    total = 0.0
    for role, streams, requests in zip(
        (Role.GENERATOR, Role.REVIEWER), scenario.streams, _requests(job), strict=True
    ):
        times = scenario.speeds(role)
        best = min(times.step_seconds(n) / n for n in range(1, streams + 1))
        total += sum(times.read_seconds(int(call.prompt_tokens)) + call.tokens * best for call in requests)
    return total


def _alone(scenario: Scenario, job: Job) -> float:
    """Seconds of a task that has the machine to itself."""
    total = sum(job.checks[at] for at in job.repairs)
    for role, requests in zip((Role.GENERATOR, Role.REVIEWER), _requests(job), strict=True):
        times = scenario.speeds(role)
        step = times.step_seconds(1)
        total += sum(times.read_seconds(int(call.prompt_tokens)) + call.tokens * step for call in requests)
    if scenario.cards > 1:
        return total + sum(job.checks)
    # Some swap of the session: at its quickest, three deviations below the mean. Checks may run under it.
    spread = scenario.swap_spread
    quickest = math.exp(-spread * spread / 2 - 3 * spread)
    total += (job.rounds - 1) * quickest * scenario.swap_back
    return total + sum(max(check, quickest * scenario.swap_in) for check in job.checks)


def _swaps(scenario: Scenario, rounds: int) -> float:
    """Seconds of the first swaps of a session of which every one is needed."""
    times = random.Random(f"{scenario.seed} swaps")
    total = 0.0
    for number in range(2 * rounds - 1):
        factor, _ = swap_factor(scenario, times)
        total += factor * (scenario.swap_back if number % 2 else scenario.swap_in)
    return total


def _shortest_first(jobs: Sequence[Job], work: dict[str, float]) -> float:
    """Mean wait on one machine that always works on what is nearest to its end: no order has a lower one."""
    arrivals = sorted(jobs, key=lambda job: job.arrival)
    left: list[tuple[float, str]] = []
    came = {job.id: job.arrival for job in jobs}
    now, waited, at = 0.0, 0.0, 0
    while at < len(arrivals) or left:
        if not left:
            now = max(now, arrivals[at].arrival)
        while at < len(arrivals) and arrivals[at].arrival <= now:
            heapq.heappush(left, (work[arrivals[at].id], arrivals[at].id))
            at += 1
        seconds, key = heapq.heappop(left)
        until = arrivals[at].arrival if at < len(arrivals) else now + seconds
        if now + seconds <= until:
            now += seconds
            waited += now - came[key]
        else:
            heapq.heappush(left, (seconds - (until - now), key))
            now = until
    return waited / len(jobs)


def optimum(scenario: Scenario, jobs: Sequence[Job], *, sessions: int = SESSIONS) -> Bound | None:
    """Try every moment for every swap. None where that takes more than `sessions` sessions."""
    untried: list[tuple[bool, ...]] = [()]
    makespans: list[float] = []
    waits: list[float] = []
    while untried:
        if len(makespans) == sessions:
            return None
        chosen = untried.pop()
        script = _Script(chosen)
        played = Contender("script", _NO_LIMITS, script.decide)
        outcome = Session(scenario, jobs, played.policy, played.rules, prices_of(scenario)).run()
        if not chosen and script.asked > _MOMENTS:
            return None
        makespans.append(outcome.makespan)
        waits.append(outcome.mean_wait)
        untried.extend(
            (*chosen, *([False] * (at - len(chosen))), True) for at in range(len(chosen), script.asked)
        )
    return Bound(min(makespans), min(waits), "exact")


class _Script:
    """A rule that swaps at chosen moments. `asked` counts the moments at which it could have."""

    def __init__(self, chosen: Sequence[bool]) -> None:
        self.asked = 0
        self._chosen = chosen
        self._leaving: Role | None = None
        self._seen: object = None

    def decide(self, snapshot: SchedulerSnapshot, now: float) -> SwapDecision | None:
        """As `decide_swap`."""
        if snapshot.swapping_to is not None or snapshot.resident is None:
            self._leaving = None
            return decide_swap(snapshot, now)
        here = snapshot.resident
        to = Role.GENERATOR if here is Role.REVIEWER else Role.REVIEWER
        waits = writes_left(snapshot, Role.GENERATOR) if here is Role.REVIEWER else reviewer_work(snapshot)
        if self._leaving is not to:
            self._leaving = to if waits and self._choose(snapshot) else None
        if self._leaving is None:
            return None
        return SwapDecision(to, ready=requests_running(snapshot, here) == 0)

    def _choose(self, snapshot: SchedulerSnapshot) -> bool:
        if snapshot.hurry:
            return True  # nothing else would ever happen
        # Asked once per state of things: the busy tasks change while the same moment's work is being started.
        seen = (snapshot.resident, tuple((task.id, task.state) for task in snapshot.tasks))
        if seen == self._seen:
            return False
        self._seen = seen
        self.asked += 1
        return self.asked <= len(self._chosen) and self._chosen[self.asked - 1]
