"""When everything that is queued waits for the developer: the simulator's session, continued from what is true now.

Nothing is drawn. Every answer has the mean size, a swap takes its median, and the revise rate sends back every k-th
proposal, so the same question has the same answer. What no forecast knows: tasks that come later, and failures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from navigator.domain.snapshot import BatchRules, Prices, TaskView
from navigator.domain.states import Role, TaskState
from navigator.domain.timing import StepTimes
from navigator.scheduling.forecast import Figures
from navigator.scheduling.next_actions import next_actions
from navigator.scheduling.simulator.scenario import Job, Request, Scenario
from navigator.scheduling.simulator.session import Session

MOST_TASKS = 200
"""Tasks that are followed one by one; the time of more is that of these, in proportion."""

CHECK_SECONDS = 5.0
"""Of one proposal's checks, where nothing better is known."""

_USUAL = Scenario()
_IN_FLIGHT = (TaskState.GENERATING, TaskState.REVIEWING)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a forecast assumes of the session.

    Attributes:
        streams: requests in flight at most, of the generator and the reviewer.
        revisions: that may follow a proposal.
        until: as of `navigator run --until`; "" for a conductor that stays.
        unreviewed: tasks whose answer nobody reviews: reports.
        untested: projects without tests, whose checks take no time and never fail.
    """

    resident: Role | None = None
    swapping_to: Role | None = None
    both_resident: bool = False
    streams: tuple[int, int] = (8, 8)
    revisions: int = 2
    until: str = "idle"
    rules: BatchRules = field(default_factory=BatchRules)
    check_seconds: float = CHECK_SECONDS
    unreviewed: frozenset[str] = frozenset()
    untested: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Remaining:
    """The forecast, from now. Seconds throughout.

    Attributes:
        seconds: until the last task waits for the developer.
        by_project: the same for each project's tasks, by its id.
        tokens: of the changes that are written, revisions included.
        tokens_per_second: of these, over the whole time.
        single_seconds: what one model that stays loaded takes to write each change once, which nobody reviews.
        revisions: how many are expected.
        followed: tasks that were followed one by one.
    """

    seconds: float
    by_project: dict[int, float]
    tasks: int
    swaps: int
    revisions: int
    tokens: float
    tokens_per_second: float
    single_seconds: float
    followed: int


def remaining(tasks: Sequence[TaskView], now: float, figures: Figures, plan: Plan) -> Remaining | None:
    """The time until all of `tasks` wait for the developer; None of nothing.

    Args:
        tasks: those that the models have yet to work on, in any order.
        now: the monotonic second that their `since` is measured on.
        figures: speeds, swaps, sizes and the revise rate.
        plan: the rest.
    """
    if not tasks:
        return None
    followed = sorted(tasks, key=lambda task: task.order)[:MOST_TASKS]
    jobs = _jobs(followed, now, figures, plan)
    session = Session(_scenario(figures, plan), jobs, next_actions, plan.rules, _prices(figures), plan.until)
    session.take_up(
        {task.id: task.state for task in followed},
        plan.resident,
        None if plan.both_resident else plan.swapping_to,
    )
    session.run()
    scale = len(tasks) / len(followed)
    ends: dict[int, float] = {}
    for task in followed:
        moment = scale * session.ended.get(task.id, session.now)
        ends[task.project_id] = max(ends.get(task.project_id, 0.0), moment)
    tokens = scale * sum(
        write.tokens
        for task, job in zip(followed, jobs, strict=True)
        for write in job.writes[_has_proposal(task) :]
    )
    seconds = max(ends.values())
    to_write = sum(task.round == 0 and not _has_proposal(task) for task in tasks)
    return Remaining(
        seconds=seconds,
        by_project=ends,
        tasks=len(tasks),
        swaps=round(scale * session.swaps),
        revisions=round(scale * sum(job.rounds - 1 for job in jobs)),
        tokens=tokens,
        tokens_per_second=tokens / seconds if seconds else 0.0,
        single_seconds=to_write * figures.single_seconds,
        followed=len(followed),
    )


def _has_proposal(task: TaskView) -> bool:
    """Whether its present round is written."""
    return task.state not in (TaskState.QUEUED, TaskState.GENERATING, TaskState.REVISING)


class _EveryKth:
    """True for a share of the questions, spread evenly: the nearest whole number at any time."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._owed = 0.0

    def __call__(self) -> bool:
        self._owed += self._share
        if self._owed < 0.5:
            return False
        self._owed -= 1.0
        return True


def _jobs(tasks: Sequence[TaskView], now: float, figures: Figures, plan: Plan) -> list[Job]:
    """The tasks with their expected future; the round that a task is in is the job's first."""
    sent_back = [_EveryKth(figures.revise_rate) for _ in range(plan.revisions)]
    fails = _EveryKth(Prices().check_failures)
    jobs = []
    for task in tasks:
        rounds = 1
        reviewed = task.id not in plan.unreviewed
        tested = task.project_id not in plan.untested
        while reviewed and task.round + rounds <= plan.revisions and sent_back[task.round + rounds - 1]():
            rounds += 1
        # A request under way is half done, on average.
        begun = 0.5 if task.state in _IN_FLIGHT else 1.0
        write, review = Request(0.0, figures.proposal_tokens), Request(0.0, figures.review_tokens)
        jobs.append(
            Job(
                id=task.id,
                project=task.project_id,
                arrival=min(0.0, task.since - now),
                writes=(replace(write, tokens=write.tokens * begun), *[write] * (rounds - 1)),
                reviews=(replace(review, tokens=review.tokens * begun), *[review] * (rounds - 1))
                if reviewed
                else (),
                checks=(plan.check_seconds if tested else 0.0,) * rounds,
                repairs=frozenset(at for at in range(rounds) if reviewed and tested and fails()),
                priority=task.priority,
                writer=task.writer,
            )
        )
    return jobs


def _scenario(figures: Figures, plan: Plan) -> Scenario:
    return Scenario(
        swap_in=figures.swap_in,
        swap_back=figures.swap_back,
        swap_spread=0.0,
        streams=plan.streams,
        cards=2 if plan.both_resident else 1,
        generator=_paced(_USUAL.generator, figures.generator_speed, figures.generator_streams),
        reviewer=_paced(_USUAL.reviewer, figures.reviewer_speed, figures.reviewer_streams),
    )


def _paced(shape: StepTimes, speed: float, streams: float) -> StepTimes:
    """A model that writes `speed` tokens a second with `streams` at once, and grows with their number as `shape` does.

    Reading prompts is part of a measured speed; it takes no time of its own.
    """
    at_once = max(1, round(streams))
    gain = at_once * shape.step_seconds(1) / shape.step_seconds(at_once)
    return replace(shape, decode=speed / gain, prefill=math.inf)


def _prices(figures: Figures) -> Prices:
    return Prices(
        swap_in=figures.swap_in,
        swap_back=figures.swap_back,
        write_seconds=figures.write_seconds,
        review_seconds=figures.review_seconds,
        revise_rate=figures.revise_rate,
    )
