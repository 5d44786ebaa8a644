"""`navigator lab`: measurements on your own card. What takes long to import is imported when it is called."""

from __future__ import annotations

import shlex

import click

from navigator.cli import output
from navigator.cli.command import Commands, command
from navigator.lab import runs as lab_runs
from navigator.lab.runs import LabRun
from navigator.model.text import safe_line

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
def runs(name: str | None = None) -> None:
    """List the lab's runs, or show the run NAME and the command that continues it."""
    if name is None:
        output.show({"runs": lab_runs.runs()}, lambda found: _list_runs(found["runs"]))
    else:
        output.show(lab_runs.find(name), _show_run)


def _list_runs(found: list[LabRun]) -> None:
    output.table(
        found,
        ("run", lambda run: run.name),
        ("state", lambda run: run.state),
        ("done", lambda run: f"{run.done} of {run.total}"),
        ("decision", lambda run: run.problem if run.state == "failed" else run.decision),
        empty="No run was started. `navigator lab --help` lists what can be measured.",
    )


def _show_run(run: LabRun) -> None:
    output.say(safe_line(f"{run.name}: {run.about or run.kind}"), bold=True)
    output.say(f"{run.state}: {run.done} of {run.total}")
    for line in (run.problem, run.simulated, run.decision):
        if line:
            output.say(safe_line(line))
    output.say(f"Results: {safe_line(run.results)}")
    if run.state == "running":
        output.say(f"Process {run.pid} works on it; if it is ended, what was measured is kept.")
    else:
        words = " ".join(map(shlex.quote, ("navigator", *run.command)))
        output.say(safe_line(f"{'Print its tables' if run.state == 'complete' else 'Go on'}: {words}"))
