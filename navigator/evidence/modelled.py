"""How long a session would have taken, by a stated model of time: for rehearsals, whose clock is scaled.

The model is the rehearsal's own (its `/server_info` states the figures): a request costs its uncached
prompt tokens at the prefill speed and its answer's tokens at the decode speed of as many streams as the
role may run; with n streams each writes at `single / (1 + slowdown · (n − 1))`. Requests of one residency
are laid on the streams in the order they were made, each on the stream that is free first.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from navigator.domain.states import Role


@dataclass(frozen=True, slots=True)
class Speeds:
    """One role's assumptions: tokens a second to read and (single stream) to write, seconds to load."""

    load_seconds: float
    decode: float
    prefill: float
    slowdown: float

    def seconds(self, job: Job, streams: int) -> float:
        """Seconds of one request among `streams` concurrent ones."""
        per_stream = self.decode / (1 + self.slowdown * max(0, streams - 1))
        return job.prompt_tokens / self.prefill + job.completion_tokens / per_stream


@dataclass(frozen=True, slots=True)
class Job:
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
    jobs: Sequence[Job], loads: Sequence[Role], speeds: Mapping[Role, Speeds], streams: Mapping[Role, int]
) -> ModelledTime:
    """The modelled length of a session.

    Args:
        jobs: in the order they were made.
        loads: the role of each load, the first one included.
        speeds: per role; a role without speeds (a cloud model) costs nothing here.
        streams: requests in flight at most, per role.
    """
    loading = sum(speeds[role].load_seconds for role in loads if role in speeds)
    groups: dict[tuple[int, Role], list[Job]] = {}
    for job in jobs:
        if job.role in speeds:
            groups.setdefault((job.residency, job.role), []).append(job)
    concurrent = sum(
        _makespan(group, speeds[role], max(1, min(streams.get(role, 1), len(group))))
        for (_, role), group in groups.items()
    )
    serial = sum(speeds[job.role].seconds(job, 1) for group in groups.values() for job in group)
    return ModelledTime(concurrent=loading + concurrent, serial=loading + serial)


def _makespan(jobs: Sequence[Job], speed: Speeds, streams: int) -> float:
    free = [0.0] * streams
    for job in jobs:
        heapq.heapreplace(free, free[0] + speed.seconds(job, streams))
    return max(free)
