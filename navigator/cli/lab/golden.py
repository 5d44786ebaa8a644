"""`navigator lab golden`: published figures, recomputed from their inputs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from navigator.cli import output
from navigator.lab.golden.rows import PACKAGED, Outcome, recompute

_WRONG = ("contradicts", "premise does not hold")


@click.command()
@click.option(
    "--rows",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=PACKAGED,
    help="Recompute the rows of this TOML file instead of the packaged ones.",
)
@click.option("--all", "every", is_flag=True, help="Show the figures that hold, too.")
@output.JSON
@click.pass_context
def golden(ctx: click.Context, path: Path, every: bool, as_json: bool) -> None:
    """Recompute published figures about speculation and swapping, and say whether what is printed holds.

    Every figure comes from its inputs, through the functions that `lab speculation`, `forecast` and `stats` use.
    """
    found = recompute(path)
    agree = sum(outcome.agrees for outcome in found)
    if as_json:
        output.print_json({"rows": list(map(document, found)), "agree": agree, "total": len(found)})
    else:
        _tell(found, agree, every)
    if agree < len(found):
        ctx.exit(1)


def document(outcome: Outcome) -> dict[str, Any]:
    """One row as JSON."""
    row = outcome.row
    return {
        "id": row.id,
        "source": row.source,
        "what": row.what,
        "formula": row.formula,
        "expected": row.expected,
        "computed": outcome.computed,
        "printed": row.printed,
        "agrees": outcome.agrees,
        "verdict": outcome.verdict,
        "note": row.note,
    }


def _tell(found: list[Outcome], agree: int, every: bool) -> None:
    counts = Counter(outcome.verdict for outcome in found)
    for source in dict.fromkeys(outcome.row.source for outcome in found):
        rows = [outcome for outcome in found if outcome.row.source == source]
        shown = [outcome for outcome in rows if every or outcome.verdict in _WRONG or not outcome.agrees]
        holding = sum(outcome.verdict == "reproduces" for outcome in rows)
        claims = sum(outcome.verdict != "no claim" for outcome in rows)
        printed = f"{claims} printed, {holding} of them follow" if claims else "none printed"
        output.say(f"{source}: {len(rows)} figures, {printed}", bold=True)
        for outcome in shown:
            _tell_one(outcome)
        output.say()
    output.say(f"{agree} of {len(found)} computed as expected.", bold=True)
    output.say(
        f"Of the printed figures {counts['reproduces']} follow from their inputs, {counts['contradicts']} do not,"
        f" {counts['premise does not hold']} rest on a premise that does not hold; {counts['no claim']} rows claim nothing."
    )
    if not every:
        output.say("--all shows those that follow, too.")


def _tell_one(outcome: Outcome) -> None:
    row = outcome.row
    output.say(f"  {row.id}  {row.what}")
    output.say(f"      computed {value(outcome.computed)}; printed {row.printed}; {outcome.verdict}")
    if not outcome.agrees:
        output.say(f"      expected {value(row.expected)}: the computation is wrong")
    if row.note:
        output.say(f"      {row.note}")


def value(computed: object) -> str:
    """A computed value in a table."""
    if isinstance(computed, bool):
        return "yes" if computed else "no"
    if isinstance(computed, list):
        return ", ".join(map(value, computed))
    return f"{computed:.5g}" if isinstance(computed, (int, float)) else str(computed)
