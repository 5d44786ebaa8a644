"""`navigator lab`: measurements on your own card. What takes long to import is imported when it is called."""

from __future__ import annotations

import shlex

import click

from navigator.cli import output
from navigator.cli.command import Commands, command
from navigator.lab import runs as lab_runs
from navigator.lab.runs import LabRun

_SPECULATION = {
    "analyze": ("lab_speculation", "Make the tables of measured runs, and check what cannot be true"),
    "measure": ("lab_speculation", "Measure speculation on a real server, as a plan says, and decide"),
    "predict": ("lab_speculation", "Predict the speed-up from acceptance and costs"),
}


@click.group(
    cls=Commands,
    table={
        "speculation": ("lab", "Does speculative decoding pay?"),
        "bench": ("lab_compare", "Have twenty small functions written, and run them"),
        "compare": ("lab_compare", "Compare ways of working on the same tasks, executed"),
        "runs": ("lab", "List the lab's runs: progress, decision, and how to go on"),
    },
)
def lab() -> None:
    """Measurements on your own card."""


@click.group(cls=Commands, table=_SPECULATION)
def speculation() -> None:
    """Does speculative decoding pay?"""


@command()
def runs() -> None:
    """List the lab's runs, and the command that goes on with one that is not complete."""
    output.show({"runs": lab_runs.runs()}, lambda found: _list_runs(found["runs"]))


def _list_runs(found: list[LabRun]) -> None:
    output.table(
        found,
        ("run", lambda run: run.name),
        ("state", lambda run: run.state),
        ("done", lambda run: f"{run.done} of {run.total}"),
        ("decision", lambda run: run.problem if run.state == "failed" else run.decision),
        empty="No run was started. `navigator lab --help` lists what can be measured.",
    )
    for run in found:
        if run.simulated:
            output.say(f"{run.name}: {run.simulated}")
        if run.state == "running":
            output.say(
                f"{run.name}: process {run.pid} works on it; if it is ended, what was measured is kept."
            )
        elif run.state != "complete":
            output.say(f"{run.name} goes on with: {shlex.join(('navigator', *run.command))}")
