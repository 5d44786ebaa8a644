"""How far off the forecast is from simulated sessions with noise: sizes, verdicts, repairs and swap times are drawn.

    python -m benchmarks.forecast [--tiny | --full] [SESSIONS]

The forecast knows the means that a machine would have measured, and none of the draws. Simulated: nothing here is measured.
"""

from __future__ import annotations

import random
import statistics
import sys
from dataclasses import dataclass

from benchmarks.size import sized
from benchmarks.workloads import Scenario, workload
from navigator.figures.intervals import percentile, share
from navigator.model.snapshot import TaskView
from navigator.model.states import Role, TaskState
from navigator.schedule.batch_time import Figures
from navigator.schedule.forecast import Terms, remaining
from navigator.schedule.session import Session


@dataclass(frozen=True, slots=True)
class Forecast:
    """Seconds that a session was expected to take, between which it was expected to be in four cases of five, and took."""

    expected: float
    low: float
    high: float
    actual: float


def forecasts(sessions: int, seed: int = 1) -> list[Forecast]:
    """So many random sessions."""
    rng = random.Random(seed)
    return [_forecast(_scenario(rng, number)) for number in range(sessions)]


def _scenario(rng: random.Random, number: int) -> Scenario:
    return Scenario(
        name=f"forecast {number}",
        seed=number,
        tasks=rng.choice((3, 8, 15, 30, 60)),
        projects=6,
        revise_rate=rng.choice((0.1, 0.35, 0.5)),
        spread=rng.choice((0.3, 0.5, 0.8)),
        swap_spread=rng.choice((0.05, 0.2)),
        streams=rng.choice(((4, 4), (8, 8), (16, 8))),
        check_seconds=rng.choice((2.0, 5.0, 20.0)),
    )


def _forecast(scenario: Scenario) -> Forecast:
    jobs = workload(scenario)
    actual = max(Session(scenario.machine(), jobs, until="idle").run().ended.values())
    views = [
        TaskView(
            id=job.id, project_id=job.project, state=TaskState.QUEUED, priority=job.priority, order=order,
            round=0, since=0.0,
        )
        for order, job in enumerate(jobs)
    ]  # fmt: skip
    plan = Terms(2, resident=Role.GENERATOR, streams=scenario.streams, check_seconds=scenario.check_seconds)
    expected = remaining(views, 0.0, _measured(scenario), plan)
    assert expected is not None
    return Forecast(expected.seconds, expected.low, expected.high, actual)


def _measured(scenario: Scenario) -> Figures:
    """What a machine would have measured in earlier sessions of this kind: speeds of full streams."""
    speeds = {}
    for role, streams in zip((Role.GENERATOR, Role.REVIEWER), scenario.streams, strict=True):
        speeds[role] = streams / scenario.machine().times[role].step_seconds(streams)
    return Figures(
        swap_in=scenario.swap_in,
        swap_back=scenario.swap_back,
        generator_speed=speeds[Role.GENERATOR],
        reviewer_speed=speeds[Role.REVIEWER],
        proposal_tokens=scenario.proposal_tokens,
        review_tokens=scenario.review_tokens,
        revise_rate=scenario.revise_rate,
        revise_n=50,
        generator_streams=scenario.streams[0],
        reviewer_streams=scenario.streams[1],
        source="measured",
    )


def main() -> None:
    """Print n, median, P90 and bias, and how many took a time within the interval."""
    drawn = forecasts(int(sys.argv[1]) if len(sys.argv) > 1 else sized(3, 50, 200))
    found = [one.expected / one.actual - 1 for one in drawn]
    inside = share(sum(one.low <= one.actual <= one.high for one in drawn), len(drawn))
    sizes = [abs(error) for error in found]
    print(
        f"simulated sessions: {len(found)}; error: median {statistics.median(sizes):.1%}, P90 {percentile(sizes, 0.9):.1%}, "
        f"bias {statistics.median(found):+.1%}; in P10–P90: {inside.rate:.0%} [{inside.low:.0%}–{inside.high:.0%}]"
    )


if __name__ == "__main__":
    main()
