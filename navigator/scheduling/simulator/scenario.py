"""What is simulated: models, swaps, and tasks whose sizes and verdicts are drawn before the clock starts."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from navigator.domain.errors import UsageError
from navigator.domain.states import Role
from navigator.domain.timing import StepTimes

ARRIVALS = ("at once", "steady", "bursts", "overnight")

_HOUR = 3600.0
_GENERATOR = StepTimes(load_seconds=32.7, decode=184.0, prefill=8333.0, expert_share=0.154, kv_share=0.017)
_REVIEWER = StepTimes(load_seconds=42.7, decode=48.0, prefill=2500.0, expert_share=0.106, kv_share=0.005)


@dataclass(frozen=True, slots=True)
class Request:
    """One model call: uncached prompt tokens, and tokens of the answer."""

    prompt_tokens: float
    tokens: float


@dataclass(frozen=True, slots=True)
class Job:
    """One task with its whole future, which no policy but a clairvoyant one may look at.

    Attributes:
        arrival: second at which it is queued.
        writes: one request per round that will be written, the first proposal first.
        reviews: one per round; the last one approves, or is the last that is allowed. None for a report, which nobody reviews.
        checks: seconds that the checks of each round take.
        repairs: rounds whose checks fail once, and whose repair is written again.
    """

    id: str
    project: int
    arrival: float
    writes: tuple[Request, ...]
    reviews: tuple[Request, ...]
    checks: tuple[float, ...]
    repairs: frozenset[int] = frozenset()
    priority: int = 0
    writer: Role = Role.GENERATOR

    @property
    def rounds(self) -> int:
        """Proposals, the first one included."""
        return len(self.writes)


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
        prompt_tokens: read for each answer and not cached; `review_prompt_tokens` for each review.
        check_seconds: of each proposal; `check_failures` the share that is repaired once.
        swap_in: seconds to the reviewer; `swap_back` to the generator; `swap_spread` as `spread`;
            `swap_failures` the share that fails, and is tried again.
        streams: requests in flight at most, per card; the generator's and the reviewer's.
        cards: GPUs. From two on each role has its own (`reviewer_cards` of them the reviewer's), and nothing is swapped.
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
    prompt_tokens: float = 8000.0
    review_prompt_tokens: float = 6000.0
    check_seconds: float = 5.0
    check_failures: float = 0.1
    swap_in: float = 42.7
    swap_back: float = 32.7
    swap_spread: float = 0.05
    swap_failures: float = 0.0
    streams: tuple[int, int] = (8, 8)
    cards: int = 1
    reviewer_cards: int = 1
    urgent: float = 0.0
    seed: int = 1
    generator: StepTimes = field(default=_GENERATOR)
    reviewer: StepTimes = field(default=_REVIEWER)

    def __post_init__(self) -> None:
        if self.arrivals not in ARRIVALS:
            raise UsageError(f"{self.arrivals!r} is no kind of arrivals.", hint=f"Use {', '.join(ARRIVALS)}.")
        if min(self.tasks, self.projects, self.cards, self.reviewer_cards, self.burst, *self.streams) < 1:
            raise UsageError("A scenario has at least one task, project, card, stream and task in a burst.")
        if self.cards > 1 and self.reviewer_cards >= self.cards:
            raise UsageError("Of several cards the generator needs at least one.")
        shares = (self.revise_rate, self.check_failures, self.urgent)
        if not all(0 <= share <= 1 for share in shares) or not 0 <= self.swap_failures < 1:
            raise UsageError("A share lies between 0 and 1; not every swap may fail.")

    def speeds(self, role: Role) -> StepTimes:
        """Of the role's model."""
        return self.reviewer if role is Role.REVIEWER else self.generator

    def swap_seconds(self, to: Role) -> float:
        """Of a swap to `to`, on average."""
        return self.swap_in if to is Role.REVIEWER else self.swap_back


PUBLISHED = Scenario(
    tasks=30,
    spread=0,
    revise_rate=0,
    check_failures=0,
    check_seconds=0,
    prompt_tokens=0,
    review_prompt_tokens=0,
    swap_spread=0,
    streams=(1, 1),
)
"""The published batch: 30 proposals of 2,000 tokens and 500-token reviews, one stream at a time, nothing revised, no prompts."""


def read_scenario(values: Mapping[str, Any]) -> Scenario:
    """A scenario from a TOML table; `generator` and `reviewer` are tables of speeds.

    Raises:
        UsageError: a name is not known, or a value does not fit.
    """
    known = {item.name for item in fields(Scenario)}
    if unknown := sorted(set(values) - known):
        raise UsageError(
            f"Unknown: {', '.join(unknown)}.", hint=f"A scenario has {', '.join(sorted(known))}."
        )
    made: dict[str, Any] = dict(values)
    try:
        for name, default in (("generator", _GENERATOR), ("reviewer", _REVIEWER)):
            if name in made:
                made[name] = replace(default, **{key: float(value) for key, value in made[name].items()})
        if "streams" in made:
            generator, reviewer = made["streams"]
            made["streams"] = (int(generator), int(reviewer))
        return Scenario(**made)
    except (TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"The scenario cannot be read: {error}.") from error


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
        writes=tuple(
            Request(size(scenario.prompt_tokens), size(scenario.proposal_tokens)) for _ in range(rounds)
        ),
        reviews=tuple(
            Request(size(scenario.review_prompt_tokens), size(scenario.review_tokens)) for _ in range(rounds)
        ),
        checks=tuple(size(scenario.check_seconds) for _ in range(rounds)),
        repairs=frozenset(at for at in range(rounds) if rng.random() < scenario.check_failures),
        priority=1 if rng.random() < scenario.urgent else 0,
    )


def _drawer(spread: float, rng: random.Random) -> Any:
    """Log-normal draws with a given mean."""

    def draw(mean: float) -> float:
        return mean * math.exp(rng.gauss(-spread * spread / 2, spread)) if spread else mean

    return draw
