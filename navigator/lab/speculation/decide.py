"""Whether to speculate, decided from measured runs.

The unit is one start of the server (a block), since the same configuration moves more between starts than within one. In each
block the runs with a draft are compared with those without, on the prompts that both have; the logarithm of that ratio is
one observation. A method is used if the lower end of the 95 % interval of its mean is above the smallest gain that is worth
having: 3 %, or the standard deviation between blocks if that is more.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from navigator.figures.intervals import mean_interval
from navigator.lab.speculation.runs import Run, by_start
from navigator.lab.speculation.tables import findings
from navigator.model.errors import MissingPart

LEAST_BLOCKS = 5
LEAST_GAIN = 0.03

Decision = Literal["use", "do not use", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Drafting:
    """One method at one length, against no speculation.

    Attributes:
        target, draft, gamma: what was compared.
        blocks: starts of the server in which both were measured.
        speedup: geometric mean over blocks; `low` and `high` its 95 % interval, None below two blocks.
        between: standard deviation between blocks, as a share.
        speed, base_speed: pooled tok/s with and without.
        worth: the least gain that counts for this arm.
        verdict, reason: what follows, and why.
    """

    target: str
    draft: str
    gamma: int
    blocks: int
    speedup: float
    low: float | None
    high: float | None
    between: float | None
    speed: float
    base_speed: float
    worth: float
    verdict: Decision
    reason: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The decision: the arm that is used, if any, and one sentence."""

    decision: Decision
    chosen: Drafting | None
    arms: tuple[Drafting, ...]
    sentence: str


def decide(runs: Sequence[Run]) -> Choice:
    """Which method to start the server with, if any.

    Args:
        runs: measured, each with the block it belongs to.

    Raises:
        MissingPart: there is nothing to decide from.
    """
    arms = tuple(sorted(compare(runs), key=lambda arm: -(arm.low or 0.0)))
    if not arms:
        raise MissingPart(
            "There are no runs with and without speculation in the same start block.",
            hint="`navigator lab speculation measure` makes them.",
        )
    if all(arm.blocks < LEAST_BLOCKS for arm in arms):
        raise MissingPart(
            f"{max(arm.blocks for arm in arms)} start blocks were measured; it takes {LEAST_BLOCKS}: repeats within one start"
            " do not show how much a start moves.",
            hint="Continue with `navigator lab speculation measure`; it goes on where it stopped.",
        )
    used = [arm for arm in arms if arm.verdict == "use"]
    if not used:
        unsure = any(arm.verdict == "cannot tell" for arm in arms)
        return Choice("cannot tell" if unsure else "do not use", None, arms, _no_sentence(arms))
    return Choice("use", used[0], arms, _sentence(used[0]))


def compare(runs: Sequence[Run]) -> list[Drafting]:
    """Every method and length against no speculation, block by block."""
    starts = by_start(run for run in runs if run.block)
    false = _false(runs)
    arms = []
    for (target, draft), blocks in starts.items():
        plain = starts.get((target, ""), {})
        for gamma in sorted({gamma for block in blocks.values() for gamma in block if gamma}):
            sides = [
                (blocks[name].get(gamma, ()), plain[name][0]) for name in sorted(blocks.keys() & plain.keys())
            ]
            pairs = [_pooled_on_common(*side) for side in sides]
            if known := [pair for pair in pairs if pair is not None]:
                arms.append(_arm(target, draft, gamma, known, false))
    return arms


def _pooled_on_common(one: Sequence[Run], other: Sequence[Run]) -> tuple[float, float] | None:
    """The speeds of both on the prompts that both have; None where there is no such prompt."""
    first, second = ({(run.prompt, run.prompt_tokens) for run in side} for side in (one, other))
    both = [
        [run for run in side if (run.prompt, run.prompt_tokens) in first & second] for side in (one, other)
    ]
    return (_pooled(both[0]), _pooled(both[1])) if all(both) else None


def _pooled(runs: Sequence[Run]) -> float:
    """Tokens ÷ seconds of all together: the mean of speeds would favour the fast prompts."""
    return sum(run.tokens or 1.0 for run in runs) / sum((run.tokens or 1.0) / run.speed for run in runs)


def _false(runs: Sequence[Run]) -> dict[tuple[str, str, int], str]:
    """Arms whose figures cannot be true, with the arithmetic."""
    wrong = [finding for finding in findings(runs) if finding.severity == "impossible"]
    return {
        (run.target, run.draft, run.gamma): finding.arithmetic
        for finding in wrong
        for run in runs
        if run.line in finding.lines and run.speculated
    }


def _arm(
    target: str,
    draft: str,
    gamma: int,
    pairs: Sequence[tuple[float, float]],
    false: dict[tuple[str, str, int], str],
) -> Drafting:
    logs = [math.log(one / other) for one, other in pairs]
    n, mean = len(logs), statistics.fmean(logs)
    sd = statistics.stdev(logs) if n > 1 else None
    worth = max(LEAST_GAIN, sd or 0.0)
    between = mean_interval(logs)
    low, high = (None, None) if between is None else map(math.exp, between)
    verdict, reason = _decision(n, low, high, worth)
    wrong = false.get((target, draft, gamma))
    if wrong and verdict == "use":  # that a server is slower by the clock stands, whatever its counters say
        verdict, reason = "cannot tell", f"its figures cannot be true: {wrong}"
    return Drafting(
        target=target,
        draft=draft,
        gamma=gamma,
        blocks=n,
        speedup=math.exp(mean),
        low=low,
        high=high,
        between=sd,
        speed=n / sum(1 / one for one, _ in pairs),
        base_speed=n / sum(1 / other for _, other in pairs),
        worth=worth,
        verdict=verdict,
        reason=reason,
    )


def _decision(n: int, low: float | None, high: float | None, worth: float) -> tuple[Decision, str]:
    if n < LEAST_BLOCKS or low is None or high is None:
        return "cannot tell", f"{n} blocks; it takes {LEAST_BLOCKS}"
    if low > 1 + worth:
        return "use", f"at least {low - 1:+.1%}, above the {worth:.1%} that counts"
    if high < 1 + worth:
        return "do not use", f"at most {high - 1:+.1%}, below the {worth:.1%} that counts"
    return "cannot tell", f"between {low - 1:+.1%} and {high - 1:+.1%}; {worth:.1%} counts"


def _sentence(chosen: Drafting) -> str:
    assert chosen.low is not None
    assert chosen.high is not None
    return (
        f"Use {chosen.draft} with γ = {chosen.gamma}: {chosen.speedup - 1:+.0%} (95 %: {chosen.low - 1:+.0%} to"
        f" {chosen.high - 1:+.0%}, {chosen.blocks} starts). It costs nothing at the next swap, which starts the server anyway."
    )


def _no_sentence(arms: Sequence[Drafting]) -> str:
    best = arms[0]
    return (
        f"Do not speculate: the best, {best.draft} with γ = {best.gamma}, has {best.speedup - 1:+.1%} ({best.reason})."
        if best.verdict == "do not use"
        else f"No method is shown to gain: {best.draft} with γ = {best.gamma} has {best.speedup - 1:+.1%} ({best.reason})."
    )
