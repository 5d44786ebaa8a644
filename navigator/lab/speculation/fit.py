"""c and v from the times of rounds alone, for engines that do not time drafting. Pure.

A round of γ drafts takes v + γ c steps of the target, so rounds at three lengths or more give both: weighted least squares in
each start of the server, against the plain step of the same start, and Student's interval over the starts. What grows with the
length is all in c: drafting one token more, and verifying one position more. v is what a round costs however short the draft
is; on a hybrid model what it costs beyond one step holds restoring the state after a rejection.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from navigator.figures.intervals import mean_interval
from navigator.lab.speculation.runs import Run, by_start
from navigator.lab.speculation.tables import speculation
from navigator.model.errors import UsageError
from navigator.model.text import plural

LEAST_LENGTHS = 3
_CONDITION = 30.0
"""Of the design with columns of equal length; from here on they count as collinear (Belsley, Kuh and Welsch, 1980)."""
_OFF_THE_LINE = 0.02
"""A share of a round; a smaller distance from the line changes no prediction."""

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Round:
    """A round at one length, in steps: as measured, and its share above or below the line."""

    gamma: int
    measured: float
    residual: float | None


@dataclass(frozen=True, slots=True)
class CostFit:
    """One method.

    Attributes:
        starts: of the server, with at least three lengths each.
        rounds: by length.
        draft_cost, verify_cost: c and v, in steps, with their 95 % intervals; None where no line can be drawn.
        residual: root mean square of the residuals, as a share of a round.
        doubts: why c and v cannot be told apart; empty where they can.
    """

    target: str
    draft: str
    starts: int
    rounds: tuple[Round, ...]
    draft_cost: float | None
    verify_cost: float | None
    draft_interval: Interval | None
    verify_interval: Interval | None
    residual: float | None
    doubts: tuple[str, ...]


def fits(runs: Sequence[Run]) -> list[CostFit]:
    """A fit for each target and method whose rounds are counted."""
    grouped = by_start(runs)
    found = []
    for (target, draft), blocks in grouped.items():
        starts = []
        for block, arms in blocks.items() if draft else ():
            if plain := grouped.get((target, ""), {}).get(block, {}).get(0):
                step = statistics.fmean(1 / run.speed for run in plain)
                costs = {gamma: _round(each, step) for gamma, each in sorted(arms.items())}
                starts.append({gamma: cost for gamma, cost in costs.items() if cost})
        if any(starts):
            found.append(_fit(target, draft, starts))
    return found


def _round(runs: Sequence[Run], step: float) -> float | None:
    """Steps that a round takes. Tokens that no round explains were written by plain steps; their time is left out."""
    rounds = accepted = tokens = seconds = 0.0
    for run in runs:
        if run.accepted is None or not run.tokens:
            return None
        tokens, accepted = tokens + run.tokens, accepted + run.accepted
        rounds += run.tokens - run.accepted if run.rounds is None else run.rounds
        seconds += run.tokens / run.speed
    plain = max(0.0, tokens - accepted - rounds)
    return (seconds / step - plain) / rounds if rounds else None


def _fit(target: str, draft: str, starts: Sequence[Mapping[int, float]]) -> CostFit:
    lengths = sorted({gamma for start in starts for gamma in start})
    whole = [start for start in starts if len(start) >= LEAST_LENGTHS]
    lines = [_least_squares(start) for start in whole]
    draws, costs = [line[0] for line in lines], [line[1] for line in lines]
    away: dict[int, list[float]] = defaultdict(list)
    for start, (slope, base) in zip(whole, lines, strict=True):
        for gamma, cost in start.items():
            away[gamma].append((cost - base - slope * gamma) / cost)
    rounds = []
    for gamma in lengths:
        values = [start[gamma] for start in starts if gamma in start]
        residual = statistics.fmean(away[gamma]) if away[gamma] else None
        rounds.append(Round(gamma, statistics.fmean(values), residual))
    residuals = [each.residual for each in rounds if each.residual is not None]
    fit = CostFit(
        target=target,
        draft=draft,
        starts=len(whole),
        rounds=tuple(rounds),
        draft_cost=statistics.fmean(draws) if draws else None,
        verify_cost=statistics.fmean(costs) if costs else None,
        draft_interval=mean_interval(draws),
        verify_interval=mean_interval(costs),
        residual=math.sqrt(statistics.fmean(each**2 for each in residuals)) if residuals else None,
        doubts=(),
    )
    return replace(fit, doubts=tuple(_doubts(fit, away)))


def _least_squares(start: Mapping[int, float]) -> tuple[float, float]:
    """Slope and intercept, every point weighted by its own size: starts differ by a share, not by so many steps."""
    one = math.fsum(1 / cost**2 for cost in start.values())
    both = math.fsum(gamma / cost**2 for gamma, cost in start.items())
    square = math.fsum((gamma / cost) ** 2 for gamma, cost in start.items())
    ones = math.fsum(1 / cost for cost in start.values())
    sums = math.fsum(gamma / cost for gamma, cost in start.items())
    determinant = one * square - both**2
    return (one * sums - both * ones) / determinant, (square * ones - both * sums) / determinant


def _doubts(fit: CostFit, away: Mapping[int, Sequence[float]]) -> Iterator[str]:
    lengths = [each.gamma for each in fit.rounds]
    if len(lengths) < LEAST_LENGTHS or fit.draft_cost is None:
        yield (
            f"{len(lengths)} lengths were measured (γ = {', '.join(map(str, lengths))}); it takes {LEAST_LENGTHS} in one start:"
            " two points always lie on a line"
        )
        return
    if fit.draft_interval is None or fit.verify_interval is None:
        yield "one start of the server was measured: how much starts differ is not known"
        return
    cosine = sum(lengths) / math.sqrt(len(lengths) * sum(gamma**2 for gamma in lengths))
    if (condition := math.sqrt((1 + cosine) / (1 - cosine))) > _CONDITION:
        yield (
            f"the lengths are too much alike (condition {condition:.0f}, above {_CONDITION:.0f}): measure shorter and longer"
            " drafts"
        )
    for name, (low, high) in {"c": fit.draft_interval, "v": fit.verify_interval}.items():
        if low <= 0:
            yield f"{name} is between {low:.3f} and {high:.3f}: it cannot be distinguished from zero, nor from the other cost"
    if fit.verify_interval[1] < 1:
        yield f"v is at most {fit.verify_interval[1]:.2f}, and no verifying takes less than a step: the costs are on no line"
    for gamma, shares in away.items():
        between, mean = mean_interval(shares), statistics.fmean(shares)
        if abs(mean) > _OFF_THE_LINE and between is not None and not between[0] <= 0 <= between[1]:
            yield (
                f"at γ = {gamma} a round takes {mean:+.1%} of the line's, beyond what starts differ: v is not the same at"
                " every length"
            )
            return


# What a prediction takes from measured runs.


@dataclass(frozen=True, slots=True)
class Measured:
    """What runs say of one method: the fit of its rounds, and what a prediction takes from it."""

    fit: CostFit
    draft_cost: float
    verify_cost: float
    alpha: float | None


def measured(runs: Sequence[Run], method: str | None = None) -> Measured:
    """The costs of one method, as they follow from the times of its rounds.

    Raises:
        UsageError: no method has counted rounds at enough lengths beside runs without speculation, or `method` names none or is
            missing.
    """
    every = fits(runs)
    found = [fit for fit in every if method in (None, fit.draft, f"{fit.target}/{fit.draft}")]
    if len(found) != 1:
        names = ", ".join(f"{fit.target}/{fit.draft}" for fit in every)
        raise UsageError(
            f"These runs have rounds of {len(found)} methods beside starts without speculation.",
            hint=f"--method takes one of {names}." if every else "`measure` makes such runs (docs/lab.md).",
        )
    fit = found[0]
    if fit.draft_cost is None or fit.verify_cost is None:
        raise UsageError(
            f"{fit.draft}: {fit.doubts[0]}.", hint="`measure` a plan with more lengths (docs/lab.md)."
        )
    rows = [row for row in speculation(runs) if (row.target, row.draft) == (fit.target, fit.draft)]
    alphas = [row.alpha for row in rows if row.alpha is not None]
    return Measured(
        fit=fit,
        draft_cost=max(0.0, fit.draft_cost),
        verify_cost=max(1e-9, fit.verify_cost),
        alpha=sum(alphas) / len(alphas) if alphas else None,
    )


def fit_words(fit: CostFit) -> list[str]:
    """The fit for people: rounds by length, c and v with their intervals and what they hold, and what is doubtful."""
    lines = [f"{fit.target}, {fit.draft}: rounds in steps of the target, {plural(fit.starts, 'start')}"]
    for each in fit.rounds:
        off = "" if each.residual is None else f", {each.residual:+.1%} off the line"
        lines.append(f"  γ = {each.gamma}: {each.measured:.3f}{off}")
    if fit.draft_cost is not None and fit.verify_cost is not None and fit.residual is not None:
        lines.append(
            f"  c = {fit.draft_cost:.3f}{_between(fit.draft_interval)}: what a longer draft adds, drafting and verifying together"
        )
        lines.append(
            f"  v = {fit.verify_cost:.3f}{_between(fit.verify_interval)}: what does not shrink with γ, {fit.verify_cost - 1:+.3f}"
            " against a step; on a hybrid model restoring its state is in it"
        )
        lines.append(f"  residual: {fit.residual:.2%} of a round")
    lines += [f"  Not told apart: {doubt}." for doubt in fit.doubts]
    return lines


def _between(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f" ({ends[0]:.3f} to {ends[1]:.3f})"
