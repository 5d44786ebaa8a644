"""What speculation is worth, predicted from acceptance, costs and shapes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from navigator.lab.speculation import formulas
from navigator.lab.speculation.estimates import Guess, estimates
from navigator.lab.speculation.fit import Fit, fits
from navigator.lab.speculation.runs import Run
from navigator.model.errors import UsageError
from navigator.model.text import plural
from navigator.model.timing import distinct_experts

BATCH_FORM_FLAW = (
    "The batch form γ / (γc + v) counts every drafted token as written, also those that are rejected. It does not depend on"
    " acceptance, so it is no speed-up."
)


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
        verify_costs: measured v by draft length, a single one under 0 for all lengths; empty: 1.
        experts: of a sparse model, for the prior of v.
        prior: take v from the experts where none was measured.
        state_gb, step_gb: of a hybrid model: the recurrent states that are saved for a drafted token, and what a step reads.
        restart_seconds, speed: what switching costs, and tok/s without speculation.
    """

    draft_cost: float
    alpha: float | None = None
    rate: float | None = None
    rate_gamma: int | None = None
    gamma: int | None = None
    verify_costs: Mapping[int, float] = field(default_factory=dict)
    experts: Experts | None = None
    prior: bool = False
    state_gb: float | None = None
    step_gb: float | None = None
    restart_seconds: float | None = None
    speed: float | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """Named as in `Given`; `speedup` is the general form.

    `prior_*` are None without experts, `state_cost`, `redo_cost` and `hybrid_speedup` without the size of states;
    `break_even_tokens` is None where nothing is gained or no restart is given.
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
    state_cost: float | None
    redo_cost: float | None
    hybrid_speedup: float | None
    break_even_tokens: float | None


def predict(given: Given) -> Prediction:
    """The prediction for one draft length, or for the best one.

    Raises:
        UsageError: what is given does not make a prediction; the hint says what is missing.
    """
    alpha = _alpha(given)
    _check(given)
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


def _check(given: Given) -> None:
    if any(cost <= 0 for cost in given.verify_costs.values()):
        raise UsageError("Verifying costs more than nothing.", hint="See --verify-cost.")
    if given.prior and given.experts is None:
        raise UsageError("A prior for v needs --experts and --top-k.")
    if (given.state_gb is None) != (given.step_gb is None):
        raise UsageError("--state-gb and --step-gb belong together.")


def _verify_cost(given: Given, gamma: int) -> tuple[float, str]:
    costs = given.verify_costs
    if gamma in costs:
        return costs[gamma], "given"
    if costs and set(costs) == {0}:
        return costs[0], "given"
    if costs:
        return formulas.interpolated(costs, gamma), "between the given ones"
    if given.prior and given.experts is not None:
        return _prior(given.experts, gamma), "expert coverage, not measured"
    return 1.0, "assumed to be 1"


def _prior(experts: Experts, gamma: int) -> float:
    return formulas.verify_cost_prior(gamma, experts.count, experts.chosen, experts.share)


def _at(given: Given, alpha: float, gamma: int) -> Prediction:
    cost, source = _verify_cost(given, gamma)
    gain = formulas.speedup(alpha, gamma, given.draft_cost, cost)
    even = formulas.break_even_alpha(gamma, given.draft_cost, cost)
    prior = _prior(given.experts, gamma) if given.experts else None
    states = redo = hybrid = None
    if given.state_gb is not None and given.step_gb is not None:
        states = formulas.state_cost(gamma, given.state_gb, given.step_gb)
        redo = formulas.redo_cost(alpha, gamma)
        hybrid = formulas.speedup(alpha, gamma, given.draft_cost, 1 + states + redo)
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
        distinct_experts=(
            distinct_experts(gamma + 1, given.experts.count, given.experts.chosen) if given.experts else None
        ),
        prior_verify_cost=prior,
        prior_speedup=None if prior is None else formulas.speedup(alpha, gamma, given.draft_cost, prior),
        state_cost=states,
        redo_cost=redo,
        hybrid_speedup=hybrid,
        break_even_tokens=tokens,
    )


# From measured runs.


@dataclass(frozen=True, slots=True)
class Measured:
    """What runs say of one method: the fit of its rounds, its estimates by length, and what a prediction takes from them."""

    fit: Fit
    rows: tuple[Guess, ...]
    draft_cost: float
    verify_costs: dict[int, float]
    alpha: float | None


def measured(runs: Sequence[Run], method: str | None = None) -> Measured:
    """The costs of one method: as the engine timed them, else as they follow from the times of its rounds.

    At a measured length γ c + v is the measured round in either case, however well it can be divided.

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
    rows = tuple(row for row in estimates(runs) if (row.target, row.draft) == (fit.target, fit.draft))
    timed = [row.draft_cost for row in rows if row.draft_cost is not None]
    cost = sum(timed) / len(timed) if timed else max(0.0, fit.draft_cost or 0.0)
    alphas = [row.alpha for row in rows if row.alpha is not None]
    return Measured(
        fit=fit,
        rows=rows,
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
    for row in known.rows:
        if row.draft_cost is not None and row.verify_cost is not None:
            lines.append(
                f"  the engine's own timers at γ = {row.gamma}: c = {row.draft_cost:.3f}{_between(row.draft_cost_interval)},"
                f" v = {row.verify_cost:.3f}{_between(row.verify_cost_interval)}"
            )
    return lines


def _between(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f" ({ends[0]:.3f} to {ends[1]:.3f})"
