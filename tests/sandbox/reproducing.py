"""A project with a fault in its proposal, and the judgement of tests that are to prove it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from navigator.checks.proof import read_test, whole_statements
from navigator.context.source import TreeSource
from navigator.model.models import Finding
from navigator.model.states import Criterion, FindingKind, ReproductionOutcome, Severity
from navigator.sandbox.judge import Ruling, Traced, agreed, alone, change_of, judged
from navigator.sandbox.one_test import (
    AGAIN,
    FIRST,
    TestFile,
    TestRun,
    Variant,
    one_command,
    run_test,
    watched_files,
)
from navigator.sandbox.probe import probe
from navigator.sandbox.suite import prepare
from navigator.sandbox.supervise import Limits
from tests.sandbox.support import Bench

PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q"
"""Without plugins it starts in half the time, of which there is much while lines are watched."""
_NOT = ReproductionOutcome.NOT_REPRODUCED
_PROVED = frozenset({ReproductionOutcome.REGRESSION, ReproductionOutcome.UNMET})
UNITTEST = f"{sys.executable} -m unittest discover"

BASE = {
    "calc.py": (
        "LIMIT = 10\n\n\ndef clamp(value, low, high):\n    if value < low:\n        return low\n    if value > high:\n"
        "        return high\n    return value\n\n\ndef total(values):\n    return sum(values)\n"
    ),
    "tests/test_calc.py": "import calc\n\n\ndef test_total():\n    assert calc.total([1, 2]) == 3\n",
    "tests/helpers.py": "WANTED = 5\n",
    "other.py": "def broken():\n    return 1\n",
    "conftest.py": "",
}
FAULTY = BASE["calc.py"].replace("        return high\n", "        return low\n")
"""Above its bounds, `clamp` returns the wrong one."""


def finding(kind: FindingKind = FindingKind.WRONG, path: str = "calc.py") -> Finding:
    """A finding about `clamp`."""
    said = {"trigger": "a value above the range", "message": "clamp returns the lower bound"}
    place = {"hunk": "H1", "path": path, "line": 8, "quote": "        return low", "anchored": True}
    return Finding(kind=kind, **place, **said, severity=Severity.MAJOR, criterion=Criterion.CORRECTNESS)


class Proof:
    """Runs one test on a base and on a proposal, as the stage does."""

    def __init__(
        self,
        folder: Path,
        proposal: Mapping[str, str | None],
        check: str = PYTEST,
        base: Mapping[str, str] = BASE,
    ) -> None:
        installed = str(Path(pytest.__file__).parents[1])
        self.bench = Bench(folder, base, check, check_mounts=(installed,))
        self.tree = self.bench.changed(proposal)
        self.files = self.bench.private.diff(self.bench.base, self.tree)
        made = change_of(self.files)
        self.change = Traced(
            {path: whole_statements(str(proposal[path]), lines) for path, lines in made.added.items()},
            {path: whole_statements(base[path], lines) for path, lines in made.removed.items()},
        )
        self.source = TreeSource(self.bench.private, self.tree, self.bench.project)

    def run(
        self, text: str, tree: str, variant: Variant = FIRST, path: str = "tests/test_finding.py"
    ) -> TestRun:
        """One run on one tree."""
        command = one_command(self.bench.project.check, path, text, self._read)
        test = TestFile(path, text, command, watched_files([*self.change.watched, "calc.py"]))
        spec = prepare(self.bench.project, self.bench.private, tree)
        scratch = self.bench.folder / "scratch"
        made = run_test(
            spec, self.bench.private, tree, test, Limits(300, 2048), probe(), scratch, variant=variant
        )
        assert not list(scratch.glob("*")), "a run leaves nothing behind"
        return made

    def judge(
        self, text: str, *, about: Finding | None = None, task: str = "", path: str = "tests/test_finding.py"
    ) -> Ruling:
        """Both pairs of runs, and what they prove together."""
        facts = read_test(text, [file.new_path for file in self.files])
        if facts.refusals:
            return Ruling(_NOT, facts.refusals[0])

        def pair(variant: Variant) -> Ruling:
            proposal = self.run(text, self.tree, variant, path)
            if (settled := alone(proposal)) is not None:
                return settled
            base = self.run(text, self.bench.tree(), variant, path)
            return judged(facts, self.change, about or finding(), task, path, base, proposal)

        first = pair(FIRST)
        return first if first.outcome not in _PROVED else agreed(first, pair(AGAIN))

    def _read(self, path: str) -> str | None:
        content = self.source.read(path)
        return None if content is None else content.decode()
