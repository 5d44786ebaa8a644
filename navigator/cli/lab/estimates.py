"""What rounds yield and cost, as a table: the same for `measure` and `analyze`."""

from __future__ import annotations

from navigator.cli import output
from navigator.lab.speculation.estimates import Guess


def tell_estimates(costs: list[Guess]) -> None:
    """What rounds yield and cost, as a table; and acceptance by position."""
    heads = (
        *("method", "γ", "runs", "starts", "accepted ÷ drafted", "95 %", "draft's own", "α", "τ"),
        *("round", "step", "c", "v", "same text"),
    )
    several = len({row.target for row in costs}) > 1
    rows = [
        (
            f"{row.target}, {row.draft}" if several else row.draft,
            row.gamma,
            row.runs,
            row.blocks,
            _number(row.rate),
            "–" if row.rate_low is None else f"{row.rate_low:.3f}–{row.rate_high:.3f}",
            _number(row.drafter_rate),
            _number(row.alpha),
            _number(row.tokens_per_round, 2),
            _number(row.round_ms, 2, " ms"),
            _number(row.step_ms, 2, " ms"),
            _number(row.draft_cost),
            _number(row.verify_cost) + _interval(row.verify_cost_interval),
            f"{row.same_text.k} of {row.same_text.n}" if row.same_text.n else "–",
        )
        for row in costs
    ]
    output.emit(output.table(heads, rows, right=range(1, len(heads))))
    for row in costs:
        if row.positions:
            shares = ", ".join(f"{share:.2f}" for share in row.positions)
            output.say(f"{row.draft} γ = {row.gamma}: kept up to each position in {shares} of the rounds.")
    output.say(
        "τ: tokens a round. c: a draft step ÷ a step; v: verifying ÷ a step; – where the engine does not time drafting."
        " Same text: runs with the very tokens that the prompt gets without speculation."
    )


def _number(value: float | None, digits: int = 3, unit: str = "") -> str:
    return "–" if value is None else f"{value:.{digits}f}{unit}"


def _interval(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f" ({ends[0]:.2f}–{ends[1]:.2f})"
