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


EACH = """
import sys
from navigator.cli.main import main
for words in sys.argv[1:]:
    try:
        main(words.split())
    except SystemExit as ended:
        print("ended", ended.code, words)
"""


def read_only(command: Command, *each: str) -> subprocess.CompletedProcess[str]:
    """Commands, one after the other, where the state folder is mounted read-only; how each ended is in the output."""
    mounted = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(command.state), str(command.state)]
    done = subprocess.run(
        [*mounted, sys.executable, "-c", EACH, *each],
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


def test_it_can_be_looked_at_and_nothing_can_be_done(queued: Command) -> None:
    looks = ("project list", "status", "proposals", "stats reviewer", "task list")
    done = read_only(queued, *looks)
    assert [line for line in done.stdout.splitlines() if line.startswith("ended ")] == [
        f"ended 0 {look}" for look in looks
    ], done.stderr
    assert "thing" in done.stdout
    refused = read_only(queued, "run", "run --detach", "task add thing Another")
    assert refused.stdout.count("ended 1 ") == 3
    assert refused.stderr.count("cannot be opened for writing") == 3
    assert "NAVIGATOR_STATE" in refused.stderr


def test_doctor_writes_to_find_out(queued: Command) -> None:
    done = read_only(queued, "doctor")
    assert "ended 3 doctor" in done.stdout
    assert "✗ missing  state folder" in done.stdout and "cannot be written" in done.stdout


def test_a_log_that_is_left_over_is_not_passed_over(queued: Command) -> None:
    """Read as it lies there, the database would show what was before."""
    queued.state.joinpath("navigator.db-wal").write_bytes(b"\0" * 5000)
    done = read_only(queued, "status")
    assert "ended 1 status" in done.stdout
    assert "is read-only" in done.stderr and "copy it" in done.stderr
