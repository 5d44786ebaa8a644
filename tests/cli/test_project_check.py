"""`navigator project check`: the baseline by hand, and what it says where something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command, git
from tests.sandbox.support import needs_sandbox

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
    assert "No test command" in done.stdout
    assert "project set thing --check 'python3 -m unittest discover -s tests'" in done.stdout
    document = command.json("project", "check", "thing", code=3)
    assert document["proposed"] == "python3 -m unittest discover -s tests" and document["baseline"] is None


@pytest.mark.sandbox
@needs_sandbox
def test_a_command_is_kept_and_tried(command: Command, repository: Path) -> None:
    add(command, repository)
    command.run("project", "set", "thing", "--check", "python3 -m unittest discover -s tests")
    document = command.json("project", "check", "thing")
    assert document["baseline"]["outcome"] == "passed" and document["baseline"]["detail"] == "1 passed"
    assert document["sandbox"]["works"] is True
    shown = command.run("project", "check", "thing").stdout
    assert "✓ passed: 1 passed" in shown and "no network, no home" in shown


@pytest.mark.sandbox
@needs_sandbox
def test_it_says_what_it_runs_before_it_does(command: Command, repository: Path) -> None:
    add(command, repository, check="true")
    assert command.run("project", "check", "thing").stderr.endswith(
        "Running the tests on the base: `true` …\n"
    )
    command.run("project", "set", "thing", "--check", "")
    assert command.run("project", "check", "thing", code=3).stderr.count("Running") == 0
    absent = command.run("project", "check", "thign", code=2)
    assert "thing" in absent.stderr and "Running" not in absent.stderr


@pytest.mark.sandbox
@needs_sandbox
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


@pytest.mark.sandbox
@needs_sandbox
def test_what_is_known_of_the_tests_is_shown_with_the_project(command: Command, repository: Path) -> None:
    done = command.run("project", "add", str(repository), "--name", "thing", "--check", "exit 3")
    assert "`navigator project check thing` tries its tests" in done.stderr
    assert "tests on the base: not tried yet" in command.run("project", "show", "thing").stdout
    command.run("project", "check", "thing", code=1)
    words = "failed before: tests tell nothing here (exit status 3)"
    assert words in command.run("project", "list").stdout
    assert command.json("project", "show", "thing")["tests"] == words
    assert command.json("project", "list")["projects"][0]["tests"] == words


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
    add(command, repository, check="vitest run")
    done = command.run("project", "check", "thing", code=3)
    assert "vitest was not found in the sandbox" in done.stdout


@pytest.mark.sandbox
@needs_sandbox
def test_too_many_values_to_be_redacted_are_said(
    command: Command, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("navigator.model.secrets.MOST_VALUES", 20)
    (repository / ".env").write_text("\n".join(f"KEY_{number}=v{number:09}x" for number in range(30)))
    add(command, repository, check="true")
    assert "! Files with secrets hold more than" in command.run("project", "check", "thing").stdout
