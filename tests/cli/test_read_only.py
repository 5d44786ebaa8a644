"""A state folder on a read-only mount: what can be looked at is shown, what cannot be done is said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.sandbox.support import needs_sandbox

pytestmark = [
    pytest.mark.sandbox,
    needs_sandbox,
]


def read_only(command: Command, *words: str) -> subprocess.CompletedProcess[str]:
    """The command where its state folder is mounted read-only."""
    mounted = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(command.state), str(command.state)]
    done = subprocess.run(
        [*mounted, sys.executable, "-m", "navigator", *words],
        capture_output=True,
        text=True,
        env=command.environment(),
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def queued(command: Command, repository: Path) -> Command:
    """A state folder with a project and a task in it."""
    command.run("project", "add", str(repository), "--name", "thing")
    command.run("task", "add", "thing", "Close the file that load opens")
    return command


def test_it_can_be_looked_at(queued: Command) -> None:
    assert "thing" in read_only(queued, "project", "list").stdout
    for words in (("status",), ("proposals",), ("stats", "reviewer"), ("task", "list")):
        done = read_only(queued, *words)
        assert done.returncode == 0, (words, done.stderr)


def test_nothing_can_be_done(queued: Command) -> None:
    for words in (("run",), ("run", "--detach"), ("task", "add", "thing", "Another one")):
        done = read_only(queued, *words)
        assert done.returncode == 1
        assert "cannot be opened for writing" in done.stderr
    assert "NAVIGATOR_STATE" in read_only(queued, "run").stderr


def test_doctor_writes_to_find_out(queued: Command) -> None:
    done = read_only(queued, "doctor")
    assert done.returncode == 3
    assert "✗ missing  state folder" in done.stdout and "cannot be written" in done.stdout


def test_a_log_that_is_left_over_is_not_passed_over(queued: Command) -> None:
    """Read as it lies there, the database would show what was before."""
    queued.state.joinpath("navigator.db-wal").write_bytes(b"\0" * 5000)
    done = read_only(queued, "status")
    assert done.returncode == 1
    assert "is read-only" in done.stderr and "copy it" in done.stderr
