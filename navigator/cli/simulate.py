"""`navigator simulate`: the scheduler against other policies, on a virtual clock."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from navigator.cli import output

if TYPE_CHECKING:
    from navigator.scheduling.simulator.scenario import Scenario


@click.command()
@click.option(
    "--scenario",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    help="A TOML file; without one, a batch at the published speeds.",
)
@click.option("--tasks", type=click.IntRange(min=1), default=None, help="How many tasks arrive.")
@click.option("--projects", type=click.IntRange(min=1), default=None, help="Over how many repositories.")
@click.option(
    "--arrivals",
    type=click.Choice(["at once", "steady", "bursts", "overnight"]),
    default=None,
    help="How they arrive.",
)
@click.option("--seed", type=int, default=None, help="Another seed draws other sizes and verdicts.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def simulate(path: Path | None, as_json: bool, **given: Any) -> None:
    """Run the scheduler and its opponents over the same simulated tasks.

    No model is called and nothing is measured: speeds, swaps, sizes and verdicts are those of the scenario. The limits of [batch]
    are those of your settings. The bound is what no policy can beat.
    """
    from navigator.cascade.views.finish import batch_rules
    from navigator.config.settings import load_settings
    from navigator.scheduling.simulator.bounds import bound
    from navigator.scheduling.simulator.policies import contenders
    from navigator.scheduling.simulator.scenario import workload
    from navigator.scheduling.simulator.session import simulate as simulated

    named = {key: value for key, value in given.items() if value is not None}
    scenario = replace(_read(path), **named)
    jobs = workload(scenario)
    found = [
        (contender.name, simulated(scenario, jobs, contender.policy, contender.rules))
        for contender in contenders(batch_rules(load_settings()))
    ]
    least = bound(scenario, jobs)
    if as_json:
        output.print_json(
            {
                "scenario": asdict(scenario),
                "policies": [{"name": name, **asdict(outcome)} for name, outcome in found],
                "bound": asdict(least),
                "simulated": True,
            }
        )
        return
    output.say(
        f"Simulated: {scenario.name}, {scenario.tasks} tasks, {scenario.arrivals}. Nothing was measured."
    )
    rows = [
        (
            name,
            output.duration(outcome.makespan),
            output.duration(outcome.mean_wait),
            output.duration(outcome.p95_wait),
            output.duration(outcome.longest_review_wait),
            str(outcome.swaps),
            f"{outcome.gpu_idle_share:.0%}",
        )
        for name, outcome in found
    ]
    rows.append(
        (least.kind, output.duration(least.makespan), output.duration(least.mean_wait), "", "", "", "")
    )
    heads = ("policy", "all done", "mean wait", "P95", "for review", "swaps", "GPU idle")
    output.emit(output.table(heads, rows, right=range(1, 7)))


def _read(path: Path | None) -> Scenario:
    import tomllib

    from navigator.domain.errors import UsageError
    from navigator.scheduling.simulator.scenario import Scenario, read_scenario

    if path is None:
        return Scenario()
    try:
        return read_scenario(tomllib.loads(path.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error
