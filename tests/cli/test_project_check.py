"""`navigator project check`: the baseline by hand, and what it says where something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command, git
from tests.workspace.sandbox.support import needs_sandbox

TEST = "import unittest\n\n\nclass Case(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(1 + 1, {})\n"


def add(command: Command, repository: Path, right: int = 2, check: str = "") -> None:
    (repository / "tests").mkdir()
    (repository / "tests" / "test_sum.py").write_text(TEST.format(right))
    git(repository, "add", "--all")
    git(repository, "commit", "-q", "-m", "A test")
    command.run("project", "add", str(repository), "--name", "thing", "--check", check)


def test_without_a_command_one_is_proposed_and_nothing_is_run(command: Command, repository: Path) -> None:
    add(command, repository)
    done = command.run("project", "check", "thing", code=3)
    assert "no test command" in done.stdout
    assert "--set 'python3 -m unittest discover -s tests'" in done.stdout
    document = command.json("project", "check", "thing", code=3)
    assert document["proposed"] == "python3 -m unittest discover -s tests" and document["baseline"] is None


@pytest.mark.sandbox
@needs_sandbox
def test_a_command_is_kept_and_tried(command: Command, repository: Path) -> None:
    add(command, repository)
    document = command.json("project", "check", "thing", "--set", "python3 -m unittest discover -s tests")
    assert document["baseline"]["outcome"] == "passed" and document["baseline"]["detail"] == "1 passed"
    assert document["sandbox"]["works"] is True
    shown = command.run("project", "check", "thing").stdout
    assert "✓ passed: 1 passed" in shown and "no network, no home" in shown


@pytest.mark.sandbox
@needs_sandbox
def test_failing_tests_of_the_base_are_listed(command: Command, repository: Path) -> None:
    add(command, repository, right=3, check="python3 -m unittest discover -s tests")
    done = command.run("project", "check", "thing", code=1)
    assert "✗ failed: 1 failed" in done.stdout and "test_sum.Case.test_sum" in done.stdout
    assert "They fail without any proposal" in done.stdout


@pytest.mark.sandbox
@needs_sandbox
def test_a_command_that_is_not_there_is_explained(command: Command, repository: Path) -> None:
    (repository / "package.json").write_text('{"devDependencies": {"vitest": "1"}}')
    add(command, repository, check="vitest run")
    done = command.run("project", "check", "thing", code=3)
    assert "vitest was not found in the sandbox" in done.stdout
    assert "node_modules is not there" in done.stdout
