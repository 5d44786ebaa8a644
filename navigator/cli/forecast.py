"""`navigator forecast`: the time of a batch, from measured or given figures."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from navigator.cascade.views.figures import measured_figures
from navigator.cli import output
from navigator.cli.session import reading
from navigator.domain.states import TaskState
from navigator.scheduling.forecast import Figures, break_even_tokens, price
from navigator.scheduling.forecast import forecast as batch_forecast

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader


_FIGURES = 8
"""Figures that can be measured."""


@click.command()
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=None,
    help="Proposals in a batch; by default the target in the settings.",
)
@click.option("--swap-in", type=float, default=None, metavar="S", help="Seconds of a swap to the reviewer.")
@click.option("--swap-back", type=float, default=None, metavar="S", help="Seconds of a swap back.")
@click.option("--generator-speed", type=float, default=None, metavar="TOK/S", help="Of all streams together.")
@click.option("--reviewer-speed", type=float, default=None, metavar="TOK/S", help="Of all streams together.")
@click.option("--proposal-tokens", type=float, default=None, metavar="N", help="Tokens of a proposal.")
@click.option("--review-tokens", type=float, default=None, metavar="N", help="Tokens of a review.")
@click.option(
    "--revise-rate",
    type=click.FloatRange(0, 1),
    default=None,
    metavar="R",
    help="Share of proposals sent back.",
)
@click.option(
    "--single-speed", type=float, default=None, metavar="TOK/S", help="Of one model that does all the work."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def forecast(batch: int | None, as_json: bool, **given: float | None) -> None:
    """Estimate the time of a batch from figures measured here, else published ones. Options override them."""
    from navigator.config.settings import load_settings

    target = load_settings().batch.target
    with reading() as store:
        figures, origin = _measured(store)
        waiting = len(store.tasks({TaskState.AWAITING_REVIEW}))
    named: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if named:
        figures, origin = replace(figures, **named), f"{origin}, with {', '.join(sorted(named))} as given"
    result = batch_forecast(batch or target, figures)
    now = price(waiting, target, figures)
    alone = break_even_tokens(figures)
    if as_json:
        output.print_json(
            {
                "figures": asdict(figures) | {"source": origin},
                "forecast": asdict(result) | {"source": origin},
                "price": asdict(now),
                "break_even": {"tokens": alone, "against_speed": figures.single_speed},
            }
        )
        return
    output.say(f"Figures: {origin}.")
    lines = [
        ("written in", output.duration(result.write_seconds)),
        ("swaps, there and back", output.duration(result.swap_seconds)),
        ("reviewed in", output.duration(result.review_seconds)),
        (f"revised, at {figures.revise_rate:.0%}", output.duration(result.revision_seconds)),
        ("total", output.duration(result.total_seconds)),
        ("swap time per proposal", f"{result.swap_each:.1f} s"),
        ("written tokens per second, overall", f"{result.tokens_per_second:.0f}"),
    ]
    output.emit(output.table((f"a batch of {result.batch}", ""), lines))
    if waiting:
        output.say(
            f"{waiting} waiting; swap time per proposal: {now.now_each:.1f} s now, {now.target_each:.1f} s at {target}."
        )
    if alone is not None:
        output.say(
            f"Compared with a single model at {figures.single_speed:.0f} tok/s without a reviewer, the swaps pay after"
            f" {alone:,.0f} tokens of proposals."
        )


def _measured(reader: Reader) -> tuple[Figures, str]:
    """Figures, and whose they are in words. A rehearsal's are never among them."""
    figures, names = measured_figures(reader, with_rehearsal=False)
    if not names:
        return figures, "as published for one 96 GB GPU (nothing measured here yet)"
    missing = "" if len(names) == _FIGURES else "; the rest as published"
    return figures, f"measured here: {', '.join(names)}{missing}"
