"""Bench: what structure sees and execution does not, and the other way round."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from navigator.lab.bench import bench_tasks, heuristic, structural
from navigator.lab.comparing.functions import SOLUTION
from tests.journey.scripted_models import speaking
from tests.journey.support import Desk
from tests.journey.swaps import asked, settings, swapping
from tests.lab.known_models import Change, Quality, known
from tests.sandbox.support import needs_sandbox

TASKS = {task.key: task for task in bench_tasks()}


def test_there_are_twenty_tasks_whose_solutions_pass_all_four_checks() -> None:
    assert len(TASKS) == 20
    for task in TASKS.values():
        assert all(structural(task, task.solution).values()), task.key


def test_structure_sees_the_name_and_not_the_behaviour() -> None:
    task = TASKS["power-set"]
    renamed = task.solution.replace("power_set", "get_power_set")
    assert structural(task, renamed)["name"] is False
    wrong = task.solution.replace("sets = [[]]", "sets = []")
    assert all(structural(task, wrong).values())
    assert not any(structural(task, "def power_set(").values())


def test_the_heuristic_cannot_reach_more_than_eighty() -> None:
    full = "# 1\n1. stack queue heap cache hash tree graph\n```python\n```\n" + "x" * 400
    assert heuristic(full) == 80
    assert heuristic("") == 0
    assert heuristic("```\n```") == 20


@needs_sandbox
@pytest.mark.sandbox
def test_the_command_executes_all_twenty(tmp_path: Path) -> None:
    spoilt = {"power-set": ("power_set", "get_power_set"), "factorial": ("n < 2", "n < 9")}
    changes: dict[str, Change] = {}
    for key, task in TASKS.items():
        changes[task.function().text] = {SOLUTION: (None, task.solution.replace(*spoilt.get(key, ("", ""))))}
    swapping(tmp_path)
    models = known(changes, Quality(1.0, 1.0))
    models.holds = tmp_path / "loaded"
    models.holds.write_text("")  # the first load is no swap
    with speaking(models):
        desk = Desk.make(tmp_path, settings(tmp_path, models.url))
        done = desk.json("lab", "bench", "--arm", "generator")
        (run,) = desk.json("lab", "runs")["runs"]
    assert (run["kind"], run["state"]) == ("bench", "complete")
    assert run["command"] == ["lab", "bench", "--name", "bench", "--arm", "generator"]
    rows = {row["tier"]: row for row in done["rows"]}
    assert rows["all"]["n"] == 20
    assert rows["all"]["structure"][0] == 19  # only the name is seen
    assert rows["all"]["tests"][0] == 18
    assert sum(rows[tier]["n"] for tier in ("simple", "medium", "complex")) == 20
    failed = {task["key"] for task in done["tasks"] if not task["passed"]["generator"]}
    assert failed == set(spoilt)
    assert "anecdotal" in rows["all"]["tests_words"]
    assert json.dumps(done["swaps"]) == "0"
    assert asked(tmp_path) == ["generator"]
