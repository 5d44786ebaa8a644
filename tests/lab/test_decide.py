"""Deciding whether to speculate: from measured runs, and from recorded traces."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from navigator.cli.main import cli
from navigator.domain.errors import MissingPart, UsageError
from navigator.domain.states import Role
from navigator.evidence.few import mean_interval, t_quantile
from navigator.lab.speculation.controller import Controller, Trace, Tuning, replay
from navigator.lab.speculation.decide import decide
from navigator.lab.speculation.profile import profile_with, sglang_flags
from navigator.lab.speculation.runs import Run
from navigator.lab.speculation.traces import ngram_trace, words_of
from navigator.serving.setup.profiles import load_profile

ROOT = Path(__file__).parents[2]


def measured(gains: dict[int, float], *, blocks: int = 6, scatter: float = 0.01, seed: int = 1) -> list[Run]:
    """Simulated runs: each start of the server has its own level, each method its own gain."""
    dice = random.Random(seed)
    runs = []
    for block in range(blocks):
        for gamma, gain in {0: 1.0, **gains}.items():
            level = 100 * gain * (1 + dice.gauss(0, scatter))
            draft = "NGRAM" if gamma else ""
            for prompt in ("code", "prose"):
                runs.append(
                    Run(
                        line=len(runs) + 1,
                        target="big",
                        draft=draft,
                        gamma=gamma,
                        speed=level * (1.1 if prompt == "code" else 0.9),
                        rate=0.6 if gamma else None,
                        tokens=255,
                        prompt=prompt,
                        prompt_tokens=500,
                        block=str(block),
                    )
                )
    return runs


def test_a_gain_beyond_doubt_is_used() -> None:
    choice = decide(measured({2: 1.1, 4: 1.25}), restart_seconds=32.7, tokens_until_swap=60_000)
    assert choice.decision == "use"
    assert choice.chosen is not None
    assert (choice.chosen.gamma, choice.chosen.blocks) == (4, 6)
    assert choice.chosen.low is not None
    assert choice.chosen.low < 1.25 < (choice.chosen.high or 0)
    assert choice.saved_seconds == pytest.approx(60_000 * (1 / 99 - 1 / (99 * 1.25)), rel=0.1)
    assert choice.restart is not None
    assert choice.restart.now
    assert "Restart for it now" in choice.sentence


def test_a_restart_that_the_next_swap_makes_anyway_is_not_paid_for() -> None:
    choice = decide(measured({4: 1.25}), restart_seconds=32.7, tokens_until_swap=5_000)
    assert choice.restart is not None
    assert not choice.restart.now
    assert choice.restart.break_even_tokens > 5_000  # type: ignore[operator]
    assert "Wait for the next swap" in choice.sentence
    free = decide(measured({4: 1.25}))
    assert "costs nothing at the next swap" in free.sentence


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
    runs = [
        Run(**{each: getattr(run, each) for each in run.__slots__} | {"rate": 0.05 if run.gamma else None})
        for run in measured({4: 1.5})
    ]
    choice = decide(runs)
    assert choice.decision == "cannot tell"
    assert "cannot be true" in choice.arms[0].reason


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


def write(path: Path, runs: list[Run], **more: object) -> Path:
    rows = [
        {each: getattr(run, each) for each in run.__slots__ if each != "line"} | {"engine": "sglang"} | more
        for run in runs
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


def command(tmp_path: Path, *words: str) -> object:
    return CliRunner(env={"NAVIGATOR_STATE": str(tmp_path / "state")}).invoke(
        cli, ["lab", "speculation", "decide", *words]
    )


def test_the_choice_is_written_into_a_profile_that_installs(tmp_path: Path) -> None:
    runs = write(tmp_path / "runs.jsonl", measured({4: 1.25}))
    out = tmp_path / "mine.toml"
    done = command(tmp_path, str(runs), "--profile", "qwen3.5-96gb", "--write", str(out), "--json")
    document = json.loads(done.stdout)  # type: ignore[attr-defined]
    assert document["decision"] == "use"
    assert (
        document["costs"]
        == "swap_back: as published, not measured here; proposal_tokens: as published, not measured here"
    )
    folder = ROOT / "swap" / "profiles"
    before, after = load_profile("qwen3.5-96gb", folder), load_profile(str(out), folder)
    assert after.generator.speculation is not None
    assert after.generator.speculation.flags == {
        "--speculative-algorithm": "NGRAM",
        "--speculative-num-draft-tokens": "5",
    }
    assert after.generator.flags == before.generator.flags
    assert after.generator.shape == before.generator.shape
    assert after.reviewer == before.reviewer


@pytest.mark.parametrize(
    ("more", "words"),
    [({"random_weights": True}, "random weights"), ({"engine": "llama.cpp"}, "profiles start SGLang")],
)
def test_profiles_are_not_written_from_other_models_or_engines(
    tmp_path: Path, more: dict[str, object], words: str
) -> None:
    runs = write(tmp_path / "runs.jsonl", measured({4: 1.25}), **more)
    done = command(tmp_path, str(runs), "--profile", "qwen3.5-96gb", "--write", str(tmp_path / "p.toml"))
    assert isinstance(done.exception, UsageError)  # type: ignore[attr-defined]
    assert words in str(done.exception)  # type: ignore[attr-defined]
    assert not (tmp_path / "p.toml").exists()


def test_random_weights_are_said_to_be(tmp_path: Path) -> None:
    runs = write(tmp_path / "runs.jsonl", measured({4: 1.25}), random_weights=True, about="tiny, on a CPU")
    done = command(tmp_path, str(runs))
    assert "random weights" in done.stdout  # type: ignore[attr-defined]
    assert "Measured with: tiny, on a CPU" in done.stdout  # type: ignore[attr-defined]


def test_the_command_refuses_without_measurements(tmp_path: Path) -> None:
    done = command(tmp_path)
    assert isinstance(done.exception, MissingPart)  # type: ignore[attr-defined]
    assert "measure PLAN.toml" in str(done.exception)  # type: ignore[attr-defined]


def test_recorded_arguments_become_the_flags() -> None:
    words = ["--speculative-algorithm", "EAGLE3", "--speculative-num-steps=3", "--enable-x"]
    assert sglang_flags("anything", 3, words) == {
        "--speculative-algorithm": "EAGLE3",
        "--speculative-num-steps": "3",
        "--enable-x": True,
    }
    assert sglang_flags("EAGLE-3", 3)["--speculative-num-draft-tokens"] == "4"
    with pytest.raises(UsageError, match="which flags"):
        sglang_flags("magic", 3)
    with pytest.raises(UsageError, match="belongs to no flag"):
        sglang_flags("x", 3, ["stray"])


@pytest.mark.parametrize("name", ["qwen3.5-96gb", "qwen3-24gb"])
def test_every_packaged_profile_can_be_written(tmp_path: Path, name: str) -> None:
    folder = ROOT / "swap" / "profiles"
    path = tmp_path / f"{name}.toml"
    path.write_text(profile_with(folder / f"{name}.toml", Role.REVIEWER, {"--a": 'x"y', "--b": True}, "why"))
    found = load_profile(str(path), folder)
    assert found.reviewer.speculation is not None
    assert found.reviewer.speculation.flags == {"--a": 'x"y', "--b": True}
    assert found.generator == load_profile(name, folder).generator


# The controller


def trace(alphas: list[float], costs: list[float], *, length: int = 6000, seed: int = 0) -> Trace:
    """A generation of several stretches, each with its own chance of acceptance; simulated."""
    dice = random.Random(seed)
    accepted = []
    for position in range(length):
        alpha = alphas[position * len(alphas) // length]
        count = 0
        while count < len(costs) and dice.random() < alpha:
            count += 1
        accepted.append(count)
    return Trace(tuple(accepted), dict(enumerate(costs)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("alphas", "per_draft"),
    [([0.05], 0.5), ([0.2], 0.25), ([0.4], 0.3), ([0.8], 0.15), ([0.85, 0.1, 0.6, 0.05], 0.2)],
)
def test_the_controller_never_costs_more_than_five_percent(
    alphas: list[float], per_draft: float, seed: int
) -> None:
    costs = [1 + per_draft * gamma for gamma in range(9)]
    found = replay(trace(alphas, costs, seed=seed))
    assert found.controlled <= 1.05
    assert found.oracle <= min(found.static.values()) + 1e-9
    assert found.oracle <= found.controlled + 1e-9
    assert found.static[0] == pytest.approx(1.0)


def test_the_controller_comes_near_the_best_length_where_drafts_pay() -> None:
    found = replay(trace([0.8], [1 + 0.15 * gamma for gamma in range(9)]))
    assert found.controlled <= 1.1 * min(found.static.values())
    assert found.controlled < 0.6


def test_it_beats_every_static_length_where_the_text_changes() -> None:
    found = replay(trace([0.85, 0.1, 0.6, 0.05], [1 + 0.2 * gamma for gamma in range(9)]))
    assert found.controlled < min(found.static.values())


def test_back_off_makes_hopeless_tests_rare() -> None:
    hopeless = trace([0.0], [1, 2, 3, 4])
    with_it, without = (replay(hopeless, Tuning(longest=3, back_off=kind)) for kind in (True, False))
    assert with_it.tested < 0.02
    assert 0.15 < without.tested < 0.25
    assert with_it.controlled < 1.02 < 1.15 < without.controlled


@given(st.lists(st.tuples(st.floats(0, 20), st.floats(0, 10)), max_size=300), st.integers(1, 16))
def test_any_outcomes_lead_to_a_length_within_bounds(
    outcomes: list[tuple[float, float]], longest: int
) -> None:
    controller = Controller(Tuning(longest=longest))
    for tokens, seconds in outcomes:
        assert 0 <= controller.observe(tokens, seconds) <= longest


def test_traces_are_replayed_by_the_command(tmp_path: Path) -> None:
    recorded = trace([0.8, 0.1], [1 + 0.2 * gamma for gamma in range(5)], length=2000)
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"accepted": recorded.accepted, "costs": recorded.costs}))
    document = json.loads(command(tmp_path, "--trace", str(path), "--json").stdout)  # type: ignore[attr-defined]
    assert document["oracle"] <= document["controlled"] <= 1.05
    words = command(tmp_path, "--trace", str(path)).stdout  # type: ignore[attr-defined]
    assert "best possible" in words
    path.write_text('{"accepted": [1], "costs": {"1": 2}}')
    assert isinstance(command(tmp_path, "--trace", str(path)).exception, UsageError)  # type: ignore[attr-defined]


@pytest.mark.parametrize("cost", [0.05, 0.15, 0.3])
@pytest.mark.parametrize("name", ["navigator/store/database.py", "docs/tutorial.md", "docs/glossary.md"])
def test_real_text_costs_the_controller_at_most_five_percent(name: str, cost: float) -> None:
    words = words_of((ROOT / name).read_text(encoding="utf-8"))
    accepted = ngram_trace(words, 8)
    assert 0.02 < sum(count > 0 for count in accepted) / len(accepted) < 0.8
    found = replay(Trace(accepted, {gamma: 1 + cost * gamma for gamma in range(9)}))
    assert found.controlled <= 1.05
    assert found.worst_slowdown <= 0.05
    assert found.oracle <= min(found.static.values())


def test_drafts_come_from_the_newest_earlier_place() -> None:
    words = ["a", "b", "c", "x", "y", "a", "b", "c", "x", "z", "a", "b", "c", "x", "z"]
    # After the second "a b c" the draft is "x y": x is kept. After the third it is "x z".
    assert ngram_trace(words, 8) == (0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 1, 0)
    assert ngram_trace(words, 1)[12] == 1
    assert "".join(words_of("x = 1\n\ty")) == "x = 1\n\ty"


def test_a_text_is_replayed_by_the_command(tmp_path: Path) -> None:
    text = ROOT / "docs" / "tutorial.md"
    document = json.loads(command(tmp_path, "--text", str(text), "--json").stdout)  # type: ignore[attr-defined]
    assert document["costs_assumed"] is True
    assert document["oracle"] < document["controlled"] <= 1.05
    assert "Costs are assumed" in command(tmp_path, "--text", str(text), "--round-cost", "0.3").stdout  # type: ignore[attr-defined]
    (tmp_path / "empty").write_text("")
    assert isinstance(command(tmp_path, "--text", str(tmp_path / "empty")).exception, UsageError)  # type: ignore[attr-defined]
