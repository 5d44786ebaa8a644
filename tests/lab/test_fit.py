"""c and v from the times of rounds, where the truth is known. All figures are simulated."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from navigator.cli.main import cli
from navigator.lab.speculation.fit import CostFit, fits, measured
from navigator.lab.speculation.runs import Run
from navigator.model.errors import UsageError

C, V = 0.12, 1.4


def runs(
    gammas: tuple[int, ...] = (1, 2, 4),
    *,
    starts: int = 6,
    scatter: float = 0.02,
    seed: int = 1,
    cost: Callable[[int], float] = lambda gamma: gamma * C + V,
    plain_tokens: float = 0.0,
) -> list[Run]:
    """Rounds of a known cost. Every start of the server moves by `scatter`; `plain_tokens` are written without a draft."""
    dice, found = random.Random(seed), []
    for block in range(starts):
        for gamma in (0, *gammas):
            step = 0.02 * (1 + dice.gauss(0, scatter))
            rounds, accepted = (100.0, 80.0) if gamma else (0.0, 0.0)
            tokens = rounds + accepted + plain_tokens if gamma else 255.0
            seconds = step * (rounds * cost(gamma) + plain_tokens if gamma else tokens)
            counts = {"rounds": rounds, "accepted": accepted, "drafted": rounds * gamma}
            arm = {"draft": "NEXTN", "gamma": gamma, **counts} if gamma else {}
            same = {"line": 1, "target": "big", "block": str(block)}
            found.append(Run(speed=tokens / seconds, tokens=tokens, **same, **arm))
    return found


def one(*args: tuple[int, ...], **options: object) -> CostFit:
    (found,) = fits(runs(*args, **options))  # type: ignore[arg-type]
    return found


def test_known_costs_are_found() -> None:
    found = one(scatter=0.0)
    assert found.draft_cost == pytest.approx(C)
    assert found.verify_cost == pytest.approx(V)
    assert [each.residual for each in found.rounds] == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
    assert (found.starts, [each.gamma for each in found.rounds], found.doubts) == (6, [1, 2, 4], ())


def test_steps_without_a_draft_are_no_part_of_a_round() -> None:
    found = one(scatter=0.0, plain_tokens=60.0)
    assert (found.draft_cost, found.verify_cost) == (pytest.approx(C), pytest.approx(V))


def test_the_intervals_hold_the_truth() -> None:
    """In 200 simulated measurements of six starts; 190 are to be expected."""
    every = [one(seed=seed) for seed in range(200)]
    for truth, ends in ((C, "draft_interval"), (V, "verify_interval")):
        held = sum(getattr(each, ends)[0] <= truth <= getattr(each, ends)[1] for each in every)
        assert 180 <= held <= 199, (ends, held)


@pytest.mark.parametrize(
    ("found", "doubt"),
    [
        (one((1, 3)), "2 lengths were measured"),
        (one(starts=1), "one start of the server"),
        (one(cost=lambda gamma: 1.2), "c is between -"),
        (one((4, 8, 16), scatter=0.1, seed=2, cost=lambda gamma: 1 + gamma), "v is between -"),
        (one(cost=lambda gamma: 0.3 + gamma), "no verifying takes less than a step"),
        (one((1, 4, 16), scatter=0.004, cost=lambda gamma: 1 + gamma**2 / 20), "v is not the same"),
    ],
)
def test_what_cannot_be_told_apart_is_said(found: CostFit, doubt: str) -> None:
    assert any(doubt in each for each in found.doubts), found.doubts


def test_a_straight_line_is_seldom_doubted() -> None:
    doubted = sum(bool(one((1, 2, 4, 8), seed=seed).doubts) for seed in range(200))
    assert doubted <= 20


def test_a_prediction_from_measured_runs(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    names = "target", "draft", "gamma", "speed", "tokens", "block", "rounds", "accepted", "drafted"
    path.write_text(
        "".join(json.dumps({name: getattr(each, name) for name in names}) + "\n" for each in runs())
    )
    words = ["lab", "speculation", "predict", "--measured", str(path), "--gamma", "4"]
    done = CliRunner().invoke(cli, [*words, "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.output)
    assert said["measured"] and said["fit"]["draft"] == "NEXTN" and said["fit"]["doubts"] == []
    assert all(said[cost] == said["fit"][cost] for cost in ("draft_cost", "verify_cost"))
    with pytest.raises(UsageError, match="2 lengths were measured"):
        measured(runs((1, 3)))
    shown = CliRunner().invoke(cli, words).output
    assert "what does not shrink with γ" in shown and "off the line" in shown


def test_a_method_has_to_be_named_where_there_are_several() -> None:
    both = [*runs(), *(each.model_copy(update={"target": "small"}) for each in runs())]
    with pytest.raises(UsageError, match="2 methods") as raised:
        measured(both)
    assert raised.value.hint == "--method takes one of big/NEXTN, small/NEXTN."
    assert measured(both, "small/NEXTN").fit.target == "small"
