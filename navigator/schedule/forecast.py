"""When everything that is queued waits for the developer: a session on a virtual clock, continued from what is true now.

It is continued several times, each time with other sizes, verdicts, failed checks and swap times, drawn around what was
measured; the revise rate itself is as uncertain as its number of verdicts leaves it. The middle one of these sessions
is the forecast, and four fifths of them lie within its interval. A task's draws depend on its name only: the same question
has the same answer, and what remains of a session keeps its future. What no forecast knows: tasks that come later, and failures.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from navigator.model.snapshot import BatchRules, TaskView
from navigator.model.states import Role
from navigator.model.timing import StepTimes
from navigator.schedule.batch_time import Figures
from navigator.schedule.session import Job, Session, SimulatedMachine

MOST_TASKS = 100
"""Tasks that are followed one by one; of more, the work takes as long as that of these, in proportion."""

MOST_DRAWS = 49
LEAST_DRAWS = 9
_TASKS_DRAWN = 400
"""Sessions that are drawn at most and at least, and the tasks of all of them together that are aimed at: it is asked often."""

CHECK_SECONDS = 5.0
"""Of one proposal's checks, where nothing better is known."""

SIZE_SPREAD = 0.5
"""Standard deviation of the logarithm of answers' sizes: 0.5 to 0.6 in rehearsals."""

PACE_SPREAD = 0.2
"""The same of a session's speed among sessions of about its length: 0.14 to 0.3 in rehearsals."""

SWAP_SPREAD = 0.1
"""The same of what a swap takes, until the model may be asked."""

SUPPOSED = 2.0
"""Verdicts that a rate measured on few is drawn together with, at the rate that is supposed without any."""

SUPPOSED_REVISE_RATE = 0.35
"""Share of proposals that are sent back, and"""

CHECK_FAILURES = 0.1
"""share of proposals whose checks fail, and which are repaired: both as long as nothing is known."""

PUBLISHED_TIMES = {
    Role.GENERATOR: StepTimes(
        load_seconds=32.7, decode=184.0, prefill=8333.0, expert_share=0.154, kv_share=0.017
    ),
    Role.REVIEWER: StepTimes(
        load_seconds=42.7, decode=48.0, prefill=2500.0, expert_share=0.106, kv_share=0.005
    ),
}
"""How the published models' speeds grow with their streams."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a forecast assumes of the session.

    Attributes:
        revisions: that may follow a proposal.
        streams: requests in flight at most, of the generator and the reviewer.
        until: as of `navigator run --until`; "" for a conductor that stays.
        unreviewed: tasks whose answer nobody reviews: reports.
        untested: projects without tests, whose checks take no time and never fail.
    """

    revisions: int
    resident: Role | None = None
    swapping_to: Role | None = None
    both_resident: bool = False
    streams: tuple[int, int] = (8, 8)
    until: str = "idle"
    rules: BatchRules = field(default_factory=BatchRules)
    check_seconds: float = CHECK_SECONDS
    unreviewed: frozenset[str] = frozenset()
    untested: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Remaining:
    """The forecast, from now. Seconds throughout.

    Attributes:
        seconds: until the last task waits for the developer: sooner is as likely as later.
        low: a tenth of the sessions drawn is shorter; `high` a tenth longer.
        revisions: how many are expected.
        followed: tasks that were followed one by one.
    """

    seconds: float
    low: float
    high: float
    tasks: int
    swaps: int
    revisions: int
    followed: int


def remaining(tasks: Sequence[TaskView], now: float, figures: Figures, plan: Terms) -> Remaining | None:
    """The time until all of `tasks` wait for the developer; None of nothing.

    Args:
        tasks: those that the models have yet to work on, in any order.
        now: the second, by the clock of their `since`.
        figures: speeds, swaps, sizes and the revise rates.
        plan: the rest.
    """
    if not tasks:
        return None
    followed = sorted(tasks, key=lambda task: task.order)[:MOST_TASKS]
    scale = len(tasks) / len(followed)
    drawn = sorted(
        (_continued(followed, now, figures, plan, number, scale) for number in range(draws(len(followed)))),
        key=lambda one: one.seconds,
    )
    middle = drawn[len(drawn) // 2]
    tenth = (len(drawn) + 1) // 10
    return Remaining(
        seconds=middle.seconds,
        low=drawn[tenth - 1].seconds,
        high=drawn[-tenth].seconds,
        tasks=len(tasks),
        swaps=middle.swaps if plan.until else round(scale * middle.swaps),
        revisions=round(scale * middle.revisions),
        followed=len(followed),
    )


def draws(tasks: int) -> int:
    """How many sessions are drawn of so many tasks: 9, 19, 29, …, so that the order statistics at one, five and nine tenths are
    whole numbers, and the next session lies between the outer two in four cases of five."""
    wanted = min(MOST_DRAWS, max(LEAST_DRAWS, _TASKS_DRAWN // tasks))
    return 10 * ((wanted + 1) // 10) - 1


@dataclass(frozen=True, slots=True)
class _Drawn:
    """One session as it may come."""

    seconds: float
    swaps: int
    revisions: int


def _continued(
    tasks: Sequence[TaskView], now: float, figures: Figures, plan: Terms, number: int, scale: float
) -> _Drawn:
    """One session, whose work is `scale` times as much; a session that ends has no more swaps for it."""
    rate = _uncertain(figures.revise_rate, figures.revise_n, random.Random(f"{number}"))
    jobs = [_job(task, now, figures, plan, rate, random.Random(f"{number} {task.id}")) for task in tasks]
    session = Session(
        _machine(figures, plan, number),
        jobs,
        plan.rules,
        plan.until,
        plan.resident,
        None if plan.both_resident else plan.swapping_to,
    ).run()
    once = min(session.swapping, session.now) if plan.until else 0.0
    moments = [session.ended.get(task.id, session.now) for task in tasks]
    end = max(moment + (scale - 1) * max(0.0, moment - once) for moment in moments)
    return _Drawn(end, session.swaps, sum(len(job.writes) - 1 for job in jobs))


def _uncertain(rate: float, n: int, rng: random.Random) -> float:
    """A rate measured on `n`, as its verdicts leave it possible; one that is given (n is 0) is not doubted."""
    yes = rate * n + SUPPOSED_REVISE_RATE * SUPPOSED
    no = (1 - rate) * n + (1 - SUPPOSED_REVISE_RATE) * SUPPOSED
    return rng.betavariate(yes, no) if n and yes and no else rate


def _job(task: TaskView, now: float, figures: Figures, plan: Terms, rate: float, rng: random.Random) -> Job:
    """The task with one of its futures; the round that it is in is the job's first."""
    reviewed = task.id not in plan.unreviewed
    tested = task.project_id not in plan.untested
    # Drawn for every round from the first one on, whichever the task is in now: its future stays the same.
    sent_back = [rng.random() < rate for _ in range(plan.revisions)]
    fails = [rng.random() < CHECK_FAILURES for _ in range(plan.revisions + 1)]
    rounds = 1
    while reviewed and task.round + rounds <= plan.revisions and sent_back[task.round + rounds - 1]:
        rounds += 1
    # A request under way is half done, on average.
    begun = 0.5 if task.standing.running and task.standing.role else 1.0
    sizes = [math.exp(rng.gauss(-(SIZE_SPREAD**2) / 2, SIZE_SPREAD)) for _ in range(2 * rounds)]
    sizes[0] *= begun
    sizes[1] *= begun
    return Job(
        id=task.id,
        project=task.project_id,
        arrival=min(0.0, task.since - now),
        writes=tuple(size * figures.proposal_tokens for size in sizes[::2]),
        reviews=tuple(size * figures.review_tokens for size in sizes[1::2]) if reviewed else (),
        checks=(plan.check_seconds if tested else 0.0,) * rounds,
        # A task can be past the last round where `revisions` was lowered since.
        repairs=frozenset(
            at for at in range(rounds) if reviewed and tested and fails[min(task.round + at, plan.revisions)]
        ),
        priority=task.priority,
        writer=task.writer,
        state=task.state,
    )


def _machine(figures: Figures, plan: Terms, number: int) -> SimulatedMachine:
    rng = random.Random(f"{number} pace")
    writing, reading = (math.exp(rng.gauss(0.0, PACE_SPREAD)) for _ in range(2))
    return SimulatedMachine(
        times={
            role: _paced(PUBLISHED_TIMES[role], pace * speed, streams)
            for role, pace, speed, streams in (
                (Role.GENERATOR, writing, figures.generator_speed, figures.generator_streams),
                (Role.REVIEWER, reading, figures.reviewer_speed, figures.reviewer_streams),
            )
        },
        swap={Role.REVIEWER: figures.swap_in, Role.GENERATOR: figures.swap_back},
        capacity=dict(zip((Role.GENERATOR, Role.REVIEWER), plan.streams, strict=True)),
        swap_spread=SWAP_SPREAD,
        both=plan.both_resident,
        seed=number,
    )


def _paced(shape: StepTimes, speed: float, streams: float) -> StepTimes:
    """A model that writes `speed` tokens a second with `streams` at once, and grows with their number as `shape` does.

    Reading prompts is part of a measured speed; it takes no time of its own.
    """
    at_once = max(1, round(streams))
    gain = at_once * shape.step_seconds(1) / shape.step_seconds(at_once)
    return replace(shape, decode=speed / gain, prefill=math.inf)
