"""The formulas of speculation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.lab.speculation import predict as formulas
from navigator.lab.speculation.predict import Given, predict
from navigator.model.errors import UsageError

ALPHA = st.floats(0, 1)
GAMMA = st.integers(1, 16)
COST = st.floats(0, 2)


@given(ALPHA, GAMMA)
def test_expected_tokens_are_between_one_and_all(alpha: float, gamma: int) -> None:
    assert 1 <= formulas.expected_tokens(alpha, gamma) <= gamma + 1
    if alpha < 0.999:
        closed = (1 - alpha ** (gamma + 1)) / (1 - alpha)
        assert formulas.expected_tokens(alpha, gamma) == pytest.approx(closed)


@given(ALPHA, GAMMA)
def test_a_rate_and_its_alpha_lead_back_to_each_other(alpha: float, gamma: int) -> None:
    rate = formulas.rate_from_alpha(alpha, gamma)
    assert 0 <= rate <= 1
    assert rate <= alpha + 1e-12  # a rejection discards the rest of the draft
    back = formulas.alpha_from_rate(min(rate, 1.0), gamma)
    assert formulas.rate_from_alpha(back, gamma) == pytest.approx(rate, abs=1e-9)


@given(GAMMA, COST, st.floats(0.1, 4))
def test_at_the_break_even_nothing_is_won_or_lost(gamma: int, draft: float, verify: float) -> None:
    alpha = formulas.break_even_alpha(gamma, draft, verify)
    if alpha is None:
        assert formulas.speedup(1.0, gamma, draft, verify) < 1
    elif alpha == 0:
        assert formulas.speedup(0.0, gamma, draft, verify) >= 1
    else:
        assert formulas.speedup(alpha, gamma, draft, verify) == pytest.approx(1, abs=1e-6)


def test_a_rate_above_one_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        formulas.alpha_from_rate(1.2, 4)


def test_a_restart_pays_after_what_it_costs() -> None:
    tokens = formulas.break_even_tokens(32.7, 184, 1.2)
    assert tokens == pytest.approx(36_100.8)
    assert tokens / 184 - tokens / (184 * 1.2) == pytest.approx(32.7)
    assert formulas.break_even_tokens(32.7, 184, 1.0) is None
    assert formulas.break_even_tokens(32.7, 184, 0.8) is None


def test_predicting_from_a_rate_is_predicting_from_its_alpha() -> None:
    from_rate = predict(Given(draft_cost=0.1, rate=0.5904, gamma=4))
    assert from_rate.alpha == pytest.approx(0.8)
    assert from_rate.speedup == pytest.approx(predict(Given(draft_cost=0.1, alpha=0.8, gamma=4)).speedup)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        (Given(draft_cost=0.1), "either"),
        (Given(draft_cost=0.1, alpha=0.5, rate=0.5), "either"),
        (Given(draft_cost=0.1, rate=0.5), "draft length"),
        (Given(draft_cost=0.1, alpha=0.5, experts=8), "belong together"),
        (Given(draft_cost=0.1, alpha=0.5, experts=8, top_k=9), "cannot use 9 of 8"),
    ],
)
def test_what_makes_no_prediction_is_refused(given_: Given, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        predict(given_)
