"""How far off forecasts were."""

from __future__ import annotations

import heapq
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from navigator.figures.intervals import Share, percentile, share
from navigator.model.records import ForecastRecord
from navigator.model.states import Role
from navigator.model.timing import StepTimes

CLOSE = 0.2
"""A forecast within this share of what it took is called close."""


@dataclass(frozen=True, slots=True)
class ForecastError:
    """Forecasts from figures of one source. Errors are shares of what it really took.

    Attributes:
        source: "measured", or "published" where any figure was.
        n: forecasts whose tasks were all done, none having come or gone meanwhile.
        left_out: the others; they are compared with nothing.
        median: of the errors' sizes; `p90` of the largest tenth. None where n is 0.
        bias: the median error with its sign: above zero a forecast was too long.
        close: within `CLOSE`.
        inside: of those that had an interval, how many took a time within it; four fifths of them are expected to.
    """

    source: str
    n: int
    left_out: int
    median: float | None
    p90: float | None
    bias: float | None
    close: Share
    inside: Share


def forecast_errors(records: Iterable[ForecastRecord]) -> tuple[ForecastError, ...]:
    """Errors by source; open forecasts are not counted."""
    groups: dict[str, list[ForecastRecord]] = {}
    for record in records:
        if record.outcome:
            groups.setdefault(record.source, []).append(record)
    return tuple(_errors(groups[key]) for key in sorted(groups))


def relative_error(forecast: float, actual: float) -> float:
    """How much too long a forecast was, as a share of the actual time."""
    return forecast / actual - 1


def _errors(records: list[ForecastRecord]) -> ForecastError:
    done = [record for record in records if record.outcome == "done" and record.actual_seconds > 0]
    errors = [relative_error(record.seconds, record.actual_seconds) for record in done]
    sizes = [abs(error) for error in errors]
    ranged = [record for record in done if record.high > 0]
    return ForecastError(
        source=records[0].source,
        n=len(done),
        left_out=len(records) - len(done),
        median=statistics.median(sizes) if sizes else None,
        p90=percentile(sizes, 0.9) if sizes else None,
        bias=statistics.median(errors) if errors else None,
        close=share(sum(size <= CLOSE for size in sizes), len(sizes)),
        inside=share(sum(one.low <= one.actual_seconds <= one.high for one in ranged), len(ranged)),
    )


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
