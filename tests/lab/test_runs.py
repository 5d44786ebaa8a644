"""The lab's runs: noted while they work, told apart from a crash, and gone on with."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from navigator.cli.main import cli
from navigator.lab import runs as lab
from navigator.lab.runs import LabRun, recording, run_name
from navigator.model.errors import Conflict, MissingPart
from tests.lab.test_measure import plan_file, servers_of


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NAVIGATOR_STATE", str(tmp_path / "state"))
    return tmp_path


def comes(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def only() -> LabRun:
    (run,) = lab.runs()
    return run


def test_a_run_is_noted_from_its_begin_to_its_end(tmp_path: Path) -> None:
    with recording("compare", tmp_path / "r.jsonl", ("lab", "x"), about="a test") as record:
        assert only().state == "running"
        record.progress(4, 10)
        assert only().done == 4
        record.progress(10, 10)
        record.decided("Use it.")
        assert (only().done, only().total) == (10, 10)
    found = only()
    assert (found.state, found.decision, found.results) == ("complete", "Use it.", str(tmp_path / "r.jsonl"))


def test_how_a_run_ended_is_kept(tmp_path: Path) -> None:
    def ended(error: BaseException | None) -> LabRun:
        expected = contextlib.nullcontext() if error is None else pytest.raises(type(error))
        with expected, recording("judge", tmp_path / "r", ("lab", "x")) as record:
            record.progress(1, 3)
            if error is not None:
                raise error
        return only()

    assert ended(KeyboardInterrupt()).state == "stopped"
    failed = ended(MissingPart("No server.", hint="Start it."))
    assert (failed.state, failed.problem) == ("failed", "No server. Start it.")
    assert ended(ValueError("x")).problem == "ValueError: x"
    again = ended(None)
    assert (again.state, again.problem) == ("stopped", "")  # 1 of 3: asked to do no more
    assert again.started == failed.started


def test_two_processes_do_not_work_on_one_run(tmp_path: Path) -> None:
    with recording("judge", tmp_path / "r", ("lab", "x")):
        with pytest.raises(Conflict, match="Another process"), recording("judge", tmp_path / "r", ()):
            pass
        assert only().state == "running"


def test_a_file_that_is_no_run_is_passed_over() -> None:
    (lab.runs_folder() / "torn.json").write_text('{"name": "torn"')
    assert lab.runs() == []


def test_names_stay_apart(tmp_path: Path) -> None:
    assert (
        run_name("speculation", lab.lab_folder() / "speculation-generator.jsonl") == "speculation-generator"
    )
    one, other = run_name("judge", tmp_path / "a" / "v.jsonl"), run_name("judge", tmp_path / "b" / "v.jsonl")
    assert one != other
    assert "/" not in run_name("judge", tmp_path / "a b;c.jsonl")


def test_a_measurement_is_killed_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real processes: the command, and under it the servers that it starts."""
    plan = plan_file(tmp_path, blocks=2, options=', "held=1"')
    hold = tmp_path / "hold"
    hold.touch()
    monkeypatch.setenv("HOLD", str(hold))
    out = tmp_path / "runs.jsonl"
    words = ["lab", "speculation", "measure", str(plan), "--out", str(out)]
    command = [sys.executable, "-m", "navigator", *words]
    working = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    comes(lambda: bool(lab.runs()) and any("held=1" in words for words in servers_of(out)))
    assert only().pid == working.pid
    assert f"process {working.pid}" in CliRunner().invoke(cli, ["lab", "runs"]).output
    again = CliRunner().invoke(cli, words)
    assert isinstance(again.exception, Conflict) and "Another process" in str(again.exception)
    working.kill()
    working.wait()
    comes(lambda: only().state != "running")  # the server that it started holds on a moment longer
    assert only().state == "interrupted"
    comes(lambda: not servers_of(out))

    hold.unlink()
    shown = CliRunner().invoke(cli, ["lab", "runs"]).output
    assert CliRunner().invoke(cli, shlex.split(shown.partition("goes on with: navigator ")[2])).exit_code == 0
    found = only()
    assert (found.state, found.done, found.total) == ("complete", 4, 4)
    assert "2 start blocks were measured" in found.decision
    assert "random weights" in found.simulated
    assert len(out.read_text().splitlines()) == 8  # nothing twice, nothing missing
    assert "4 of 4" in CliRunner().invoke(cli, ["lab", "runs"]).output
