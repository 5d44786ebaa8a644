"""Every benchmark runs, at its smallest size, and prints its figure. What the figure is worth is not tested here."""

from __future__ import annotations

import os
import re
import runpy
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.conftest import ROOT
from tests.journey.support import git, make_repository
from tests.sandbox.support import needs_sandbox

BENCHMARKS = ROOT.parent / "benchmarks"
MODULES = {"mechanical_looker", "size", "workloads"}
"""What the others import."""

FIGURES = {
    "compare_known": r"order found: ",
    "context_recall": r"contained − newest: .*(times|∞)\)",
    "diff_view": r"[\d.]+×.*[\d.]+×",
    "findings_that_run": r"true findings reproduced: \d+ of \d+",
    "forecast": r"error: median [\d.]+%",
    "gpu_idle": r"idle share less by ",
    "hook": r"Navigator's hook( +[\d.-]+){4}",
    "commands": r"navigator status .*[\d.]+×",
    "idle": r"the conductor .*% of a core",
    "own_cost": r"[1-9]\d* landed(.|\n)*[\d.]+ times the bare calls",
    "read_ahead": r"ratio cold / warm: [\d.]+|nothing to compare",
    "repo_map": r"cold .*[\d.]+ times the reference",
    "speculation": r"rejected [+-][\d.]+%",
    "store_scale": r"deck: first picture .*[\d.]+ times the reference",
    "swap": r"ratio [\d.]+|Not measured: ",
    "syntax_gate": r"ratio [\d.]+",
    "tui_scale": r"key to paint.* [\d.]+×",
    "tui_startup": r"the deck .*[\d.]+×",
    "uncertainty": r"AUC ",
}
NEED_A_SANDBOX = {"compare_known", "findings_that_run"}
READ_A_REPOSITORY = {"context_recall": "--repo=own={}", "repo_map": "{}", "syntax_gate": "{}"}


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A repository with a few commits in a language that is read by a grammar."""
    source = "function sum(a, b) {\n  return a + b;\n}\n"
    made = make_repository(tmp_path / "own", {"src/sum.js": source.encode(), "src/other.js": source.encode()})
    for number in range(4):
        (made / "src" / "sum.js").write_text(source.replace("a + b", f"a + b + {number}"))
        git(made, "commit", "-qam", f"Add {number} to the sum")
    return made


def test_each_has_its_figure() -> None:
    assert {path.stem for path in BENCHMARKS.glob("*.py")} == {*FIGURES, *MODULES}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[needs_sandbox, pytest.mark.sandbox] if name in NEED_A_SANDBOX else [])
        for name in sorted(FIGURES)
    ],
)
def test_it_runs(
    name: str, history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--tiny", *([READ_A_REPOSITORY[name].format(history)] if name in READ_A_REPOSITORY else [])]
    program = str(BENCHMARKS / f"{name}.py")
    monkeypatch.setattr(sys, "argv", [program, *words])
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.delitem(sys.modules, "benchmarks.size", raising=False)  # it reads the words
    with patch.dict(os.environ):
        runpy.run_path(program, run_name="__main__")
    printed = capsys.readouterr().out
    assert re.search(FIGURES[name], printed), printed
