"""`navigator lab speculation measure`: run a plan on a real server."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from navigator.cli import output
from navigator.cli.lab.analyze import tell_speculation
from navigator.config.paths import private_folder, state_dir
from navigator.lab.speculation.decide import Drafting, decide
from navigator.lab.speculation.plan import Plan, read_plan
from navigator.lab.speculation.rule import rules
from navigator.lab.speculation.runner import RANDOM, note_progress
from navigator.lab.speculation.runs import Run, read_runs
from navigator.lab.speculation.tables import TableFault, findings, speculation
from navigator.model.errors import MissingPart
from navigator.model.states import Role
from navigator.model.text import plural

# What `navigator lab speculation measure` ends with: whether to speculate, from what was measured.


def decision(runs: list[Run]) -> dict[str, Any]:
    """The decision as JSON has it, and as `tell_decision` prints it; `missing` says why nothing can be decided yet."""
    rule = [asdict(each) | {"sentence": each.sentence} for each in rules(runs)]
    try:
        return {**asdict(decide(runs)), "rules": rule}
    except MissingPart as error:
        return {"decision": "cannot tell", "missing": error.message, "rules": rule}


def tell_decision(found: dict[str, Any]) -> None:
    """The decision, for people."""
    for rule in found["rules"]:
        output.prose(rule["sentence"])
    if "missing" in found:
        output.say(f"Nothing is decided yet. {found['missing']}")
        return
    heads = ("method", "γ", "starts", "tok/s", "without", "gain", "95 %", "between starts", "decision")
    output.emit(
        output.table(heads, (_method_row(Drafting(**arm)) for arm in found["arms"]), right=range(1, 8))
    )
    output.say()
    output.say(found["sentence"], bold=True)


def write_decision(runs: list[Run], role: Role, plan: Plan) -> Path:
    """The decision into the unit of the role's server."""
    from navigator.config.settings import load_settings
    from navigator.lab.speculation.decide import write_launch
    from navigator.setup.files import read_text
    from navigator.setup.host_probe import flags_of_unit
    from navigator.setup.install import reload_systemd
    from navigator.setup.places import system_places, user_places

    own = load_settings().swap.systemd
    places = user_places() if own.scope == "user" else system_places()
    unit = places.unit(own.generator_unit if role is Role.GENERATOR else own.reviewer_unit)
    started = flags_of_unit(read_text(unit, places.on) or "").get("--model-path")
    arm = next((arm for arm in plan.arms if arm.model == started), plan.arms[0])
    mine = [run for run in runs if run.target == arm.target]
    write_launch(unit, places.on, decide(mine), mine, arm.model)
    if problem := reload_systemd(places):
        output.note(f"systemd did not reload: {problem}. Run {' '.join(places.systemctl)} daemon-reload.")
    return unit


def _method_row(arm: Drafting) -> tuple[object, ...]:
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


def runs_file(role: Role) -> Path:
    """The runs measured for a role, in the state folder."""
    return private_folder(state_dir() / "lab") / f"speculation-{role.value}.jsonl"


@click.command()
@click.argument("plan", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--role",
    type=click.Choice([Role.GENERATOR.value, Role.REVIEWER.value]),
    default=Role.GENERATOR.value,
    show_default=True,
    help="Whose server the plan starts; names the file of results.",
)
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
@click.option("--write", is_flag=True, help="Put the decision into the unit that starts the role's server.")
@output.JSON
def measure(
    plan: Path,
    role: str,
    out: Path | None,
    starts: int | None,
    dry_run: bool,
    write: bool,
    as_json: bool,
) -> None:
    """Measure speculative decoding as PLAN (TOML) says: every method and length in each of several start blocks.

    The server is started for every method, block by block, in random order. What was measured is kept after each start; run the
    command again to go on. Nothing else should use the machine meanwhile. It ends with the decision whether to speculate, which
    takes five blocks. --write has the next swap start the server that way.
    """
    from navigator.lab.runs import recording
    from navigator.lab.speculation.runner import finished
    from navigator.lab.speculation.runner import measure as measured

    read = read_plan(plan)
    results = out or runs_file(Role(role))
    done = finished(results, read)
    if dry_run:
        _tell_order(read, done, as_json)
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
    targets = list(dict.fromkeys(arm.target for arm in read.arms))
    about = f"{', '.join(targets)} with {', '.join(method.name for method in read.method)}"
    with recording("speculation", results, words, about=about) as record:
        note_progress(record, read, results)

        def report(line: str) -> None:
            output.note(line)
            note_progress(record, read, results)

        left = measured(read, results, report, most_starts=starts)
    runs = read_runs(results).runs
    found = findings(runs)
    chosen = {target: decision([run for run in runs if run.target == target]) for target in targets}
    unit = write_decision(runs, Role(role), read) if write else None
    if as_json:
        output.print_json(
            {
                "results": str(results),
                "runs": len(runs),
                "starts_left": left,
                "random_weights": read.engine.random_weights,
                "about": read.engine.about,
                "speculation": list(map(asdict, speculation(runs))),
                "findings": list(map(asdict, found)),
                "decision": chosen[targets[0]],
                "decisions": chosen,
                "unit": unit and str(unit),
            }
        )
    else:
        _show_measured(runs, found, read.engine.random_weights, results, left)
        for target, each in chosen.items():
            output.say(target)
            tell_decision(each)
        if unit:
            output.say(f"{unit} starts it that way from the next swap on.")


def _tell_order(plan: Plan, done: set[tuple[int, str, str, int]], as_json: bool) -> None:
    starts = [
        {"block": block + 1, "done": (block, *arm.key) in done}
        | dict(zip(("target", "method", "gamma"), arm.key, strict=True))
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


def _show_measured(runs: list[Run], found: list[TableFault], random: bool, results: Path, left: int) -> None:
    if random:
        output.say(RANDOM, bold=True)
    tell_speculation(runs)
    for finding in found:
        output.say(f"{finding.severity}: {finding.kind}: {finding.subject}: {finding.arithmetic}")
    output.say(f"Results: {results}")
    if left:
        output.say(f"{plural(left, 'start')} to go: run the command again.")
    output.say()
