"""Bench: twenty functions, executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.lab.comparing.tasks import SOLUTION, bench_functions
from tests.journey.scripted_models import speaking
from tests.journey.support import Desk
from tests.journey.swaps import asked, settings, swapping
from tests.lab.known_models import Change, Quality, known
from tests.sandbox.support import needs_sandbox

SPOILT = {"power-set": ("sets = [[]]", "sets = []"), "factorial": ("n < 2", "n < 9")}


@needs_sandbox
@pytest.mark.sandbox
def test_the_command_executes_all_twenty(tmp_path: Path) -> None:
    functions = bench_functions()
    assert len(functions) == 20
    changes: dict[str, Change] = {
        each.text: {SOLUTION: (None, each.solution.replace(*SPOILT.get(each.key, ("", ""))))}
        for each in functions
    }
    swapping(tmp_path)
    models = known(changes, Quality(1.0, 1.0))
    models.holds = tmp_path / "loaded"
    models.holds.write_text("")  # the first load is no swap
    with speaking(models):
        desk = Desk.make(tmp_path, settings(tmp_path, models.url))
        done = desk.json("lab", "bench", "--arm", "generator")
        (run,) = desk.json("lab", "runs")["runs"]
    assert (run["kind"], run["state"]) == ("bench", "complete")
    assert run["command"] == ["lab", "bench", "--arm", "generator", "--name", "bench"]
    assert [row["tier"] for row in done["rows"]] == ["simple", "medium", "complex"]
    assert sum(row["n"] for row in done["rows"]) == 20
    assert sum(row["k"] for row in done["rows"]) == 18
    failed = {task["key"] for task in done["tasks"] if not task["passed"]["generator"]}
    assert failed == set(SPOILT)
    assert done["swaps"] == 0
    assert asked(tmp_path) == ["generator"]
