"""Closing the terminal under a foreground run: progress falls silent, and no task fails for it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command


@pytest.mark.slow
@pytest.mark.parametrize("hang_up", [True, False])
def test_a_terminal_that_closes_fails_no_task(command: Command, repository: Path, hang_up: bool) -> None:
    """With SIGHUP the run ends and what was in progress is queued; where it is ignored (nohup) the run continues."""
    command.run("project", "add", str(repository))
    command.run("task", "add", repository.name, "Compare with None by identity")
    main, terminal = pty.openpty()
    words = ["run", "--until", "idle", "--time-scale", "0.01" if hang_up else "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "navigator", *words],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env=command.environment(),
        start_new_session=True,
    ) as process:
        os.close(terminal)
        os.read(main, 1)  # something was said
        os.close(main)
        if hang_up:
            process.send_signal(signal.SIGHUP)
        process.wait(120)
    states = {row["state"] for row in command.json("task", "list")["tasks"]}
    assert "failed" not in states
    if hang_up:
        command.run("run", "--until", "idle", "--time-scale", "0")
        states = {row["state"] for row in command.json("task", "list")["tasks"]}
    assert states == {"awaiting_approval"}
