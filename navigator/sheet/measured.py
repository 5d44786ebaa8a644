"""Figures of a forecast, from this machine's own swaps and calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from navigator.figures.rates import RELATED, relations, revise_rate
from navigator.figures.swaps import NEWEST, usual_swap
from navigator.model.snapshot import Doubt
from navigator.model.states import Role
from navigator.schedule.forecast import PUBLISHED, Figures
from navigator.store.reads.reader import Reader

if TYPE_CHECKING:
    from navigator.config.settings import SwapSettings


def measured_figures(reader: Reader, swap: SwapSettings) -> tuple[Figures, tuple[str, ...]]:
    """Figures measured here, the published ones for what is not measured yet.

    Args:
        swap: of the settings. Where both models stay loaded, nothing is swapped, and that takes no time.

    Returns:
        The figures, and the names of those that were measured.
    """
    swaps = reader.swaps(NEWEST)
    found: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    ways = (("swap_in", Role.GENERATOR, Role.REVIEWER), ("swap_back", Role.REVIEWER, Role.GENERATOR))
    for name, origin, to in ways:
        took = usual_swap(swaps, origin.value, to.value)
        if took is not None and took.seconds is not None and not swap.keeps_both:
            found[name] = took.seconds.median
    totals = [row for row in reader.call_totals() if row.role is not Role.FINAL]
    # Of several models in one role, the one that was called last.
    for row in sorted(totals, key=lambda row: row.newest):
        speed, streams, tokens = (
            ("generator_speed", "generator_streams", "proposal_tokens")
            if row.role is Role.GENERATOR
            else ("reviewer_speed", "reviewer_streams", "review_tokens")
        )
        if row.tokens_per_second:
            found[speed] = row.tokens_per_second
            beside[streams] = row.streams or 1.0
            if row.role is Role.REVIEWER:  # the model that would stay loaded, were there no other
                found["single_speed"] = row.tokens_per_second
        if row.batch_calls:
            found[tokens] = row.batch_tokens / row.batch_calls
    rate = next(iter(revise_rate(reader.verdict_counts()).rows), None)
    if rate is not None and rate.rate is not None:
        found["revise_rate"] = rate.rate
        beside |= {"revise_n": rate.n, "revise_low": rate.low, "revise_high": rate.high}
    again_n, again = reader.again_counts()
    figures = PUBLISHED
    if swap.keeps_both:
        figures = replace(PUBLISHED, swap_in=0.0, swap_back=0.0)
        found |= {"swap_in": 0.0, "swap_back": 0.0} if found else {}
    if found:
        figures = replace(
            PUBLISHED,
            **found,
            **beside,
            source="measured",
            again_rate=again / again_n if again_n else 0.0,
            again_n=again_n,
        )
    return figures, tuple(sorted(found))


MOST_LIFT = 3.0
"""By how much a change's uncertainty shortens its longest wait, at most."""


def measured_doubt(reader: Reader) -> Doubt | None:
    """What the mean entropy says of the verdict, for the writer with the most verdicts; None unless it is shown to tell."""
    most = max(relations(reader.entropy_ranks()), key=lambda one: one.n, default=None)
    if most is None or most.verdict != RELATED or most.revise_mean is None or most.approve_mean is None:
        return None
    bits = (most.revise_mean + most.approve_mean) / 2
    above, revised = reader.sent_back_above(most.model, bits)
    usual = most.revise / most.n
    lift = (revised + usual) / (above + 1) / usual  # drawn towards the average by one change
    return Doubt(bits, min(MOST_LIFT, max(1.0, lift)))
