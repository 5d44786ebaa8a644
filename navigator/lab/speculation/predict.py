"""What speculation is worth, predicted from acceptance, costs and shapes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from navigator.lab.speculation import formulas
from navigator.model.errors import UsageError
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
        verify_cost: v; `PRIOR` takes it from the experts, None is 1.
        experts: of a sparse model, for the prior of v.
        restart_seconds, speed: what switching costs, and tok/s without speculation.
    """

    draft_cost: float
    alpha: float | None = None
    rate: float | None = None
    rate_gamma: int | None = None
    gamma: int | None = None
    verify_cost: float | Literal["prior"] | None = None
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


def _verify_cost(given: Given, prior: float | None) -> tuple[float, str]:
    if given.verify_cost == PRIOR:
        if prior is None:
            raise UsageError("A prior for v needs --experts and --top-k.")
        return prior, "expert coverage, not measured"
    return (1.0, "assumed to be 1") if given.verify_cost is None else (float(given.verify_cost), "given")


def _at(given: Given, alpha: float, gamma: int) -> Prediction:
    experts = given.experts
    prior = (
        formulas.verify_cost_prior(gamma, experts.count, experts.chosen, experts.share) if experts else None
    )
    cost, source = _verify_cost(given, prior)
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
