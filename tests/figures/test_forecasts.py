"""How far off forecasts were, and how often the interval held."""

from __future__ import annotations

import pytest

from navigator.figures.forecasts import forecast_errors
from navigator.model.records import ForecastRecord


def record(actual: float, *, low: float = 0.0, high: float = 0.0, outcome: str = "done") -> ForecastRecord:
    return ForecastRecord(
        tasks=5,
        seconds=100.0,
        low=low,
        high=high,
        source="measured",
        outcome=outcome,
        actual_seconds=actual,
        made="2026-01-01T00:00:00.000Z",
    )


def test_only_forecasts_with_an_interval_count_towards_it() -> None:
    (found,) = forecast_errors(
        [
            record(100.0, low=80.0, high=150.0),
            record(160.0, low=80.0, high=150.0),
            record(100.0),  # made before there were intervals
            record(0.0, low=80.0, high=150.0, outcome="changed"),
        ]
    )
    assert (found.n, found.left_out) == (3, 1)
    assert (found.inside.k, found.inside.n) == (1, 2)
    assert found.median == pytest.approx(0.0)
    assert found.p90 == pytest.approx(0.3)  # two of 0, one of 0.375, interpolated
