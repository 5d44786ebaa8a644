"""Speculative decoding in formulas, and what it is worth by them. Pure.

Times are in seconds or, where it says so, in steps of the target alone.

A round drafts γ tokens and verifies them in one pass over γ + 1. The names are those of Leviathan et al. (2023):

- α, chance that one drafted token is accepted, taken as independent of its position;
- c, time of one draft step, and v, time of a verifying pass, both in units of one step of the target alone (T0);
- τ, tokens that a round yields, the target's own token included;
- rate, accepted ÷ drafted tokens. It is not α: a rejection discards the rest of the draft.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from navigator.model.errors import UsageError
from navigator.model.timing import distinct_experts

GAMMAS = range(1, 17)
"""Draft lengths that are tried where none is given."""

_PRECISION = 1e-12


def expected_tokens(alpha: float, gamma: int) -> float:
    """τ of independent acceptance: (1 − α^(γ+1)) / (1 − α)."""
    return math.fsum(alpha**i for i in range(gamma + 1))


def rate_from_alpha(alpha: float, gamma: int) -> float:
    """Accepted ÷ drafted tokens of independent acceptance."""
    return (expected_tokens(alpha, gamma) - 1) / gamma


def alpha_from_rate(rate: float, gamma: int) -> float:
    """The α whose accepted ÷ drafted share is `rate` at draft length γ.

    Raises:
        ValueError: the rate is not between 0 and 1.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"a rate lies between 0 and 1, {rate} does not")
    return _rising_root(lambda alpha: rate_from_alpha(alpha, gamma) - rate)


def speedup(alpha: float, gamma: int, draft_cost: float, verify_cost: float = 1.0) -> float:
    """Speed with speculation ÷ speed without: τ / (γc + v). With v = 1 this is Leviathan's formula."""
    return expected_tokens(alpha, gamma) / round_cost(gamma, draft_cost, verify_cost)


def round_cost(gamma: int, draft_cost: float, verify_cost: float = 1.0) -> float:
    """Time of a round in steps of the target alone."""
    return gamma * draft_cost + verify_cost


def speedup_batch_form(gamma: int, draft_cost: float, verify_cost: float = 1.0) -> float:
    """γ / (γc + v), the "batch verification" form: it counts every drafted token as written, also the rejected ones.

    It is an upper bound that no acceptance rate enters, and is here to be compared with, not to be used.
    """
    return gamma / round_cost(gamma, draft_cost, verify_cost)


def break_even_alpha(gamma: int, draft_cost: float, verify_cost: float = 1.0) -> float | None:
    """The smallest α at which speculation does not slow down; None where even α = 1 loses."""
    cost = round_cost(gamma, draft_cost, verify_cost)
    if cost > gamma + 1:
        return None
    return _rising_root(lambda alpha: expected_tokens(alpha, gamma) - cost)


def break_even_tokens(restart_seconds: float, speed: float, gain: float) -> float | None:
    """Tokens after which a restart has paid for itself; None where nothing is gained.

    Args:
        restart_seconds: what switching costs.
        speed: tok/s without speculation.
        gain: the speed-up, e.g. 1.2.
    """
    saved = 1 / speed - 1 / (speed * gain)
    return restart_seconds / saved if saved > 0 else None


def _rising_root(function: Callable[[float], float]) -> float:
    """Where a rising function of one number between 0 and 1 crosses zero; the nearer end where it does not."""
    low, high = 0.0, 1.0
    if function(low) >= 0:
        return low
    if function(high) <= 0:
        return high
    while high - low > _PRECISION:
        middle = (low + high) / 2
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


# A prediction.

BATCH_FORM_FLAW = (
    "The batch form γ / (γc + v) counts every drafted token as written, also those that are rejected. It does not depend on"
    " acceptance, so it is no speed-up."
)


@dataclass(frozen=True, slots=True)
class Given:
    """What a prediction is made from.

    Attributes:
        draft_cost: c, a draft step in steps of the target.
        alpha: of one drafted token; or
        rate: accepted ÷ drafted, measured with drafts of `gamma`.
        gamma: draft length; None for the best of 1 to 16.
        verify_cost: v.
        experts, top_k: routed experts of a layer of a sparse model, and those a token uses.
        restart_seconds, speed: what switching costs, and tok/s without speculation.
    """

    draft_cost: float
    alpha: float | None = None
    rate: float | None = None
    gamma: int | None = None
    verify_cost: float = 1.0
    experts: int | None = None
    top_k: int | None = None
    restart_seconds: float | None = None
    speed: float | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """Named as in `Given`; `speedup` is the general form.

    `distinct_experts` is None without experts, `break_even_tokens` where nothing is gained or no restart is given.
    """

    alpha: float
    rate: float
    gamma: int
    draft_cost: float
    verify_cost: float
    expected_tokens: float
    speedup: float
    speedup_batch_form: float
    break_even_alpha: float | None
    distinct_experts: float | None
    break_even_tokens: float | None


def predict(given: Given) -> Prediction:
    """The prediction for one draft length, or for the best one.

    Raises:
        UsageError: what is given does not make a prediction; the hint says what is missing.
    """
    alpha = _alpha(given)
    if (given.experts is None) != (given.top_k is None):
        raise UsageError("--experts and --top-k belong together.")
    if given.experts is not None and given.top_k is not None and given.top_k > given.experts:
        raise UsageError(f"A token cannot use {given.top_k} of {given.experts} experts.")
    if given.gamma is not None:
        return _at(given, alpha, given.gamma)
    every = [_at(given, alpha, gamma) for gamma in GAMMAS]
    return max(every, key=lambda found: found.speedup)  # the shortest of equals


def _alpha(given: Given) -> float:
    if (given.alpha is None) == (given.rate is None):
        raise UsageError(
            "Give either --alpha or --rate.", hint="--rate is accepted ÷ drafted tokens, as servers count it."
        )
    if given.rate is None:
        return given.alpha or 0.0
    if given.gamma is None:
        raise UsageError(
            "A rate belongs to the draft length it was measured with.", hint="Give --gamma, or --alpha."
        )
    return alpha_from_rate(given.rate, given.gamma)


def _at(given: Given, alpha: float, gamma: int) -> Prediction:
    needed = distinct_experts(gamma + 1, given.experts, given.top_k or 1) if given.experts else None
    cost = given.verify_cost
    gain = speedup(alpha, gamma, given.draft_cost, cost)
    tokens = None
    if given.restart_seconds is not None and given.speed is not None:
        tokens = break_even_tokens(given.restart_seconds, given.speed, gain)
    return Prediction(
        alpha=alpha,
        rate=rate_from_alpha(alpha, gamma),
        gamma=gamma,
        draft_cost=given.draft_cost,
        verify_cost=cost,
        expected_tokens=expected_tokens(alpha, gamma),
        speedup=gain,
        speedup_batch_form=speedup_batch_form(gamma, given.draft_cost, cost),
        break_even_alpha=break_even_alpha(gamma, given.draft_cost, cost),
        distinct_experts=needed,
        break_even_tokens=tokens,
    )
