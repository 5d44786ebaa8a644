"""`navigator project check`: the baseline by hand, and what it says where something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command, git
from tests.sandbox.support import needs_sandbox

pytestmark = [pytest.mark.sandbox, needs_sandbox]

TEST = "import unittest\n\n\nclass Case(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(1 + 1, {})\n"


def add(command: Command, repository: Path, right: int = 2, check: str = "") -> None:
    (repository / "tests").mkdir()
    (repository / "tests" / "test_sum.py").write_text(TEST.format(right))
    git(repository, "add", "--all")
    git(repository, "commit", "-q", "-m", "A test")
    command.run("project", "add", str(repository), "--name", "thing", "--check", check)


def test_a_command_is_proposed_kept_and_tried(command: Command, repository: Path) -> None:
    add(command, repository)
    done = command.run("project", "check", "thing", code=3)
    assert "No test command" in done.stdout and "Running" not in done.stderr
    proposed = "python3 -m unittest discover -s tests"
    assert f"project set thing --check '{proposed}'" in done.stdout
    document = command.json("project", "check", "thing", code=3)
    assert (document["proposed"], document["baseline"]) == (proposed, None)
    command.run("project", "set", "thing", "--check", proposed)
    document = command.json("project", "check", "thing")
    assert document["baseline"]["outcome"] == "passed" and document["baseline"]["detail"] == "1 passed"
    assert document["sandbox"]["works"] is True
    done = command.run("project", "check", "thing")
    assert "✓ passed: 1 passed" in done.stdout and "no network, no home" in done.stdout
    assert done.stderr.endswith(f"Running the tests on the base: `{proposed}` …\n")
    absent = command.run("project", "check", "thign", code=2)
    assert "thing" in absent.stderr and "Running" not in absent.stderr
    command.run("project", "set", "thing", "--check", "vitest run")
    assert "vitest was not found in the sandbox" in command.run("project", "check", "thing", code=3).stdout


def test_a_command_that_finds_no_test_has_passed_nothing(command: Command, repository: Path) -> None:
    """Bare functions are nothing to unittest: its exit status may be 0 all the same."""
    (repository / "test_plain.py").write_text("def test_one():\n    assert 1\n")
    git(repository, "add", "--all")
    git(repository, "commit", "-q", "-m", "A test")
    command.run("project", "add", str(repository), "--name", "thing")
    assert command.json("project", "check", "thing", code=3)["proposed"] == "python -m pytest -q"
    command.run("project", "set", "thing", "--check", "python3 -m unittest discover")
    done = command.run("project", "check", "thing", code=3)
    assert "– untested: no test ran" in done.stdout and "--check CMD" in done.stdout
    assert "tests on the base: untested: no test ran" in command.run("project", "show", "thing").stdout


def test_what_is_known_of_the_tests_is_shown_with_the_project(command: Command, repository: Path) -> None:
    done = command.run("project", "add", str(repository), "--name", "thing", "--check", "exit 3")
    assert "`navigator project check thing` tries its tests" in done.stderr
    assert "tests on the base: not tried yet" in command.run("project", "show", "thing").stdout
    command.run("project", "check", "thing", code=1)
    words = "failed before: tests tell nothing here (exit status 3)"
    assert words in command.run("project", "list").stdout
    assert command.json("project", "show", "thing")["tests"] == words
    assert command.json("project", "list")["projects"][0]["tests"] == words


def test_failing_tests_of_the_base_are_listed(command: Command, repository: Path) -> None:
    add(command, repository, right=3, check="python3 -m unittest discover -s tests")
    done = command.run("project", "check", "thing", code=1)
    assert "✗ failed: 1 failed" in done.stdout and "test_sum.Case.test_sum" in done.stdout
    assert "They fail without any proposal" in done.stdout


def test_too_many_values_to_be_redacted_are_said(
    command: Command, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("navigator.model.secrets.MOST_VALUES", 20)
    (repository / ".env").write_text("\n".join(f"KEY_{number}=v{number:09}x" for number in range(30)))
    add(command, repository, check="true")
    assert "! Files with secrets hold more than" in command.run("project", "check", "thing").stdout
