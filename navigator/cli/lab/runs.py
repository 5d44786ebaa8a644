"""`navigator lab runs`: what the lab works on."""

from __future__ import annotations

import time
from pathlib import Path

import click

from navigator.cli import output
from navigator.lab import runs as lab
from navigator.lab.runs import LabRun
from navigator.model.errors import NavigatorError, UsageError
from navigator.model.text import safe_line


@click.command()
@click.argument("name", required=False)
@click.option("--resume", is_flag=True, help="Go on with NAME in the background; nothing is measured again.")
@click.option("--stop", is_flag=True, help="Stop NAME: its servers are ended, and what was measured is kept.")
@output.JSON
def runs(name: str | None, resume: bool, stop: bool, as_json: bool) -> None:
    """List the lab's runs, or show, resume or stop the run NAME."""
    if (resume or stop) and (name is None or resume is stop):
        raise UsageError(
            "--resume and --stop need the name of one run.", hint="`navigator lab runs` lists them."
        )
    if name is not None and resume:
        _resume(lab.find(name), as_json)
    elif name is not None and stop:
        _stop(lab.find(name), as_json)
    elif name is None:
        found = lab.runs()
        if as_json:
            output.print_json({"runs": [run.document() for run in found]})
        elif found:
            heads = ("run", "state", "done", "left", "decision")
            output.emit(output.table(heads, map(_row, found), right=(2, 3)))
        else:
            output.say("No run was started. `navigator lab --help` lists what can be measured.")
    elif as_json:
        output.print_json(lab.find(name).document())
    else:
        _tell(lab.find(name))


def _resume(run: LabRun, as_json: bool) -> None:
    process = lab.resume(run)
    while not (process.over or process.works):
        time.sleep(0.05)
    if problem := process.problem():
        raise NavigatorError(f"{run.name} does not go on: {problem}")
    if as_json:
        output.print_json({"run": run.name, "pid": process.pid, "log": str(lab.log_file())})
    else:
        output.say(f"{run.name} goes on in the background. What it says: {lab.log_file()}")


def _stop(run: LabRun, as_json: bool) -> None:
    lab.stop(run)
    if as_json:
        output.print_json({"run": run.name, "stopped": True})
    else:
        output.say(f"{run.name} is told to stop. `navigator lab runs {run.name} --resume` goes on with it.")


def _row(run: LabRun) -> tuple[object, ...]:
    left = "–" if run.seconds_left is None else output.duration(run.seconds_left)
    said = run.problem if run.state == "failed" else run.decision
    return run.name, run.state, f"{run.done} of {run.total} {run.unit}".rstrip(), left, safe_line(said)


def _tell(run: LabRun) -> None:
    left = "" if run.seconds_left is None else f", about {output.duration(run.seconds_left)} left"
    output.say(safe_line(f"{run.name}: {run.about or run.kind}"), bold=True)
    output.say(f"{run.state}: {run.done} of {run.total} {run.unit}{left}")
    for line in (run.problem, run.simulated, run.decision):
        if line:
            output.say(safe_line(line))
    for plot in run.plots:
        output.say()
        rows = [
            (safe_line(point.label), *lab.figures(plot, point), safe_line(point.note))
            for point in plot.points
        ]
        output.emit(output.table((safe_line(plot.title), "", "95 %", "n", ""), rows, right=(1, 2, 3)))
    output.say()
    output.say(f"Results: {safe_line(str(Path(run.results)))}")
