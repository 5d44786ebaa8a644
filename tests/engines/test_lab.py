"""The lab's measurements against a real llama-server and SGLang. Weights are random, so only their counters mean anything."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from navigator.lab.speculation.engines import Counts, Sglang
from navigator.lab.speculation.fit import fits
from navigator.lab.speculation.plan import read_plan
from navigator.lab.speculation.rule import rules
from navigator.lab.speculation.runner import measure
from navigator.lab.speculation.runs import Run, read_runs
from navigator.lab.speculation.tables import Speculation, findings, speculation
from tests.engines import sglang
from tests.engines.llama import ROOT, Server, home, missing

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
gammas = [1, 3, 6]
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
    (folder / "code.txt").write_text((ROOT / "LICENSE").read_text("utf-8"))
    path = folder / "plan.toml"
    path.write_text(PLAN.format(server=home() / "llama-server", model=home() / "tiny.gguf"))
    plan = read_plan(path)
    measure(plan, folder / "runs.jsonl", lambda _: None)
    return read_runs(folder / "runs.jsonl").runs


def estimate(runs: list[Run], method: str, gamma: int) -> Speculation:
    (found,) = (each for each in speculation(runs) if (each.draft, each.gamma) == (method, gamma))
    return found


def test_a_model_that_drafts_for_itself_keeps_every_draft(runs: list[Run]) -> None:
    found = estimate(runs, "itself", 3)
    assert found.rate == pytest.approx(1.0, abs=0.02)
    assert found.tokens_per_round == pytest.approx(4.0, abs=0.1)


def test_acceptance_that_the_engine_was_told_is_measured(runs: list[Run]) -> None:
    """llama.cpp can accept drafts by lot, at stated rates for each position."""
    found = estimate(runs, "synthetic", 4)
    assert found.alpha == pytest.approx(0.7, abs=0.06)


def test_the_counters_of_a_real_server_do_not_contradict_each_other(runs: list[Run]) -> None:
    assert len(runs) == 10
    assert all(run.tokens == 399 for run in runs)
    counters = {"rate and counts disagree", "rounds do not add up"}
    assert [each for each in findings(runs) if each.kind in counters] == []


def test_rounds_are_fitted_and_the_rule_is_replayed(runs: list[Run]) -> None:
    (fit,) = (each for each in fits(runs) if each.draft == "itself")
    assert fit.draft_cost is not None and fit.draft_cost > 0
    assert fit.doubts == ("one start of the server was measured: how much starts differ is not known",)
    (rule,) = (each for each in rules(runs) if each.draft == "itself")
    assert rule.settled == 0 and rule.iterations > 100  # a model that drafts for itself gains nothing
    assert all(sum(piece[0] for piece in run.windows) == run.tokens for run in runs)


@pytest.mark.slow
@pytest.mark.timeout(900)  # two servers start, which takes minutes each where many tests share two cores
def test_the_counters_of_sglang_with_drafts_from_past_text(sglang_engine: Server, tmp_path: Path) -> None:
    options = ("--speculative-algorithm", "NGRAM", "--speculative-num-draft-tokens", "4")
    more = ("--speculative-ngram-max-bfs-breadth", "1", "--attention-backend", "torch_native")
    answers = []
    with sglang.sglang_server(tmp_path, *options, *more) as drafting:
        for server in (sglang_engine, drafting):
            with httpx.Client(base_url=server.url, timeout=600, trust_env=False) as http:
                engine = Sglang(http)
                prompt = engine.tokenize((ROOT / "LICENSE").read_text("utf-8"))[:64]
                engine.answer(prompt, 32)
                answers.append(engine.answer(prompt, 120))
    plain, drafted = answers
    counts = drafted.counts
    assert plain.counts == Counts() and plain.ids == drafted.ids  # drafts change nothing but the speed
    assert counts.rounds is not None and counts.accepted is not None
    assert counts.drafted == 3 * counts.rounds
    # What the last round keeps beyond the end of the answer is counted, and not written.
    assert 0 <= counts.rounds + counts.accepted - drafted.tokens <= 3
    assert sum(counts.positions) == counts.accepted
