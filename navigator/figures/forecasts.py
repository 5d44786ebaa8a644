"""How far off forecasts were."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from navigator.figures.intervals import Share, percentile, share
from navigator.model.records import ForecastRecord

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
