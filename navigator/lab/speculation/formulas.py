"""Speculative decoding in formulas. Pure; times are in seconds or, where it says so, in steps of the target alone.

A round drafts γ tokens and verifies them in one pass over γ + 1. The names are those of Leviathan et al. (2023):

- α, chance that one drafted token is accepted, taken as independent of its position;
- c, time of one draft step, and v, time of a verifying pass, both in units of one step of the target alone (T0);
- τ, tokens that a round yields, the target's own token included;
- rate, accepted ÷ drafted tokens. It is not α: a rejection discards the rest of the draft.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

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


def interpolated(points: Mapping[int, float], gamma: int) -> float:
    """v at γ from measured points, linearly between them; v(0) is 1; beyond the last point its slope goes on."""
    known = sorted({0: 1.0, **points}.items())
    for (left, low), (right, high) in itertools.pairwise(known):
        if gamma <= right or right == known[-1][0]:
            return low + (high - low) * (gamma - left) / (right - left)
    return known[0][1]


# Mixture of experts


def verify_cost_prior(gamma: int, experts: int, chosen: int, expert_share: float) -> float:
    """v from expert coverage: what a pass over γ + 1 tokens reads, relative to one token's reads.

    Only reading is counted, and choices are taken as independent. Neighbouring tokens of real text share experts, so a
    measured v is usually lower; computing and the cache add to it.

    Args:
        gamma: draft length.
        experts: routed experts of a layer.
        chosen: experts a token uses.
        expert_share: routed experts' share of what a single token's step reads, 0 to 1.
    """
    return 1 - expert_share + expert_share * distinct_experts(gamma + 1, experts, chosen) / chosen


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
