"""What swaps took, by direction and by phase; and how long a rehearsed session would have taken.

Failed and external swaps are counted, but not timed.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from navigator.figures.intervals import Durations, summarise
from navigator.model.models import Swap, SwapPhase
from navigator.model.states import Role
from navigator.model.timing import StepTimes

DONE = "done"

OUTSIDE = "outside"

NEWEST = 500
"""Newest swaps that the medians of a forecast and of the screens are made from."""


@dataclass(frozen=True, slots=True)
class Direction:
    """All swaps of one strategy from one role to another.

    Attributes:
        from_role: None when nothing was loaded.
        to_role: the role that was to answer.
        strategy: swaps of different strategies are different things and are never pooled.
        seconds: of the swaps that were done; None when none was.
        phases: of the same swaps, each phase that occurred, in the order of first occurrence. A phase is
            summarised over the swaps that had it.
        failed: how many ended otherwise; their durations are not in the figures.
        failures: the classes of those, with how many each.
        outside: how many were made externally, and were not measured.
    """

    from_role: Role | None
    to_role: Role
    strategy: str
    seconds: Durations | None
    phases: dict[str, Durations]
    failed: int
    failures: dict[str, int] = field(default_factory=dict)
    outside: int = 0


def swap_stats(swaps: Iterable[Swap]) -> tuple[Direction, ...]:
    """Count, mean, median and P95 in seconds, by direction, overall and per phase.

    P95 is interpolated linearly between order statistics (see `percentile`).
    """
    groups: defaultdict[tuple[str, str, str], list[Swap]] = defaultdict(list)
    for swap in swaps:
        if swap.from_role is swap.to_role:
            continue  # nothing was swapped
        origin = swap.from_role.value if swap.from_role else ""
        groups[swap.strategy, origin, swap.to_role.value].append(swap)
    return tuple(_direction(groups[key]) for key in sorted(groups))


def usual_swap(swaps: Sequence[Swap], origin: str, to: str) -> Direction | None:
    """What a swap from one role to another took here, by the strategy of the newest one; None when none was measured.

    Args:
        swaps: newest first.
        origin: "" for a first load, from nothing.
    """
    strategy = next((swap.strategy for swap in swaps), "")
    for row in swap_stats(swaps):
        place = (row.from_role.value if row.from_role else "", row.to_role.value, row.strategy)
        if place == (origin, to, strategy) and row.seconds is not None:
            return row
    return None


def _direction(swaps: Sequence[Swap]) -> Direction:
    ours = [swap for swap in swaps if swap.made_by != OUTSIDE]
    done = [swap for swap in ours if swap.outcome == DONE]
    failed = [swap for swap in ours if swap.outcome != DONE]
    first = swaps[0]
    return Direction(
        from_role=first.from_role,
        to_role=first.to_role,
        strategy=first.strategy,
        seconds=summarise([swap.seconds for swap in done]),
        phases=_phases([swap.phases for swap in done]),
        failed=len(failed),
        failures=dict(Counter(swap.failure or "unknown" for swap in failed).most_common()),
        outside=len(swaps) - len(ours),
    )


def _phases(each: Iterable[Sequence[SwapPhase]]) -> dict[str, Durations]:
    """Seconds by phase, each summarised over those that had it; a phase that occurs twice counts with its sum."""
    by_phase: dict[str, list[float]] = {}
    for phases in each:
        took: dict[str, float] = {}
        for phase in phases:
            took[phase.name] = took.get(phase.name, 0.0) + phase.seconds
        for name, seconds in took.items():
            by_phase.setdefault(name, []).append(seconds)
    return {name: _summary(values) for name, values in by_phase.items()}


def _summary(values: Sequence[float]) -> Durations:
    found = summarise(values)
    assert found is not None  # a group has at least one
    return found


# How long a session would have taken, by a stated model of time: for rehearsals, whose clock is scaled.
#
# The model is `navigator.model.timing`, with the figures that the rehearsal's `/server_info` states. A request costs its
# uncached prompt tokens and its answer's tokens. Requests of one residency begin in the order they were made, as many at
# once as the role may run; prompts are read one after the other while no answer grows; and each answer grows at the speed
# that as many streams have as are still writing.


@dataclass(frozen=True, slots=True)
class ResidencyCall:
    """One model call: uncached prompt tokens, answer tokens, and which residency it fell in."""

    role: Role
    residency: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class ModelledTime:
    """Seconds as run (concurrent) and seconds with one stream at a time; both include the loads."""

    concurrent: float
    serial: float


def modelled_time(
    jobs: Sequence[ResidencyCall],
    loads: Sequence[Role],
    speeds: Mapping[Role, StepTimes],
    streams: Mapping[Role, int],
) -> ModelledTime:
    """The modelled length of a session.

    Args:
        jobs: in the order they were made.
        loads: the role of each load, the first one included.
        speeds: per role; a role without speeds (a cloud model) costs nothing here.
        streams: requests in flight at most, per role.
    """
    loading = sum(speeds[role].load_seconds for role in loads if role in speeds)
    groups: dict[tuple[int, Role], list[ResidencyCall]] = {}
    for job in jobs:
        if job.role in speeds:
            groups.setdefault((job.residency, job.role), []).append(job)
    concurrent = serial = loading
    for (_, role), group in groups.items():
        times = speeds[role]
        reading = times.read_seconds(sum(job.prompt_tokens for job in group))
        answers = [job.completion_tokens for job in group]
        concurrent += reading + _writing_seconds(answers, times, max(1, streams.get(role, 1)))
        serial += reading + sum(answers) * times.step_seconds(1)
    return ModelledTime(concurrent=concurrent, serial=serial)


def _writing_seconds(answers: Sequence[int], times: StepTimes, streams: int) -> float:
    """Seconds to write all answers. Every running stream is as far as the others: steps are their common clock."""
    total = 0.0
    step = 0
    ends: list[int] = []
    waiting = list(reversed(answers))
    while ends or waiting:
        while waiting and len(ends) < streams:
            heapq.heappush(ends, step + waiting.pop())
        until = ends[0]
        total += (until - step) * times.step_seconds(len(ends))
        step = until
        while ends and ends[0] == step:
            heapq.heappop(ends)
    return total
