"""`navigator lab speculation measure`: run a plan on a real server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from navigator.cli import output
from navigator.cli.lab.estimates import tell_estimates
from navigator.config.paths import private_folder, state_dir
from navigator.lab.speculation.checks import Facts, Finding, findings
from navigator.lab.speculation.decide import Arm, decide
from navigator.lab.speculation.estimates import Estimate, estimates
from navigator.lab.speculation.plan import Plan, prompt_texts, read_plan
from navigator.lab.speculation.progress import RANDOM, note_progress
from navigator.lab.speculation.runs import Run, read_runs
from navigator.model.errors import MissingPart
from navigator.model.states import Role
from navigator.model.text import plural

# What `navigator lab speculation measure` ends with: whether to speculate, from what was measured.


def decision(runs: list[Run], role: Role, options: dict[str, Any]) -> dict[str, Any]:
    """The decision as JSON has it, and as `tell_decision` prints it; `missing` says why nothing can be decided yet.

    Args:
        options: restart_seconds and tokens_until_swap, as given.
    """
    restart, until, source = _costs(role, options)
    try:
        choice = decide(runs, restart_seconds=restart, tokens_until_swap=until)
    except MissingPart as error:
        return {"decision": "cannot tell", "missing": error.message}
    return {**asdict(choice), "costs": source}


def tell_decision(found: dict[str, Any]) -> None:
    """The decision, for people."""
    if "missing" in found:
        output.say(f"Nothing is decided yet. {found['missing']}")
        return
    heads = ("method", "γ", "starts", "tok/s", "without", "gain", "95 %", "between starts", "decision")
    output.emit(output.table(heads, (_row(Arm(**arm)) for arm in found["arms"]), right=range(1, 8)))
    output.say()
    output.say(found["sentence"], bold=True)
    if found["restart"] is not None:
        output.say(f"A start takes {output.duration(found['restart']['seconds'])} ({found['costs']}).")


def _costs(role: Role, options: dict[str, Any]) -> tuple[float, float, str]:
    """Seconds of a start, tokens until the next swap, and whose figures they are."""
    from navigator.cli.session import reading
    from navigator.config.settings import load_settings
    from navigator.sheet.measured import measured_figures

    with reading() as store:
        figures, names = measured_figures(store, load_settings().swap)
    generator = role is Role.GENERATOR
    seconds, tokens = (
        (figures.swap_back, figures.proposal_tokens)
        if generator
        else (figures.swap_in, figures.review_tokens)
    )
    wanted = ("swap_back", "proposal_tokens") if generator else ("swap_in", "review_tokens")
    source = [
        f"{name}: {'given' if given is not None else 'measured here' if name in names else 'as published, not measured here'}"
        for name, given in zip(
            wanted, (options["restart_seconds"], options["tokens_until_swap"]), strict=True
        )
    ]
    restart, until = options["restart_seconds"], options["tokens_until_swap"]
    return (
        seconds if restart is None else restart,
        load_settings().batch.target * tokens if until is None else until,
        "; ".join(source),
    )


def _row(arm: Arm) -> tuple[object, ...]:
    interval = "–" if arm.low is None or arm.high is None else f"{arm.low - 1:+.1%} to {arm.high - 1:+.1%}"
    return (
        arm.draft,
        arm.gamma,
        arm.blocks,
        f"{arm.speed:.1f}",
        f"{arm.base_speed:.1f}",
        f"{arm.speedup - 1:+.1%}",
        interval,
        "–" if arm.between is None else f"{100 * arm.between:.1f} pp",
        f"{arm.verdict}: {arm.reason}",
    )


# Whose server is measured, and where the lab keeps what it measured.


def role_option(about: str) -> Callable[[Any], Any]:
    """`--role` of the commands that measure a server and decide about it."""
    return click.option(
        "--role",
        type=click.Choice([Role.GENERATOR.value, Role.REVIEWER.value]),
        default=Role.GENERATOR.value,
        show_default=True,
        help=about,
    )


def runs_file(role: Role) -> Path:
    """The runs measured for a role, in the state folder."""
    return private_folder(state_dir() / "lab") / f"speculation-{role.value}.jsonl"


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
    takes five blocks.
    """
    from navigator.lab.runs import recording
    from navigator.lab.speculation.runner import finished
    from navigator.lab.speculation.runner import measure as measured

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
