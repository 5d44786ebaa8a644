"""What speculation is worth, predicted from acceptance, costs and shapes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from navigator.lab.speculation import formulas
from navigator.model.errors import UsageError
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
    restart_seconds: float | None = None
    speed: float | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """Named as in `Given`; `speedup` is the general form, `best_speedup_possible` the one at α = 1.

    `prior_*` are None without experts; `break_even_tokens` is None where nothing is gained or no restart is given.
    """

    alpha: float
    rate: float
    gamma: int
    draft_cost: float
    verify_cost: float
    verify_cost_source: str
    expected_tokens: float
    speedup: float
    speedup_leviathan: float
    speedup_batch_form: float
    best_speedup_possible: float
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
    _check(given, alpha)
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
    if not 0 <= given.rate <= 1:
        raise UsageError(f"A rate lies between 0 and 1; {given.rate:g} does not.")
    return formulas.alpha_from_rate(given.rate, length)


def _check(given: Given, alpha: float) -> None:
    if not 0 <= alpha <= 1:
        raise UsageError(f"α lies between 0 and 1; {alpha:g} does not.")
    if given.draft_cost < 0 or any(cost <= 0 for cost in given.verify_costs.values()):
        raise UsageError(
            "A draft costs nothing or more, verifying more than nothing.",
            hint="See --draft-cost, --verify-cost.",
        )
    if given.gamma is not None and given.gamma < 1:
        raise UsageError("A draft has at least one token.", hint="Leave --gamma out for the best of 1 to 16.")
    if given.prior and given.experts is None:
        raise UsageError("A prior for v needs --experts and --top-k.")
    if given.speed is not None and given.speed <= 0:
        raise UsageError("A speed is above zero.", hint="See --speed.")


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
        speedup_leviathan=formulas.speedup(alpha, gamma, given.draft_cost),
        speedup_batch_form=formulas.speedup_batch_form(gamma, given.draft_cost, cost),
        best_speedup_possible=formulas.speedup(1.0, gamma, given.draft_cost, cost),
        break_even_alpha=even,
        break_even_rate=None if even is None else formulas.rate_from_alpha(even, gamma),
        distinct_experts=(
            distinct_experts(gamma + 1, given.experts.count, given.experts.chosen) if given.experts else None
        ),
        prior_verify_cost=prior,
        prior_speedup=None if prior is None else formulas.speedup(alpha, gamma, given.draft_cost, prior),
        break_even_tokens=tokens,
    )
