"""`navigator lab speculation measure`: run a plan on a real server."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from navigator.cli import output
from navigator.cli.lab.decision import decision, tell_decision
from navigator.cli.lab.estimates import tell_estimates
from navigator.cli.lab.places import role_option, runs_file
from navigator.lab.speculation.checks import Facts, Finding, findings
from navigator.lab.speculation.estimates import Estimate, estimates
from navigator.lab.speculation.measuring.plan import Plan, prompt_texts, read_plan
from navigator.lab.speculation.measuring.progress import RANDOM, note_progress
from navigator.lab.speculation.runs import read_runs
from navigator.model.states import Role
from navigator.model.text import plural


@click.command()
@click.argument("plan", type=click.Path(path_type=Path, dir_okay=False))
@role_option("Whose server the plan starts; names the file of results.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Results; by default in the state folder.",
)
@click.option(
    "--starts",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop after N starts of the server; run again to go on.",
)
@click.option("--dry-run", is_flag=True, help="Print the order of starts, and start nothing.")
@click.option(
    "--restart-seconds",
    type=click.FloatRange(min=0),
    metavar="S",
    help="For the decision: seconds of a start; default: of its last swaps.",
)
@click.option(
    "--tokens-until-swap",
    type=click.FloatRange(min=0),
    metavar="N",
    help="For the decision: tokens that the model writes before it is swapped out; default: a batch's.",
)
@click.option(
    "--profile", metavar="NAME", help="Profile to write the choice into: a packaged one or a .toml file."
)
@click.option(
    "--write", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the profile here."
)
@output.JSON
def measure(
    plan: Path,
    role: str,
    out: Path | None,
    starts: int | None,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Measure speculative decoding as PLAN (TOML) says: every method and length in each of several start blocks.

    The server is started for every method, block by block, in random order. What was measured is kept after each start; run the
    command again to go on. Nothing else should use the machine meanwhile. It ends with the decision whether to speculate, which
    takes five blocks; --write writes the choice into a profile.
    """
    from navigator.lab.runs import recording
    from navigator.lab.speculation.measuring.runner import finished
    from navigator.lab.speculation.measuring.runner import measure as measured

    read = read_plan(plan)
    results = out or runs_file(Role(role))
    if dry_run:
        _tell_order(read, finished(results, read), as_json)
        return
    words = (
        "lab",
        "speculation",
        "measure",
        str(plan.resolve()),
        "--role",
        role,
        "--out",
        str(results.resolve()),
    )
    about = f"{read.engine.target} with {', '.join(method.name for method in read.method)}"
    with recording("speculation", results, words, about=about) as record:
        note_progress(record, read, results)

        def report(line: str) -> None:
            output.note(line)
            note_progress(record, read, results)

        left = measured(read, prompt_texts(read, plan), results, report, most_starts=starts)
    runs = read_runs(results).runs
    found, costs = findings(runs, Facts()), estimates(runs)
    chosen = decision(runs, Role(role), options)
    if as_json:
        output.print_json(
            {
                "results": str(results),
                "runs": len(runs),
                "starts_left": left,
                "random_weights": read.engine.random_weights,
                "about": read.engine.about,
                "estimates": list(map(asdict, costs)),
                "findings": list(map(asdict, found)),
                "decision": chosen,
            }
        )
    else:
        _tell(read.engine.random_weights, costs, found, results, left)
        tell_decision(chosen)


def _tell_order(plan: Plan, done: set[tuple[int, str, int]], as_json: bool) -> None:
    starts = [
        {
            "block": block + 1,
            "method": arm.method,
            "gamma": arm.gamma,
            "done": (block, arm.method, arm.gamma) in done,
        }
        for block, arm in plan.order()
    ]
    if as_json:
        output.print_json({"starts": starts, "answers_each": plan.each})
        return
    rows = [
        (block + 1, arm.name, plan.each, "done" if start["done"] else "")
        for (block, arm), start in zip(plan.order(), starts, strict=True)
    ]
    output.emit(output.table(("block", "start", "answers", ""), rows, right=(0, 2)))


def _tell(random: bool, costs: list[Estimate], found: list[Finding], results: Path, left: int) -> None:
    if random:
        output.say(RANDOM, bold=True)
    tell_estimates(costs)
    for finding in found:
        output.say(f"{finding.severity}: {finding.kind}: {finding.subject}: {finding.arithmetic}")
    output.say(f"Results: {results}")
    if left:
        output.say(f"{plural(left, 'start')} to go: run the command again.")
