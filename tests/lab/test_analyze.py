"""Tables of runs: read, summed up, and checked for what cannot be true."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from navigator.cli.main import cli
from navigator.lab.speculation import predict as formulas
from navigator.lab.speculation import tables
from navigator.lab.speculation.runs import Run, read_runs
from navigator.lab.speculation.tables import TableFault, findings
from navigator.model.errors import UsageError

# Columns of a published table.
ROW = {
    "target_model": "big",
    "draft_model": "none",
    "draft_len": 0,
    "n_prompt": 64,
    "n_predict": 256,
    "prompt_key": "code",
    "tokens_per_sec": 50.0,
    "draft_acceptance_rate": "",
    "raw_log": "",
    "status": "ok",
}


def row(**fields: object) -> dict[str, str]:
    return {head: str(value) for head, value in (ROW | fields).items()}


def table(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ROW)
        writer.writeheader()
        writer.writerows(rows)
    return path


def analyzed(path: Path, *words: str) -> Result:
    """`navigator lab speculation analyze`."""
    return CliRunner().invoke(cli, ["lab", "speculation", "analyze", str(path), *words])


def found_in(tmp_path: Path, rows: list[dict[str, str]]) -> dict[str, TableFault]:
    runs = read_runs(table(tmp_path / "runs.csv", rows)).runs
    return {finding.kind: finding for finding in findings(runs)}


def honest(alpha: float = 0.7, gamma: int = 4) -> list[dict[str, str]]:
    """Runs of an engine whose α, c = 0.1 and v = 1.3 are known; simulated."""
    gain = formulas.speedup(alpha, gamma, 0.1, 1.3)
    rate = formulas.rate_from_alpha(alpha, gamma)
    speeds = (50.0, 50.1, 50.2)
    drafted = {"draft_model": "small", "draft_len": gamma, "draft_acceptance_rate": round(rate, 5)}
    plain = [row(tokens_per_sec=speed) for speed in speeds]
    return plain + [row(tokens_per_sec=speed * gain, **drafted) for speed in speeds]


def test_the_tables_state_what_the_rows_hold_and_an_honest_one_is_taken_as_it_is(tmp_path: Path) -> None:
    read = read_runs(table(tmp_path / "runs.csv", honest()))
    assert findings(read.runs) == []
    (base,) = tables.baselines(read.runs)
    (drafted,) = tables.speculation(read.runs)
    assert (base.target, base.prompt, base.n) == ("big", "code", 3)
    assert base.mean == pytest.approx(50.1)
    assert base.sd == pytest.approx(0.1)
    assert drafted.speedup == pytest.approx(formulas.speedup(0.7, 4, 0.1, 1.3))
    assert drafted.alpha == pytest.approx(0.7, abs=1e-4)
    assert drafted.round_ms == pytest.approx(1000 * (0.4 + 1.3) / 50.1, rel=1e-3)
    assert drafted.lines == (5, 6, 7)


@given(st.floats(0.05, 0.95), st.integers(1, 16), st.floats(0, 0.5), st.floats(1, 3))
def test_no_engine_that_obeys_the_formula_is_called_impossible(
    alpha: float, gamma: int, draft: float, verify: float
) -> None:
    gain = formulas.speedup(alpha, gamma, draft, verify)
    rate = formulas.rate_from_alpha(alpha, gamma)
    runs = [
        Run(line=2, target="big", speed=50.0),
        Run(line=3, target="big", draft="small", gamma=gamma, speed=50 * gain, rate=min(1.0, rate)),
    ]
    assert [each.kind for each in findings(runs) if each.severity == "impossible"] == []


def test_a_speed_up_beyond_the_tokens_of_a_round_is_impossible(tmp_path: Path) -> None:
    planted = row(draft_model="small", draft_len=16, tokens_per_sec=65.0, draft_acceptance_rate=0.002)
    found = found_in(tmp_path, [*honest()[:3], planted])
    finding = found["faster than its tokens"]
    assert finding.severity == "impossible"
    assert finding.lines == (5,)
    assert "1 + 16 × 0.0020 = 1.032 tokens" in finding.arithmetic


def test_a_draft_faster_than_it_runs_alone_is_found(tmp_path: Path) -> None:
    rows = [
        *honest()[:3],
        row(target_model="small", tokens_per_sec=138.0),
        row(draft_model="small", draft_len=16, tokens_per_sec=51.0, draft_acceptance_rate=0.01),
    ]
    finding = found_in(tmp_path, rows)["drafts too fast"]
    assert finding.severity == "impossible"
    assert "115.9 ms" in finding.arithmetic
    rows[-1] = row(draft_model="other", draft_len=16, tokens_per_sec=51.0, draft_acceptance_rate=0.01)
    assert "drafts too fast" not in found_in(tmp_path, rows)


def runs_file(tmp_path: Path, *rows: Mapping[str, object]) -> list[Run]:
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(json.dumps({"target": "big", "speed": 50.0, **each}) for each in rows))
    return read_runs(path).runs


def test_a_rate_that_its_counts_do_not_have_is_found(tmp_path: Path) -> None:
    runs = runs_file(
        tmp_path, {"draft": "small", "gamma": 4, "drafted": 214, "accepted": 115, "rate": 1.0}, {}
    )
    (finding,) = (each for each in findings(runs) if each.kind == "rate and counts disagree")
    assert finding.severity == "impossible"
    assert "states 100.0 %; 115 of 214 are 53.7 %" in finding.arithmetic


def test_rounds_that_cannot_make_the_tokens_are_found(tmp_path: Path) -> None:
    good = {"draft": "small", "gamma": 4, "rounds": 100, "accepted": 156, "drafted": 400, "tokens": 256}
    by_sglang = {"rounds": 71, "accepted": 50, "drafted": 213, "tokens": 119}
    real = {"draft": "ngram", "gamma": 3, **by_sglang}
    runs = runs_file(tmp_path, good, good | {"rounds": 16, "accepted": 4}, real)
    (finding,) = (each for each in findings(runs) if each.kind == "rounds do not add up")
    assert finding.lines == (2,)
    assert "16 rounds and 4 accepted drafts make 20 tokens" in finding.arithmetic


def test_figures_that_were_measured_differently_are_found(tmp_path: Path) -> None:
    plain = [row(prompt_key="bench") for _ in range(3)]
    found = found_in(tmp_path, plain + honest()[3:])
    assert found["other prompts"].severity == "mismatch"
    assert found_in(tmp_path, honest()[3:])["no baseline"].severity == "mismatch"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"tokens_per_sec": ""}, "speed: Field required"),
        ({"tokens_per_sec": "0"}, "speed: Input should be greater than 0"),
        ({"tokens_per_sec": "inf"}, "speed: Input should be a finite number"),
        ({"draft_acceptance_rate": "140%"}, "rate: Input should be less than or equal to 1"),
        ({"draft_model": "small", "draft_len": ""}, "no draft length"),
        ({"draft_model": "small", "draft_len": "2.5"}, "gamma: Input should be a valid integer"),
        ({"target_model": ""}, "target: Field required"),
        ({"status": "timeout"}, "status is timeout"),
    ],
)
def test_rows_that_cannot_be_used_are_named(tmp_path: Path, fields: dict[str, str], reason: str) -> None:
    read = read_runs(table(tmp_path / "runs.csv", [row(), row() | fields]))
    assert len(read.runs) == 1
    (bad,) = read.bad
    assert bad.line == 3
    assert reason in bad.reason


def test_columns_are_found_by_other_names(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("Model;method;gamma;tok/s;speed2\nbig;ngram;4;61.5;9\n")
    read = read_runs(path)
    assert read.columns == {"target": "Model", "draft": "method", "gamma": "gamma", "speed": "tok/s"}
    assert read.runs[0].speed == 61.5


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "model,gamma\nbig,4\n", "\x00\x01"])
def test_files_without_a_model_or_a_speed_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(UsageError):
        read_runs(path)


def test_the_command_fails_for_the_impossible(tmp_path: Path) -> None:
    planted = row(draft_model="small", draft_len=16, tokens_per_sec=65.0, draft_acceptance_rate=0.002)
    path = table(tmp_path / "runs.csv", [*honest(), planted, row(status="failed")])
    done = analyzed(path, "--json")
    document = json.loads(done.stdout)
    assert done.exit_code == 1
    assert document["used"] == 7
    assert document["bad_rows"] == [{"line": 9, "reason": "its status is failed"}]
    assert {each["kind"] for each in document["findings"]} >= {"faster than its tokens"}
    words = analyzed(path)
    assert words.exit_code == 1
    assert "line 9 is left out: its status is failed" in words.stdout
    assert analyzed(table(path, honest())).exit_code == 0


def test_what_was_read_from_where_is_told(tmp_path: Path) -> None:
    """3.58 times as fast at 2.3 % acceptance."""
    path = tmp_path / "mine.csv"
    path.write_text(
        "model,method,gamma,tps,accepted_tokens,drafted_tokens,colour\n"
        "big,,0,10,,,red\nbig,ngram,4,35.8,23,1000,red\nbig,ngram,4,35.8,23,1000,red\n"
    )
    done = analyzed(path)
    assert done.exit_code == 1
    assert "speed from tps" in done.output and "accepted from accepted_tokens" in done.output
    assert "Not used: colour." in done.output and "faster than its tokens" in done.output


def test_drafts_without_any_count_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("model,method,gamma,speed,kept\nbig,,0,10,\nbig,ngram,4,35.8,23\n")
    done = analyzed(path)
    assert isinstance(done.exception, UsageError)
    assert "how many drafts were accepted" in str(done.exception) and "Not used: kept." in done.exception.hint


def test_a_finding_of_many_rows_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    line = "big,small,4,60,50,100,1.0\n"
    path.write_text(f"model,method,gamma,speed,accepted,drafted,rate\nbig,,0,50,,,\n{line * 24}")
    done = analyzed(path)
    assert done.output.count("rate and counts disagree") == 1
    assert "The same in 23 more rows." in done.output
    assert done.output.count("big, small, γ = 4") == 1


def test_the_runs_of_each_suite_are_counted(tmp_path: Path) -> None:
    rows = [("A_m", "none", 0)] * 3 + [("B_m", "small", 4)] * 4 + [("B_n", "small", 8)] * 2
    lines = [
        f"{name}_r{number},big,{draft},{gamma},100,0.1" for number, (name, draft, gamma) in enumerate(rows)
    ]
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(["job_id,target_model,draft_model,draft_len,tokens_per_sec,rate", *lines]))
    found = tables.suites(read_runs(path).runs)
    assert {name: row["n"] for name, row in found.items()} == {"A": 3, "B": 6}
    assert found["B"]["gamma"] == [4, 8]
    shown = [line.split()[:2] for line in analyzed(path).output.splitlines() if line.startswith(("A ", "B "))]
    assert shown[:2] == [["A", "3"], ["B", "6"]]
    lone = [run.model_copy(update={"suite": str(run.line)}) for run in read_runs(path).runs]
    assert tables.suites(lone) == {}
