"""The lab's measurements against a real llama-server. Its models have random weights, so only its counters mean anything."""

from __future__ import annotations

import pytest

from navigator.lab.speculation.checks import Facts, findings
from navigator.lab.speculation.estimates import Estimate, estimates
from navigator.lab.speculation.measuring.plan import prompt_texts, read_plan
from navigator.lab.speculation.measuring.runner import measure
from navigator.lab.speculation.runs import Run, read_runs
from tests.engines.llama import ROOT, home, missing

pytestmark = [pytest.mark.engines, pytest.mark.xdist_group("engines")]

PLAN = """
[engine]
kind = "llama.cpp"
command = ["{server}", "--model", "{model}", "--host", "127.0.0.1", "--port", "{{port}}", "--parallel", "1", "--ctx-size", "2048",
  "--threads", "1", "--no-ui", "--offline", "--cache-ram", "0"]
target = "tiny-random"
random_weights = true
ready_seconds = 60

[[method]]
name = "itself"
gammas = [3]
arguments = ["--spec-type", "draft-simple", "--spec-draft-model", "{model}", "--spec-draft-n-max", "{{gamma}}"]

[[method]]
name = "synthetic"
gammas = [4]
arguments = ["--spec-type", "draft-simple", "--spec-draft-model", "{model}", "--spec-draft-n-max", "{{gamma}}",
  "--spec-synth-rates", "0.7,0.49,0.343,0.2401"]

[prompts]
kinds = {{ code = "code.txt" }}
lengths = [64, 256]
answer_tokens = 400

[design]
blocks = 1
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("lab")
    (folder / "code.txt").write_text((ROOT / "navigator" / "cli" / "main.py").read_text("utf-8"))
    path = folder / "plan.toml"
    path.write_text(PLAN.format(server=home() / "llama-server", model=home() / "tiny.gguf"))
    plan = read_plan(path)
    assert measure(plan, prompt_texts(plan, path), folder / "runs.jsonl", lambda _: None) == 0
    return read_runs(folder / "runs.jsonl").runs


def estimate(runs: list[Run], method: str) -> Estimate:
    (found,) = (each for each in estimates(runs) if each.draft == method)
    return found


def test_a_model_that_drafts_for_itself_keeps_every_draft(runs: list[Run]) -> None:
    found = estimate(runs, "itself")
    assert found.rate == pytest.approx(1.0, abs=0.02)
    assert found.drafter_rate == pytest.approx(1.0, abs=0.02)
    assert found.tokens_per_round == pytest.approx(4.0, abs=0.1)
    assert found.draft_ms is not None
    assert found.draft_ms > 0


def test_acceptance_that_the_engine_was_told_is_measured(runs: list[Run]) -> None:
    """llama.cpp can accept drafts by lot, at stated rates for each position."""
    found = estimate(runs, "synthetic")
    assert found.positions == pytest.approx((0.7, 0.49, 0.343, 0.24), abs=0.1)
    assert found.alpha == pytest.approx(0.7, abs=0.06)
    assert found.drafter_rate == pytest.approx(found.rate, abs=0.005)


def test_the_counters_of_a_real_server_do_not_contradict_each_other(runs: list[Run]) -> None:
    assert len(runs) == 6
    assert all(run.tokens == 399 for run in runs)
    counters = {"two counters disagree", "rate and counts disagree", "rounds do not add up"}
    assert [each for each in findings(runs, Facts()) if each.kind in counters] == []
