"""Random workloads for simulated sessions: tasks whose sizes and verdicts are drawn before the clock starts."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from navigator.model.states import Role
from navigator.model.timing import StepTimes
from navigator.schedule.forecast import PUBLISHED_TIMES
from navigator.schedule.session import Job, SimulatedMachine

ARRIVALS = ("at once", "steady", "bursts", "overnight")

_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """A day, a night or a batch. Seconds and tokens throughout; sizes are means of log-normal draws.

    Attributes:
        name: for the reader.
        projects: repositories that the tasks are spread over.
        tasks: how many arrive.
        arrivals: "at once"; "steady" (Poisson over `hours`); "bursts" of `burst` tasks; "overnight" (all within
            the first twentieth of `hours`).
        revise_rate: how likely a review asks for a revision, in every round; at most `revisions` follow.
        spread: standard deviation of the logarithm of every size; 0 makes all alike.
        check_seconds: of each proposal; `check_failures` the share that is repaired once.
        swap_in: seconds to the reviewer; `swap_back` to the generator; `swap_spread` as `spread`.
        streams: requests in flight at most, the generator's and the reviewer's.
        both: each role has its own card, and nothing is swapped.
        urgent: share of tasks with a higher priority.
    """

    name: str = "a batch"
    projects: int = 24
    tasks: int = 30
    arrivals: str = "at once"
    hours: float = 8.0
    burst: int = 6
    revise_rate: float = 0.35
    revisions: int = 2
    spread: float = 0.5
    proposal_tokens: float = 2000.0
    review_tokens: float = 500.0
    check_seconds: float = 5.0
    check_failures: float = 0.1
    swap_in: float = 42.7
    swap_back: float = 32.7
    swap_spread: float = 0.05
    streams: tuple[int, int] = (8, 8)
    both: bool = False
    urgent: float = 0.0
    seed: int = 1
    generator: StepTimes = PUBLISHED_TIMES[Role.GENERATOR]
    reviewer: StepTimes = PUBLISHED_TIMES[Role.REVIEWER]

    def machine(self) -> SimulatedMachine:
        """The GPU of the scenario."""
        return SimulatedMachine(
            times={Role.GENERATOR: self.generator, Role.REVIEWER: self.reviewer},
            swap={Role.REVIEWER: self.swap_in, Role.GENERATOR: self.swap_back},
            capacity=dict(zip((Role.GENERATOR, Role.REVIEWER), self.streams, strict=True)),
            swap_spread=self.swap_spread,
            both=self.both,
            seed=self.seed,
        )


PUBLISHED = Scenario(
    tasks=30,
    spread=0,
    revise_rate=0,
    check_failures=0,
    check_seconds=0,
    swap_spread=0,
    streams=(1, 1),
)
"""The published batch: 30 proposals of 2,000 tokens and 500-token reviews, one stream at a time, nothing revised, no prompts."""


def workload(scenario: Scenario) -> list[Job]:
    """The scenario's tasks, the same for the same seed, in the order they arrive."""
    rng = random.Random(f"{scenario.seed} {scenario.name}")
    moments = sorted(_arrivals(scenario, rng))
    return [_job(scenario, number, moment, rng) for number, moment in enumerate(moments)]


def _arrivals(scenario: Scenario, rng: random.Random) -> list[float]:
    span = scenario.hours * _HOUR
    if scenario.arrivals == "at once":
        return [0.0] * scenario.tasks
    if scenario.arrivals == "steady":
        return [rng.random() * span for _ in range(scenario.tasks)]
    if scenario.arrivals == "overnight":
        return [rng.random() * span / 20 for _ in range(scenario.tasks)]
    begins = [rng.random() * span for _ in range(math.ceil(scenario.tasks / scenario.burst))]
    # Someone who writes tasks down needs about twenty seconds for each.
    return [
        begins[number // scenario.burst] + 20.0 * (number % scenario.burst) * (0.5 + rng.random())
        for number in range(scenario.tasks)
    ]


def _job(scenario: Scenario, number: int, arrival: float, rng: random.Random) -> Job:
    rounds = 1
    while rounds <= scenario.revisions and rng.random() < scenario.revise_rate:
        rounds += 1
    size = _drawer(scenario.spread, rng)
    return Job(
        id=f"T{number + 1}",
        project=number % scenario.projects,
        arrival=arrival,
        writes=tuple(size(scenario.proposal_tokens) for _ in range(rounds)),
        reviews=tuple(size(scenario.review_tokens) for _ in range(rounds)),
        checks=tuple(size(scenario.check_seconds) for _ in range(rounds)),
        repairs=frozenset(at for at in range(rounds) if rng.random() < scenario.check_failures),
        priority=1 if rng.random() < scenario.urgent else 0,
    )


def _drawer(spread: float, rng: random.Random) -> Callable[[float], float]:
    """Log-normal draws with a given mean."""

    def draw(mean: float) -> float:
        return mean * math.exp(rng.gauss(-spread * spread / 2, spread)) if spread else mean

    return draw
