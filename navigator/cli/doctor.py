"""`navigator doctor`: what is here, what is missing, how to get it, where the log is; with --plan, what fits on a card."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Annotated

import click

from navigator.cli import output
from navigator.cli.command import Value, command
from navigator.cli.session import state_paths
from navigator.config.settings import load_settings
from navigator.model.errors import UsageError
from navigator.model.text import plural
from navigator.setup.doctor import look_at_everything
from navigator.setup.plan import MemoryPlan, plan_here

_MARKS = {"ok": "✓", "warn": "!", "missing": "✗"}

_STRATEGIES = {
    "resident": 'strategy = "resident"',
    "sleep": 'strategy = "sleep"',
    "swap": 'strategy = "systemd" or "managed"',
}

_Gigabytes = Annotated[float, Value("GB", type=click.FloatRange(min=1))]
_Model = Annotated[str, Value("MODEL")]


@command()
def doctor(
    *,
    plan: bool = False,
    card: _Gigabytes | None = None,
    ram: _Gigabytes | None = None,
    generator: _Model | None = None,
    reviewer: _Model | None = None,
) -> None:
    """Check what Navigator needs: what is there, what is missing, how to get it.

    Exits with 3 if something is missing.

    Args:
        plan: Show instead how much GPU memory a pair of models needs, and how to swap.
        card: With --plan: GPU memory, of 1,024 MiB.
        ram: With --plan: host memory.
        generator: With --plan: a name, or a folder with a config.json.
        reviewer: With --plan: the same for the model that reviews.
    """
    if plan:
        made = plan_here(load_settings(), card=card, ram=ram, generator=generator, reviewer=reviewer)
        output.show(made, _show_plan)
        return
    if card or ram or generator or reviewer:
        raise UsageError("Those options belong to --plan.", hint="Add --plan.")
    paths = state_paths()
    items = list(look_at_everything(paths))
    counts = Counter(item.state for item in items)

    def text(_: object) -> None:
        for item in items:
            first = f"{_MARKS[item.state]} {item.state:<8} {item.name:<16} "
            output.prose(item.found, " " * 28, first=first)
            if item.hint:
                output.prose(item.hint, " " * 28)
        warnings = plural(counts["warn"], "warning")
        output.say(f"\n{counts['ok']} ok, {warnings}, {counts['missing']} missing. Log: {paths.log}")

    output.show({"items": items, "log": paths.log, "ok": not counts["missing"]}, text)
    if counts["missing"]:
        sys.exit(3)


def _show_plan(found: MemoryPlan) -> None:
    output.prose(
        f"A GPU of {found.card:,} MiB, {found.ram:,} MiB of host memory, a context of {found.tokens:,} tokens"
    )
    for model in (found.generator, found.reviewer):
        output.prose(
            f"{model.name}: weights {model.weights_mib:,} MiB, from {model.weights_source}; states of a request"
            f" {model.states_mib:,} MiB; shape from {model.shape.source}",
            "  ",
        )
    output.say()
    output.table(
        found.fits,
        ("keys and values", lambda fit: fit.cache),
        ("generator", lambda fit: f"{fit.contexts[0]:,} MiB"),
        ("at once", lambda fit: fit.at_once[0]),
        ("reviewer", lambda fit: f"{fit.contexts[1]:,} MiB"),
        ("at once", lambda fit: fit.at_once[1]),
        ("one of each", lambda fit: f"{fit.needed:,} MiB"),
        ("left", lambda fit: f"{fit.left:,} MiB"),
    )
    output.prose(
        "At once: how many whole contexts fit, with their states, while that model is alone on the GPU. All figures are"
        " computed; 2,000 MiB per server is an estimate of what the formulas leave out."
    )
    output.say()
    output.prose(f"{_STRATEGIES.get(found.way, 'It does not fit')}: {found.why}", bold=True)
