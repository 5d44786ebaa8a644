"""What a measurement says of itself while it runs: how far it is, what follows so far, what is plotted."""

from __future__ import annotations

from pathlib import Path

from navigator.lab.runs import Plot, Point, Recorder
from navigator.lab.speculation.decide import Arm, compare, decide
from navigator.lab.speculation.estimates import Estimate, estimates
from navigator.lab.speculation.plan import Plan
from navigator.lab.speculation.runner import finished
from navigator.lab.speculation.runs import read_runs
from navigator.model.errors import MissingPart

RANDOM = "The models have random weights: this tries the method, it says nothing about trained models."


def note_progress(record: Recorder, plan: Plan, results: Path) -> None:
    """Count the starts that are done, decide from them as far as that can be done, and plot gain, acceptance and costs."""
    record.progress(len(finished(results, plan)), len(plan.order()), "starts")
    if not results.exists():
        return
    runs = read_runs(results).runs
    try:
        sentence = decide(runs).sentence
    except MissingPart as missing:
        sentence = f"Nothing is decided yet. {missing.message}"
    random = RANDOM if plan.engine.random_weights else ""
    record.decided(sentence, _plots(compare(runs), estimates(runs)), simulated=random)


def _plots(arms: list[Arm], costs: list[Estimate]) -> tuple[Plot, ...]:
    gain = [
        Point(
            label=_named(arm.draft, arm.gamma),
            value=arm.speedup - 1,
            low=None if arm.low is None else arm.low - 1,
            high=None if arm.high is None else arm.high - 1,
            n=arm.blocks,
            note=arm.verdict,
        )
        for arm in arms
    ]
    kept = [
        Point(
            label=_named(row.draft, row.gamma),
            value=row.rate,
            low=row.rate_low,
            high=row.rate_high,
            n=row.runs,
        )
        for row in costs
        if row.rate is not None
    ]
    verify = [
        Point(
            label=_named(row.draft, row.gamma),
            value=row.verify_cost,
            low=row.verify_cost_interval and row.verify_cost_interval[0],
            high=row.verify_cost_interval and row.verify_cost_interval[1],
            n=row.runs,
        )
        for row in costs
        if row.verify_cost is not None
    ]
    plots = (
        Plot(title="Gain in tok/s against no speculation", unit="%", reference=0.0, points=tuple(gain)),
        Plot(title="Accepted ÷ drafted", unit="%", points=tuple(kept)),
        Plot(title="Verifying ÷ a step (v)", reference=1.0, points=tuple(verify)),
    )
    return tuple(plot for plot in plots if plot.points)


def _named(draft: str, gamma: int) -> str:
    return f"{draft} γ = {gamma}"
