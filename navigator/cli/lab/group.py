"""`navigator lab`: measurements on your own card. Each command is imported when it is called."""

from __future__ import annotations

import click

from navigator.cli.lazy import LazyGroup

_SPECULATION = {
    "analyze": ("lab.analyze", "Make the tables of measured runs, and check what cannot be true"),
    "measure": ("lab.measure", "Measure speculation on a real server, as a plan says, and decide"),
    "predict": ("lab.predict", "Predict the speed-up from acceptance and costs"),
}


@click.group(
    cls=LazyGroup,
    table={
        "speculation": ("lab.group", "Does speculative decoding pay?"),
        "bench": ("lab.bench", "Have twenty small functions written, and run them"),
        "compare": ("lab.compare", "Compare ways of working on the same tasks, executed"),
        "runs": ("lab.runs", "List the lab's runs: progress, time left, decision; resume or stop one"),
    },
)
def lab() -> None:
    """Measurements on your own card."""


@click.group(cls=LazyGroup, table=_SPECULATION)
def speculation() -> None:
    """Does speculative decoding pay?"""
