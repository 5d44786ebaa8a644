"""`navigator lab speculation predict`: what speculation is worth, from acceptance and costs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from navigator.cli import output
from navigator.lab.speculation.predict import (
    BATCH_FORM_FLAW,
    Experts,
    Given,
    Measured,
    Prediction,
    fit_words,
    measured,
)
from navigator.lab.speculation.predict import predict as predicted
from navigator.lab.speculation.runs import read_runs
from navigator.model.errors import UsageError

_SHARE = click.FloatRange(0, 1)
_ABOVE = click.FloatRange(min=0, min_open=True)


@click.command()
@click.option("--alpha", type=_SHARE, help="Chance that a drafted token is accepted.")
@click.option("--rate", type=_SHARE, help="Instead: accepted ÷ drafted tokens, as servers count.")
@click.option(
    "--rate-gamma",
    type=click.IntRange(min=1),
    metavar="N",
    help="Draft length that the rate was measured with.",
)
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
    "verify",
    multiple=True,
    metavar="V|N=V|prior",
    help="A verifying pass ÷ a step of the target: one for all lengths, one by length (4=1.3, repeatable), or `prior`"
    " from the experts. Default 1.",
)
@click.option("--experts", type=click.IntRange(min=1), metavar="N", help="Routed experts of a layer.")
@click.option("--top-k", type=click.IntRange(min=1), metavar="N", help="Experts that a token uses.")
@click.option(
    "--expert-share", type=_SHARE, default=1.0, show_default=True, help="Their share of what a step reads."
)
@click.option(
    "--state-gb", type=_ABOVE, metavar="GB", help="Hybrid models: the states saved for a drafted token."
)
@click.option("--step-gb", type=_ABOVE, metavar="GB", help="Hybrid models: what a step reads.")
@click.option("--restart-seconds", type=click.FloatRange(min=0), metavar="S", help="What switching costs.")
@click.option("--speed", type=_ABOVE, metavar="TOK/S", help="Speed without speculation.")
@output.JSON
def predict(
    as_json: bool, verify: tuple[str, ...], runs: Path | None, method: str | None, **options: Any
) -> None:
    """Predict the speed-up of speculative decoding, and where it breaks even, from given costs or from measured runs."""
    known = measured(read_runs(runs).runs, method) if runs is not None else None
    if known is None and options["draft_cost"] is None:
        raise UsageError("A prediction needs c.", hint="Give --draft-cost, or --measured.")
    given = _given(verify, options, known)
    found = predicted(given)
    notes = _notes(found, known)
    if as_json:
        fit = {"fit": asdict(known.fit), "timed": [asdict(row) for row in known.rows]} if known else {}
        output.print_json(asdict(found) | {"notes": notes, "measured": known is not None} | fit)
    else:
        if known is not None:
            output.say("\n".join([*fit_words(known), ""]))
        _show_prediction(found, notes, known is not None)


def _given(verify: tuple[str, ...], options: dict[str, Any], known: Measured | None) -> Given:
    count, chosen, share = (options.pop(name) for name in ("experts", "top_k", "expert_share"))
    if (count is None) != (chosen is None):
        raise UsageError("--experts and --top-k belong together.")
    costs = dict(map(_verify_cost, (word for word in verify if word != "prior")))
    if known is not None:
        costs = known.verify_costs | costs
        options["draft_cost"] = known.draft_cost if options["draft_cost"] is None else options["draft_cost"]
        if options["alpha"] is None and options["rate"] is None:
            options["alpha"] = known.alpha
    return Given(
        verify_costs=costs,
        experts=Experts(count, chosen, share) if count else None,
        prior="prior" in verify,
        **options,
    )


def _verify_cost(word: str) -> tuple[int, float]:
    gamma, given, cost = word.rpartition("=")
    try:
        return (int(gamma) if given else 0), float(cost)
    except ValueError:
        raise UsageError(
            f"{word} is no cost of verifying.", hint="Give a number, LENGTH=NUMBER, or `prior`."
        ) from None


def _notes(found: Prediction, known: Measured | None) -> list[str]:
    notes = [BATCH_FORM_FLAW]
    if known is not None and found.gamma not in known.verify_costs:
        notes.append(
            f"γ = {found.gamma} was not measured: its v lies on the line through the nearest lengths."
        )
    if found.verify_cost_source == "assumed to be 1":
        notes.append(
            "v is taken as 1: verifying γ + 1 tokens costs as much as one step. On sparse models it costs more; measure it."
        )
    if found.prior_verify_cost is not None:
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
        ("v, cost of verifying", f"{found.verify_cost:.3f} ({found.verify_cost_source})"),
        ("speed-up", f"{found.speedup:.3f}×"),
        ("  batch form", f"{found.speedup_batch_form:.3f}×"),
        ("breaks even at α", "never" if found.break_even_alpha is None else f"{found.break_even_alpha:.3f}"),
        (
            "breaks even at accepted ÷ drafted",
            "never" if found.break_even_rate is None else f"{found.break_even_rate:.3f}",
        ),
    ]
    if found.prior_verify_cost is not None:
        lines += [
            (f"distinct experts of {found.gamma + 1} tokens", f"{found.distinct_experts:.2f}"),
            ("v from their coverage", f"{found.prior_verify_cost:.3f}"),
            ("  speed-up with it", f"{found.prior_speedup:.3f}×"),
        ]
    if found.hybrid_speedup is not None:
        lines += [
            ("saving states of a hybrid model, steps a round", f"{found.state_cost:.3f}"),
            ("decoding again after a rejection, steps a round", f"{found.redo_cost:.3f}"),
            ("  speed-up with both and v = 1 (ZINC, 2026)", f"{found.hybrid_speedup:.3f}×"),
        ]
    if found.break_even_tokens is not None:
        lines.append(("a restart has paid after", f"{found.break_even_tokens:,.0f} tokens"))
    output.emit(output.table(("predicted" if from_runs else "predicted, not measured", ""), lines))
    for note in notes:
        output.prose(note)
