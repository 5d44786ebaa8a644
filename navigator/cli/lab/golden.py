"""`navigator lab golden`: published figures, recomputed from their inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from navigator.cli import output
from navigator.lab.golden.rows import PACKAGED, Outcome, recompute


@click.command()
@click.option(
    "--rows",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=PACKAGED,
    help="Recompute the rows of this TOML file instead of the packaged ones.",
)
@output.JSON
@click.pass_context
def golden(ctx: click.Context, path: Path, as_json: bool) -> None:
    """Recompute published figures about speculation and swapping, and say whether what is printed holds.

    Every figure comes from its inputs, through the functions that `lab speculation`, `forecast` and `stats` use.
    """
    found = recompute(path)
    agree = sum(outcome.agrees for outcome in found)
    if as_json:
        output.print_json({"rows": list(map(document, found)), "agree": agree, "total": len(found)})
    else:
        _tell(found, agree)
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


def _tell(found: list[Outcome], agree: int) -> None:
    rows = [
        (
            outcome.row.id,
            outcome.row.source,
            outcome.row.what,
            value(outcome.computed),
            outcome.row.printed,
            outcome.verdict
            if outcome.agrees
            else f"computed is not the expected {value(outcome.row.expected)}",
        )
        for outcome in found
    ]
    output.emit(output.table(("id", "source", "figure", "computed", "printed", "what is printed"), rows))
    output.say()
    for outcome in found:
        if outcome.row.note and outcome.verdict in ("contradicts", "premise does not hold"):
            output.say(f"{outcome.row.id}: {outcome.row.note}")
    output.say()
    counts = dict.fromkeys(("reproduces", "contradicts", "premise does not hold", "no claim"), 0)
    for outcome in found:
        counts[outcome.verdict] += 1
    output.say(f"{agree} of {len(found)} computed as expected.", bold=True)
    output.say(
        f"Of the printed figures {counts['reproduces']} follow from their inputs, {counts['contradicts']} do not,"
        f" {counts['premise does not hold']} rest on a premise that does not hold; {counts['no claim']} rows have no claim."
    )


def value(computed: object) -> str:
    """A computed value in a table."""
    if isinstance(computed, bool):
        return "yes" if computed else "no"
    if isinstance(computed, list):
        return ", ".join(map(value, computed))
    return f"{computed:.5g}" if isinstance(computed, (int, float)) else str(computed)
