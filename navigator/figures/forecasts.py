"""How long a session would have taken, by a stated model of time."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from navigator.model.states import Role
from navigator.model.timing import StepTimes

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
