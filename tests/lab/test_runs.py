"""The lab's runs: noted while they work, told apart from a crash, stopped and resumed as processes of their own."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from navigator.cli.main import cli
from navigator.lab import runs as lab
from navigator.lab.runs import LabRun, Plot, Point, figures, recording, run_name
from navigator.model.errors import Conflict, MissingPart, UsageError
from navigator.swap.processes import strays
from tests.lab.test_measure import plan_file


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NAVIGATOR_STATE", str(tmp_path / "state"))
    return tmp_path


def comes(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, lab.log_file().read_text()
        time.sleep(0.02)


def only() -> LabRun:
    (run,) = lab.runs()
    return run


def test_a_run_is_noted_from_its_begin_to_its_end(tmp_path: Path) -> None:
    with recording("compare", tmp_path / "r.jsonl", ("lab", "x"), about="a test") as record:
        assert only().state == "running"
        assert only().seconds_left is None
        record.progress(4, 10, "tasks")
        assert only().seconds_left is None  # nothing was done by this process
        record.progress(10, 10)
        record.decided("Use it.", [Plot(title="t", points=(Point(label="a", value=1.0),))])
        assert (only().done, only().total, only().unit, only().seconds_left) == (10, 10, "tasks", 0.0)
    found = only()
    assert (found.state, found.decision, found.results) == ("complete", "Use it.", str(tmp_path / "r.jsonl"))
    with pytest.raises(Conflict, match="complete"):
        lab.resume(found)
    with pytest.raises(Conflict, match="not running"):
        lab.stop(found)


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


def test_another_plan_does_not_take_the_place_of_what_was_noted(tmp_path: Path) -> None:
    def begin(words: tuple[str, ...]) -> None:
        with recording("compare", tmp_path / "r", words):
            raise Conflict("Begun with another plan.")

    with pytest.raises(Conflict):
        begin(("lab", "new"))
    assert lab.runs() == []
    with recording("compare", tmp_path / "r", ("lab", "old")) as record:
        record.progress(2, 2)
    with pytest.raises(Conflict):
        begin(("lab", "new"))
    assert (only().command, only().state) == (("lab", "old"), "complete")


def test_a_file_that_is_no_run_is_passed_over() -> None:
    (lab.runs_folder() / "torn.json").write_text('{"name": "torn"')
    assert lab.runs() == []
    with pytest.raises(UsageError, match="no run torn"):
        lab.find("torn")


def test_names_stay_apart(tmp_path: Path) -> None:
    assert (
        run_name("speculation", lab.lab_folder() / "speculation-generator.jsonl") == "speculation-generator"
    )
    one, other = run_name("judge", tmp_path / "a" / "v.jsonl"), run_name("judge", tmp_path / "b" / "v.jsonl")
    assert one != other
    assert "/" not in run_name("judge", tmp_path / "a b;c.jsonl")


@pytest.mark.parametrize(
    ("unit", "reference", "n", "said"),
    [
        ("%", None, 12, ("50.0%", "25.0% to 75.0%", "12, anecdotal")),
        ("%", None, 30, ("50.0%", "25.0% to 75.0%", "30")),
        ("%", 0.0, 6, ("+50.0%", "+25.0% to +75.0%", "6")),
        ("s", None, None, ("0.5 s", "0.25 s to 0.75 s", "–")),
    ],
)
def test_figures_in_words(unit: str, reference: float | None, n: int | None, said: tuple[str, ...]) -> None:
    point = Point(label="x", value=0.5, low=0.25, high=0.75, n=n)
    assert figures(Plot(title="t", unit=unit, reference=reference, points=(point,)), point) == said


def test_a_measurement_is_stopped_killed_and_resumed(tmp_path: Path) -> None:
    """Real processes: the command, and under it the servers that it starts."""
    plan = plan_file(tmp_path, blocks=6, options=', "alpha=0.8", "c=0.05", "v=1.4"')
    out = tmp_path / "runs.jsonl"
    words = ("lab", "speculation", "measure", str(plan), "--out", str(out))
    first = lab.start(words, tmp_path)
    comes(lambda: bool(lab.runs()) and only().done >= 1)
    lab.stop(only())
    comes(lambda: first.over)
    assert only().state == "stopped"
    comes(lambda: strays(str(out), ()) == [])  # its server goes with it

    done = only().done
    second = lab.resume(only())
    comes(lambda: second.works and only().done > done)
    assert only().seconds_left is not None
    os.kill(second.pid, signal.SIGKILL)
    comes(
        lambda: second.over and only().state != "running"
    )  # the server that it started holds on a moment longer
    assert only().state == "interrupted"

    told = CliRunner().invoke(cli, ["lab", "runs", only().name, "--resume"])
    assert told.exit_code == 0, told.output
    comes(lambda: only().state == "complete")
    found = only()
    assert (found.done, found.total, found.unit) == (12, 12, "starts")
    assert found.decision.startswith("Use small with γ = 4")
    assert "random weights" in found.simulated
    assert found.plots[0].title == "Gain in tok/s against no speculation"
    assert found.plots[0].points[0].n == 6
    assert len(out.read_text().splitlines()) == 24  # nothing twice, nothing missing
    listed = CliRunner().invoke(cli, ["lab", "runs"]).output
    assert "12 of 12 starts" in listed
    assert "γ = 4" in CliRunner().invoke(cli, ["lab", "runs", found.name]).output


def test_what_a_start_says_when_it_fails(tmp_path: Path) -> None:
    started = lab.start(("lab", "speculation", "measure", str(tmp_path / "none.toml")), tmp_path)
    comes(lambda: started.over)
    assert "There is no plan" in started.problem()
    assert lab.runs() == []
    with pytest.raises(UsageError, match="gone"):
        lab.start(("lab",), tmp_path / "gone")
