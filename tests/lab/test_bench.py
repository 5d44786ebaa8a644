"""Bench: twenty functions, each with tests that its solution passes and a spoilt one does not; the command executes them."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from navigator.cli import lab_compare
from navigator.cli.main import cli
from navigator.lab.comparing.tasks import SOLUTION, bench_functions
from navigator.model.json_text import table
from tests.journey.scripted_models import speaking
from tests.journey.support import Desk
from tests.journey.swaps import asked, settings, swapping
from tests.lab.known_models import Change, Quality, known
from tests.sandbox.support import needs_sandbox

SOLUTIONS = {row["key"]: row["solution"] for row in table("navigator.lab", "bench_tasks.toml")["task"]}


def passes(tests: str, solution: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether tests pass with a solution, in this process."""
    made, suite = ModuleType("solution"), ModuleType("suite")
    exec(solution, made.__dict__)
    monkeypatch.setitem(sys.modules, "solution", made)
    exec(tests, suite.__dict__)
    return unittest.defaultTestLoader.loadTestsFromModule(suite).run(unittest.TestResult()).wasSuccessful()


def test_every_solution_passes_its_tests_and_nothing_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = bench_functions()
    assert len(functions) == 20
    for one in functions:
        solution = SOLUTIONS[one.key]
        assert passes(one.tests, solution, monkeypatch), one.key
        name = solution.partition("def ")[2].partition("(")[0]
        assert not passes(one.tests, f"def {name}(*given):\n    return None\n", monkeypatch), one.key


@needs_sandbox
@pytest.mark.sandbox
def test_the_command_executes_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    three = bench_functions()[:3]
    monkeypatch.setattr(lab_compare, "bench_functions", lambda: three)
    changes: dict[str, Change] = {
        one.text: {SOLUTION: (None, SOLUTIONS[one.key] if one is not three[0] else "x = 1\n")}
        for one in three
    }
    swapping(tmp_path)
    models = known(changes, Quality(1.0, 1.0))
    models.holds = tmp_path / "loaded"
    models.holds.write_text("")  # the first load is no swap
    with speaking(models):
        desk = Desk.make(tmp_path, settings(tmp_path, models.url))
        monkeypatch.setenv("NAVIGATOR_STATE", str(desk.root))
        monkeypatch.setenv("NAVIGATOR_CONFIG", str(desk.config))
        done = CliRunner().invoke(cli, ["lab", "bench", "--arm", "generator", "--json"])
        (run,) = desk.json("lab", "runs")["runs"]
    assert done.exit_code == 0, done.output
    assert (run["kind"], run["state"]) == ("bench", "complete")
    assert run["command"] == ["lab", "bench", "--arm", "generator"]
    found = json.loads(done.stdout)
    assert [task["passed"]["generator"] for task in found["tasks"]] == [False, True, True]
    assert found["swaps"] == 0
    assert asked(tmp_path) == ["generator"]
