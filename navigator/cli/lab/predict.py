"""`navigator lab speculation predict`: what speculation is worth, from acceptance and costs."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import click

from navigator.cli import output
from navigator.lab.speculation.fit import fit_words, measured
from navigator.lab.speculation.predict import BATCH_FORM_FLAW, PRIOR, Given, Prediction
from navigator.lab.speculation.predict import predict as predicted
from navigator.lab.speculation.runs import read_runs
from navigator.model.errors import UsageError

_SHARE = click.FloatRange(0, 1)
_ABOVE = click.FloatRange(min=0, min_open=True)


@click.command()
@click.option("--alpha", type=_SHARE, help="Chance that a drafted token is accepted.")
@click.option("--rate", type=_SHARE, help="Instead: accepted ÷ drafted tokens, as servers count.")
@click.option(
    "--gamma", type=click.IntRange(min=1), metavar="N", help="Draft length; by default the best of 1 to 16."
)
@click.option(
    "--draft-cost",
    type=click.FloatRange(min=0),
    metavar="C",
    help="A draft step ÷ a step of the target.",
)
@click.option(
    "--measured",
    "runs",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Instead of c, v and α: the runs that `measure` wrote.",
)
@click.option(
    "--method", metavar="[TARGET/]NAME", help="Which of the measured methods, where there are several."
)
@click.option(
    "--verify-cost",
    metavar="V|prior",
    help="A verifying pass ÷ a step of the target, or `prior` from the experts. Default 1.",
)
@click.option("--experts", type=click.IntRange(min=1), metavar="N", help="Routed experts of a layer.")
@click.option("--top-k", type=click.IntRange(min=1), metavar="N", help="Experts that a token uses.")
@click.option("--restart-seconds", type=click.FloatRange(min=0), metavar="S", help="What switching costs.")
@click.option("--speed", type=_ABOVE, metavar="TOK/S", help="Speed without speculation.")
@output.JSON
def predict(
    as_json: bool,
    verify_cost: str | None,
    runs: Path | None,
    method: str | None,
    **options: Any,
) -> None:
    """Predict the speed-up of speculative decoding, and where it breaks even, from given costs or from measured runs."""
    known = measured(read_runs(runs).runs, method) if runs is not None else None
    if known is None and options["draft_cost"] is None:
        raise UsageError("A prediction needs c.", hint="Give --draft-cost, or --measured.")
    cost = _verify_cost(verify_cost)
    if known is not None:
        cost = known.verify_cost if cost is None else cost
        if options["draft_cost"] is None:
            options["draft_cost"] = known.draft_cost
        if options["alpha"] is None and options["rate"] is None:
            options["alpha"] = known.alpha
    found = predicted(Given(verify_cost=cost, **options))
    notes = _notes(cost)
    if as_json:
        fit = {"fit": asdict(known.fit)} if known else {}
        output.print_json(asdict(found) | {"notes": notes, "measured": known is not None} | fit)
    else:
        if known is not None:
            output.say("\n".join([*fit_words(known), ""]))
        _show_prediction(found, notes, known is not None)


def _verify_cost(word: str | None) -> float | Literal["prior"] | None:
    if word is None or word == PRIOR:
        return PRIOR if word else None
    try:
        cost = float(word)
    except ValueError:
        cost = 0.0
    if not 0 < cost < math.inf:
        raise UsageError(f"{word} is no cost of verifying.", hint="Give a number above zero, or `prior`.")
    return cost


def _notes(verify_cost: float | str | None) -> list[str]:
    notes = [BATCH_FORM_FLAW]
    if verify_cost is None:
        notes.append(
            "v is taken as 1: verifying γ + 1 tokens costs as much as one step. On sparse models it costs more; measure it."
        )
    if verify_cost == PRIOR:
        notes.append(
            "The prior takes each token's experts as independent and counts reading only: an upper bound of that part. Text"
            " repeats its experts."
        )
    return notes


def _show_prediction(found: Prediction, notes: list[str], from_runs: bool) -> None:
    lines: list[tuple[str, str]] = [
        ("draft length γ", str(found.gamma)),
        ("α, chance that a drafted token is accepted", f"{found.alpha:.3f}"),
        ("accepted ÷ drafted at this γ", f"{found.rate:.3f}"),
        ("tokens a round", f"{found.expected_tokens:.3f}"),
        ("v, cost of verifying", f"{found.verify_cost:.3f}"),
        ("speed-up", f"{found.speedup:.3f}×"),
        ("  batch form", f"{found.speedup_batch_form:.3f}×"),
        ("breaks even at α", "never" if found.break_even_alpha is None else f"{found.break_even_alpha:.3f}"),
    ]
    if found.distinct_experts is not None:
        lines.append((f"distinct experts of {found.gamma + 1} tokens", f"{found.distinct_experts:.2f}"))
    if found.break_even_tokens is not None:
        lines.append(("a restart has paid after", f"{found.break_even_tokens:,.0f} tokens"))
    output.emit(output.table(("predicted" if from_runs else "predicted, not measured", ""), lines))
    for note in notes:
        output.prose(note)
