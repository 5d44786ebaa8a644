"""What speculation is worth, predicted from acceptance, costs and shapes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from navigator.lab.speculation import formulas
from navigator.lab.speculation.fit import CostFit, fits
from navigator.lab.speculation.runs import Run
from navigator.lab.speculation.tables import speculation
from navigator.model.errors import UsageError
from navigator.model.text import plural
from navigator.model.timing import distinct_experts

BATCH_FORM_FLAW = (
    "The batch form γ / (γc + v) counts every drafted token as written, also those that are rejected. It does not depend on"
    " acceptance, so it is no speed-up."
)

PRIOR: Literal["prior"] = "prior"


@dataclass(frozen=True, slots=True)
class Experts:
    """Routed experts of a layer, those a token uses, and their share of what a single token's step reads."""

    count: int
    chosen: int
    share: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.chosen <= self.count:
            raise UsageError(
                f"A token cannot use {self.chosen} of {self.count} experts.",
                hint="See --experts and --top-k.",
            )


@dataclass(frozen=True, slots=True)
class Given:
    """What a prediction is made from.

    Attributes:
        draft_cost: c, a draft step in steps of the target.
        alpha: of one drafted token; or
        rate: accepted ÷ drafted, measured with drafts of `rate_gamma`.
        gamma: draft length; None for the best of 1 to 16.
        verify_cost: v; `PRIOR` takes it from the experts. None is what was measured, else 1.
        verify_costs: measured v by draft length.
        experts: of a sparse model, for the prior of v.
        restart_seconds, speed: what switching costs, and tok/s without speculation.
    """

    draft_cost: float
    alpha: float | None = None
    rate: float | None = None
    rate_gamma: int | None = None
    gamma: int | None = None
    verify_cost: float | Literal["prior"] | None = None
    verify_costs: Mapping[int, float] = field(default_factory=dict)
    experts: Experts | None = None
    restart_seconds: float | None = None
    speed: float | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """Named as in `Given`; `speedup` is the general form.

    `prior_*` are None without experts, `break_even_tokens` where nothing is gained or no restart is given.
    """

    alpha: float
    rate: float
    gamma: int
    draft_cost: float
    verify_cost: float
    verify_cost_source: str
    expected_tokens: float
    speedup: float
    speedup_batch_form: float
    break_even_alpha: float | None
    break_even_rate: float | None
    distinct_experts: float | None
    prior_verify_cost: float | None
    prior_speedup: float | None
    break_even_tokens: float | None


def predict(given: Given) -> Prediction:
    """The prediction for one draft length, or for the best one.

    Raises:
        UsageError: what is given does not make a prediction; the hint says what is missing.
    """
    alpha = _alpha(given)
    if given.gamma is not None:
        return _at(given, alpha, given.gamma)
    every = [_at(given, alpha, gamma) for gamma in formulas.GAMMAS]
    return max(every, key=lambda found: found.speedup)  # the shortest of equals


def _alpha(given: Given) -> float:
    if (given.alpha is None) == (given.rate is None):
        raise UsageError(
            "Give either --alpha or --rate.", hint="--rate is accepted ÷ drafted tokens, as servers count it."
        )
    if given.alpha is not None:
        return given.alpha
    length = given.rate_gamma or given.gamma
    if length is None:
        raise UsageError(
            "A rate belongs to the draft length it was measured with.", hint="Give --gamma, or --rate-gamma."
        )
    assert given.rate is not None
    return formulas.alpha_from_rate(given.rate, length)


def _verify_cost(given: Given, gamma: int, prior: float | None) -> tuple[float, str]:
    if given.verify_cost == PRIOR:
        if prior is None:
            raise UsageError("A prior for v needs --experts and --top-k.")
        return prior, "expert coverage, not measured"
    if given.verify_cost is not None:
        return float(given.verify_cost), "given"
    if given.verify_costs:
        known = gamma in given.verify_costs
        cost = formulas.interpolated(given.verify_costs, gamma)
        return cost, "measured" if known else "between the measured lengths"
    return 1.0, "assumed to be 1"


def _at(given: Given, alpha: float, gamma: int) -> Prediction:
    experts = given.experts
    prior = (
        formulas.verify_cost_prior(gamma, experts.count, experts.chosen, experts.share) if experts else None
    )
    cost, source = _verify_cost(given, gamma, prior)
    gain = formulas.speedup(alpha, gamma, given.draft_cost, cost)
    even = formulas.break_even_alpha(gamma, given.draft_cost, cost)
    tokens = None
    if given.restart_seconds is not None and given.speed is not None:
        tokens = formulas.break_even_tokens(given.restart_seconds, given.speed, gain)
    return Prediction(
        alpha=alpha,
        rate=formulas.rate_from_alpha(alpha, gamma),
        gamma=gamma,
        draft_cost=given.draft_cost,
        verify_cost=cost,
        verify_cost_source=source,
        expected_tokens=formulas.expected_tokens(alpha, gamma),
        speedup=gain,
        speedup_batch_form=formulas.speedup_batch_form(gamma, given.draft_cost, cost),
        break_even_alpha=even,
        break_even_rate=None if even is None else formulas.rate_from_alpha(even, gamma),
        distinct_experts=distinct_experts(gamma + 1, experts.count, experts.chosen) if experts else None,
        prior_verify_cost=prior,
        prior_speedup=None if prior is None else formulas.speedup(alpha, gamma, given.draft_cost, prior),
        break_even_tokens=tokens,
    )


# From measured runs.


@dataclass(frozen=True, slots=True)
class Measured:
    """What runs say of one method: the fit of its rounds, and what a prediction takes from it."""

    fit: CostFit
    draft_cost: float
    verify_costs: dict[int, float]
    alpha: float | None


def measured(runs: Sequence[Run], method: str | None = None) -> Measured:
    """The costs of one method, as they follow from the times of its rounds.

    At a measured length γ c + v is the measured round, however well it can be divided.

    Raises:
        UsageError: no method has counted rounds beside runs without speculation, or `method` names none or is missing.
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
    cost = max(0.0, fit.draft_cost or 0.0)
    rows = [row for row in speculation(runs) if (row.target, row.draft) == (fit.target, fit.draft)]
    alphas = [row.alpha for row in rows if row.alpha is not None]
    return Measured(
        fit=fit,
        draft_cost=cost,
        verify_costs={each.gamma: max(1e-9, each.measured - cost * each.gamma) for each in fit.rounds},
        alpha=sum(alphas) / len(alphas) if alphas else None,
    )


def fit_words(known: Measured) -> list[str]:
    """The fit for people: rounds by length, c and v with their intervals and what they hold, and what is doubtful."""
    fit = known.fit
    lines = [f"{fit.target}, {fit.draft}: rounds in steps of the target, {plural(fit.starts, 'start')}"]
    for each in fit.rounds:
        off = "" if each.residual is None else f", {each.residual:+.1%} off the line"
        lines.append(f"  γ = {each.gamma}: {each.measured:.3f}{_between(each.interval)}{off}")
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
