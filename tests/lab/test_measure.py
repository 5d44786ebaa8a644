"""Measuring: engines with known acceptance and costs, run as real processes. All figures here are simulated."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from navigator.cli.main import cli
from navigator.lab.speculation import predict as formulas
from navigator.lab.speculation.engines import Counts, sglang_meta, since, vllm_metrics
from navigator.lab.speculation.plan import read_plan
from navigator.lab.speculation.runner import measure
from navigator.lab.speculation.runs import Run, read_runs
from navigator.lab.speculation.tables import findings, speculation
from navigator.model.errors import ConfigError, Conflict, MissingPart, UsageError
from tests.lab.simulated_engine import Engine

ENGINE = Path(__file__).with_name("simulated_engine.py")


def plan_file(
    tmp_path: Path,
    *,
    kind: str = "llama.cpp",
    options: str = "",
    blocks: int = 2,
    gammas: str = "[4]",
    words: int = 600,
) -> Path:
    (tmp_path / "code.txt").write_text("word " * words)
    path = tmp_path / "plan.toml"
    path.write_text(
        f"""
[engine]
kind = "{kind}"
command = ["{sys.executable}", "{ENGINE}", "{kind}", "{{port}}"]
target = "big"
about = "simulated"
random_weights = true
ready_seconds = 30

[[method]]
name = "small"
gammas = {gammas}
arguments = ["gamma={{gamma}}"{options}]

[prompts]
kinds = {{ code = "code.txt" }}
lengths = [100, 500]
answer_tokens = 256

[design]
blocks = {blocks}
"""
    )
    return path


def run(path: Path, out: Path) -> list[str]:
    told: list[str] = []
    measure(read_plan(path), out, told.append)
    return told


@pytest.mark.parametrize("kind", ["llama.cpp", "sglang", "vllm"])
def test_known_acceptance_and_costs_are_recovered(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "runs.jsonl"
    path = plan_file(tmp_path, kind=kind, options=', "alpha=0.8", "c=0.05", "v=1.4"', blocks=1)
    assert len(run(path, out)) == 2
    runs = read_runs(out).runs
    (found,) = speculation(runs)
    assert found.alpha == pytest.approx(0.8, abs=0.06)
    assert found.tokens_per_round == pytest.approx(formulas.expected_tokens(0.8, 4), rel=0.12)
    assert {json.loads(line)["version"] for line in out.read_text().splitlines()} == {"v"}
    assert all(each.tokens == 255 and each.random_weights for each in runs)
    assert all(sum(piece[0] for piece in each.windows) == 255 for each in runs)
    if kind != "llama.cpp":  # times are this machine's; positions are counted
        assert found.rate_low is not None and found.rate_high is not None
        assert found.rate_low <= formulas.rate_from_alpha(0.8, 4) <= found.rate_high
        assert found.tokens_per_round == pytest.approx(1 + sum(found.positions), abs=0.05)
    else:
        assert found.step_ms == pytest.approx(20.0)
        assert found.round_ms == pytest.approx((4 * 0.05 + 1.4) * 20.0, rel=0.02)
        assert [each for each in findings(runs) if each.severity == "impossible"] == []


def test_every_block_has_every_start_in_an_order_of_its_own(tmp_path: Path) -> None:
    plan = read_plan(plan_file(tmp_path, blocks=12, gammas="[1, 2, 4]"))
    order = plan.order()
    assert len(order) == 48
    blocks = [[arm.name for block, arm in order if block == number] for number in range(12)]
    assert all(sorted(block) == sorted(blocks[0]) for block in blocks)
    assert len({tuple(block) for block in blocks}) > 3
    assert order == plan.order()
    assert plan.arms[2].arguments == ("gamma=2",)


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path, out = plan_file(tmp_path, blocks=2), tmp_path / "runs.jsonl"
    assert len(run(path, out)) == 4
    lines = out.read_text().splitlines(keepends=True)
    assert len(lines) == 8
    # A crash while the second start was written: one whole line of it, and a torn one.
    out.write_text("".join(lines[:3]) + '{"target": "bi')
    assert len(run(path, out)) == 3
    assert out.read_text().startswith("".join(lines[:2]))
    assert len(out.read_text().splitlines()) == 8
    assert run(path, out) == []


def test_results_of_another_plan_are_not_continued(tmp_path: Path) -> None:
    path, out = plan_file(tmp_path, blocks=1), tmp_path / "runs.jsonl"
    run(path, out)
    (tmp_path / "code.txt").write_text("other words " * 600)
    with pytest.raises(Conflict, match="another plan"):
        run(path, out)


def test_a_prompt_is_never_shorter_than_it_says(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fewer than the 500"):
        run(plan_file(tmp_path, words=200), tmp_path / "runs.jsonl")
    assert not (tmp_path / "runs.jsonl").exists()


def test_a_server_that_does_not_start_is_named_with_its_last_words(tmp_path: Path) -> None:
    path = plan_file(tmp_path, options=', "fail=1"')
    with pytest.raises(MissingPart, match=r"small γ=4 ended with 1.*CUDA out of memory"):
        run(path, tmp_path / "runs.jsonl")
    path.write_text(path.read_text().replace(sys.executable, "/nowhere/server"))
    with pytest.raises(MissingPart, match="cannot be started"):
        run(path, tmp_path / "other.jsonl")


def test_a_server_that_ends_while_it_answers_is_named_too(tmp_path: Path) -> None:
    path = plan_file(tmp_path, kind="sglang", options=', "dies=1"')
    with pytest.raises(MissingPart, match=r"small γ=4 broke off.*illegal memory access"):
        run(path, tmp_path / "runs.jsonl")


def test_a_server_of_another_kind_is_recognised(tmp_path: Path) -> None:
    path = plan_file(tmp_path)
    (tmp_path / "odd.py").write_text(ENGINE.read_text().replace(', "timings": timings}', "}"))
    path.write_text(path.read_text().replace(str(ENGINE), str(tmp_path / "odd.py")))
    with pytest.raises(MissingPart, match="has no timings"):
        run(path, tmp_path / "runs.jsonl")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind = "llama.cpp"', 'kind = "other"', "engine.kind"),
        ("{port}", "8000", r"no \{port\}"),
        ("gammas = [4]", "gammas = [0]", "gammas"),
        ("code.txt", "absent.txt", "absent.txt"),
        ("[design]", "[designs]", "designs"),
        ("[engine]", "[engine", "cannot be read"),
    ],
)
def test_wrong_plans_are_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = plan_file(tmp_path)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ConfigError, match=words):
        read_plan(path)
    with pytest.raises(UsageError, match="no plan"):
        read_plan(tmp_path / "nowhere.toml")


def command(tmp_path: Path, *words: str) -> Result:
    state = {"NAVIGATOR_STATE": str(tmp_path / "state")}
    return CliRunner(env=state).invoke(cli, ["lab", "speculation", *words])


def test_measured_runs_are_decided_from(tmp_path: Path) -> None:
    path = plan_file(tmp_path, options=', "alpha=0.8", "c=0.05", "v=1.4"', blocks=5)
    done = command(tmp_path, "measure", str(path), "--json")
    document = json.loads(done.stdout)
    assert (document["runs"], document["random_weights"]) == (20, True)
    shown = command(tmp_path, "measure", str(path)).stdout
    assert "random weights" in shown
    assert "between starts" in shown and "Use small with γ = 4" in shown
    choice = document["decision"]
    assert choice["decision"] == "use"
    (rule,) = choice["rules"]
    assert (rule["blocks"], rule["settled"], list(rule["fixed"])) == (5, 4, ["4"])
    assert "Cascade's rule settles on γ = 4" in " ".join(shown.split())
    truth = formulas.speedup(0.8, 4, 0.05, 1.4)
    assert choice["chosen"]["low"] <= truth * 1.05
    assert choice["chosen"]["high"] >= truth * 0.95


def test_too_few_blocks_decide_nothing(tmp_path: Path) -> None:
    path = plan_file(tmp_path, blocks=1)
    document = json.loads(command(tmp_path, "measure", str(path), "--json").stdout)
    assert document["decision"]["decision"] == "cannot tell"
    assert "1 start blocks were measured; it takes 5" in document["decision"]["missing"]
    assert "Nothing is decided yet. 1 start blocks" in command(tmp_path, "measure", str(path)).stdout
    assert command(tmp_path, "measure", str(path), "--write").exit_code == 1


# Counters


def test_sglang_counts_drafts_and_rounds() -> None:
    new = {
        "spec_num_proposed_drafts": 40,
        "spec_num_correct_drafts": 13,
        "spec_verify_ct": 10,
        "spec_correct_drafts_histogram": [4, 2, 1, 3],
    }
    assert sglang_meta(new) == Counts(drafted=40, accepted=13, rounds=10, positions=(6, 4, 3))
    assert sglang_meta({}) == Counts()


def test_vllm_counters_are_added_up_and_subtracted() -> None:
    def text(factor: int) -> str:
        rows = [("num_drafts", "", 10), ("num_draft_tokens", "", 40), ("num_accepted_tokens", "", 13)]
        lines = [
            f'vllm:spec_decode_{name}_total{{engine="{n}"}} {factor * value}.0'
            for name, _, value in rows
            for n in "01"
        ]
        for place, count in enumerate((8, 4, 1, 0)):
            name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
            lines.append(f'{name}{{engine="0",position="{place}"}} {factor * count}.0')
        return "\n".join(["# HELP x", *lines, "vllm:num_requests_running 1.0"])

    once = vllm_metrics(text(1))
    assert once == Counts(drafted=80, accepted=26, rounds=20, positions=(8, 4, 1, 0))
    assert since(vllm_metrics(text(3)), once) == Counts(
        drafted=160, accepted=52, rounds=40, positions=(16, 8, 2, 0)
    )
    assert vllm_metrics("nothing 1") == Counts()


def test_intervals_of_the_rate_cover_the_truth() -> None:
    """Rounds stand and fall together, which Wilson's interval of the tokens does not see."""
    truth, covered, wilson_covered = formulas.rate_from_alpha(0.8, 8), 0, 0
    for seed in range(200):
        engine = Engine({"gamma": 8, "alpha": 0.8, "seed": seed})
        written = engine.write(600)
        counts = {name: written[name] for name in ("accepted", "drafted", "rounds")}
        counts["positions"] = tuple(map(int, engine.positions))
        run = Run(line=1, target="big", draft="small", gamma=8, speed=50.0, tokens=599.0, **counts)
        (found,) = speculation([run])
        (narrow,) = speculation([run.model_copy(update={"positions": ()})])
        covered += (found.rate_low or 0) <= truth <= (found.rate_high or 0)
        wilson_covered += (narrow.rate_low or 0) <= truth <= (narrow.rate_high or 0)
    assert 180 <= covered <= 198
    assert wilson_covered < 170


def test_text_that_speculation_changed_is_counted(tmp_path: Path) -> None:
    base = {"target": "big", "speed": 50.0, "prompt": "code", "prompt_tokens": 100}
    drafted = base | {"draft": "small", "gamma": 2, "drafted": 10, "accepted": 5, "tokens": 15}
    path = tmp_path / "runs.jsonl"
    rows = [base | {"output": "x"}, drafted | {"output": "x"}, drafted | {"output": "y"}, drafted]
    rows.append(drafted | {"output": "z", "prompt": "prose"})  # no run without speculation to compare with
    path.write_text("\n".join(map(json.dumps, rows)))
    (found,) = speculation(read_runs(path).runs)
    assert (found.same_text.k, found.same_text.n) == (1, 2)
    shown = command(tmp_path, "analyze", str(path)).stdout
    assert "1 of 2" in shown


def servers_of(out: Path) -> list[str]:
    """The command lines of the processes that write to the log beside these results."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            log = out.with_suffix(".log").resolve()
            if entry.name.isdecimal() and (entry / "fd" / "1").readlink() == log:
                found.append((entry / "cmdline").read_text())
    return found
