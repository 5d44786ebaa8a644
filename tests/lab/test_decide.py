"""Deciding whether to speculate, from measured runs."""

from __future__ import annotations

import random

import pytest

from navigator.figures.intervals import mean_interval, t_quantile
from navigator.lab.speculation.decide import decide
from navigator.lab.speculation.runs import Run
from navigator.model.errors import MissingPart


def measured(gains: dict[int, float], *, blocks: int = 6, scatter: float = 0.01, seed: int = 1) -> list[Run]:
    """Simulated runs: each start of the server has its own level, each method its own gain."""
    dice = random.Random(seed)
    runs = []
    for block in range(blocks):
        for gamma, gain in {0: 1.0, **gains}.items():
            level = 100 * gain * (1 + dice.gauss(0, scatter))
            arm = {"draft": "NGRAM", "gamma": gamma, "rate": 0.6} if gamma else {}
            same = {"target": "big", "tokens": 255, "prompt_tokens": 500, "block": str(block)}
            for prompt, share in (("code", 1.1), ("prose", 0.9)):
                runs.append(Run(line=len(runs) + 1, prompt=prompt, speed=level * share, **arm, **same))
    return runs


def test_a_gain_beyond_doubt_is_used() -> None:
    choice = decide(measured({2: 1.1, 4: 1.25}))
    assert choice.decision == "use"
    assert choice.chosen is not None
    assert (choice.chosen.gamma, choice.chosen.blocks) == (4, 6)
    assert choice.chosen.low is not None
    assert choice.chosen.low < 1.25 < (choice.chosen.high or 0)
    assert "costs nothing at the next swap" in choice.sentence


def test_a_loss_is_not_used() -> None:
    choice = decide(measured({4: 0.8}))
    assert (choice.decision, choice.chosen) == ("do not use", None)
    assert choice.sentence.startswith("Do not speculate")


def test_what_scatters_more_than_it_gains_is_not_decided() -> None:
    choice = decide(measured({4: 1.06}, scatter=0.06, seed=3))
    assert choice.decision == "cannot tell"
    assert choice.chosen is None


def test_without_measurements_nothing_is_decided() -> None:
    with pytest.raises(MissingPart, match="no runs with and without"):
        decide([])
    with pytest.raises(MissingPart, match="4 start blocks were measured; it takes 5"):
        decide(measured({4: 1.5}, blocks=4))
    with pytest.raises(MissingPart, match="no runs with and without"):
        decide([run for run in measured({4: 1.5}) if run.gamma])


def test_figures_that_cannot_be_true_decide_nothing() -> None:
    # 1.2 tokens a round cannot make anything 1.5 times as fast.
    runs = [run.model_copy(update={"rate": 0.05 if run.gamma else None}) for run in measured({4: 1.5})]
    choice = decide(runs)
    assert choice.decision == "cannot tell"
    assert "cannot be true" in choice.arms[0].reason


def test_a_loss_by_the_clock_stands_whatever_the_counters_say() -> None:
    wrong = {"accepted": 50, "drafted": 100, "rate": 0.9}
    runs = [run.model_copy(update=wrong) if run.gamma else run for run in measured({4: 0.731})]
    choice = decide(runs)
    assert choice.decision == "do not use" and choice.sentence.startswith("Do not speculate")


def test_intervals_cover_the_truth() -> None:
    held = 0
    for seed in range(300):
        arm = decide(measured({4: 1.2}, blocks=5, scatter=0.02, seed=seed)).arms[0]
        held += (arm.low or 0) <= 1.2 <= (arm.high or 0)
    assert 0.91 * 300 <= held <= 0.99 * 300


def test_the_quantiles_of_t() -> None:
    assert t_quantile(4) == 2.776
    assert mean_interval([1.0, 2.0, 3.0]) == pytest.approx((2 - 4.303 / 3**0.5, 2 + 4.303 / 3**0.5))
    assert mean_interval([1.0]) is None
    assert t_quantile(40) == pytest.approx(2.0211, abs=0.001)
    assert t_quantile(10_000) == pytest.approx(1.9602, abs=0.001)
