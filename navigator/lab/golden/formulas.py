"""The formulas that rows.toml names. Each calls what the commands call; none holds a figure of its own."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from navigator.domain.timing import distinct_experts
from navigator.evidence.intervals import share, wilson
from navigator.evidence.paired import sign_test
from navigator.lab.speculation import controller, formulas
from navigator.lab.speculation.design import design_runs, longest_prompt
from navigator.lab.speculation.routing import routing
from navigator.scheduling import forecast
from navigator.scheduling.forecast import PUBLISHED, Figures

Value = float | bool | str | list[float]
"""What a formula gives."""


def _figures(figures: Mapping[str, Any] | None = None) -> Figures:
    return dataclasses.replace(PUBLISHED, **(figures or {}))


def _best_speedup(alpha: float, draft_cost: float) -> float:
    return formulas.best_gamma(alpha, draft_cost)[1]


def _speedup_with_traffic(
    alpha: float, gamma: int, draft_cost: float, extra_gigabytes: float, step_gigabytes: float
) -> float:
    return formulas.speedup(alpha, gamma, draft_cost, extra_cost=extra_gigabytes / step_gigabytes)


def _active_traffic(billions: float, bits: float, speed: float) -> float:
    return formulas.traffic(formulas.weight_gigabytes(billions, bits), speed)


def _bandwidth_share(gigabytes: float, speed: float, bandwidth: float) -> float:
    return formulas.traffic(gigabytes, speed) / bandwidth


def _story_speed(tokens: int, rounds: int, draft_ms: float, verify_ms: float) -> float:
    return tokens / (rounds * (draft_ms + verify_ms) / 1000)


def _rises_with(sizes: Sequence[float], gains: Sequence[float]) -> bool:
    return formulas.rises([gain for _, gain in sorted(zip(sizes, gains, strict=True))])


def _batch_form_ratio(gammas: list[int], first: Sequence[float], second: Sequence[float]) -> float:
    speeds = (statistics.fmean(first), statistics.fmean(second))
    return formulas.batch_form_time_ratio((gammas[0], gammas[1]), speeds)


def _routing(config: Mapping[str, Any]) -> str:
    found = routing(config)
    return found.in_words() if found else "no experts"


def _spread(values: Sequence[float]) -> list[float]:
    return [statistics.fmean(values), statistics.stdev(values), max(values) - min(values)]


FORMULAS: dict[str, Callable[..., Value]] = {
    "accepted_of_positions": lambda chances: formulas.tokens_of_positions(chances) - 1,
    "active_traffic": _active_traffic,
    "bandwidth_share": _bandwidth_share,
    "batch_form_ratio": _batch_form_ratio,
    "best_speedup": _best_speedup,
    "break_even_alpha": lambda **given: formulas.break_even_alpha(**given) or math.nan,
    "break_even_tokens": lambda figures: forecast.break_even_tokens(_figures(figures)) or math.nan,
    "cost_from_bytes": formulas.cost_from_bytes,
    "counted_rate": lambda accepted, drafted: accepted / drafted,
    "coverage": formulas.coverage,
    "design_runs": design_runs,
    "distinct_experts": distinct_experts,
    "drafting_milliseconds": lambda gamma, speeds: (
        1000 * formulas.drafting_seconds(gamma, statistics.fmean(speeds))
    ),
    "floor_milliseconds": lambda **given: 1000 * formulas.floor_seconds(**given),
    "gigabytes_per_second": lambda gigabytes, seconds: formulas.traffic(gigabytes, 1 / seconds),
    "longest_prompt": longest_prompt,
    "mean": statistics.fmean,
    "means": lambda groups: [statistics.fmean(group) for group in groups],
    "one_task_against_single": lambda: forecast.one_task_seconds() / PUBLISHED.single_seconds,
    "one_task_seconds": lambda **given: forecast.one_task_seconds(_figures(), **given),
    "possible_percentages": lambda n: [100 * k / n for k in range(n + 1)],
    "rate_for_rounds": formulas.rate_for_rounds,
    "rate_from_alpha": formulas.rate_from_alpha,
    "ratio": lambda part, whole: part / whole,
    "ratio_of_means": lambda first, second: statistics.fmean(first) / statistics.fmean(second),
    "relative_change": formulas.relative_change,
    "rises_with": _rises_with,
    "round_milliseconds": lambda **given: 1000 * formulas.rounds_seconds(**given),
    "round_trip": lambda **given: _figures(given).round_trip,
    "routing": _routing,
    "session_against_single": lambda batch: (
        forecast.forecast(batch).tokens_per_second / PUBLISHED.single_speed
    ),
    "session_speed": lambda batch, figures: forecast.forecast(batch, _figures(figures)).tokens_per_second,
    "share": lambda k, n: share(k, n).rate or 0.0,
    "sign_test": sign_test,
    "slowdown_of_tests": controller.slowdown_of_tests,
    "speedup": formulas.speedup,
    "speedup_with_traffic": _speedup_with_traffic,
    "spread": _spread,
    "state_gigabytes": formulas.state_gigabytes,
    "step_milliseconds": lambda speed: 1000 / speed,
    "story_speed": _story_speed,
    "sum": lambda values: sum(values),
    "swap_each": lambda batch: forecast.forecast(batch, _figures()).swap_each,
    "swap_in": lambda **given: _figures(given).swap_in,
    "swap_in_each": lambda batch: forecast.forecast(batch, _figures()).swap_in_each,
    "test_iterations": controller.test_iterations,
    "test_iterations_backing_off": controller.test_iterations_backing_off,
    "tokens_for_coverage": formulas.tokens_for_coverage,
    "tokens_per_round": formulas.tokens_per_round,
    "wilson": lambda k, n: list(wilson(k, n)),
    "write_seconds": lambda batch: forecast.forecast(batch, _figures()).write_seconds,
}
"""Formula by name, called with a row's inputs."""
