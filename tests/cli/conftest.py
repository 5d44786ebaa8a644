"""Commands as a user runs them: real processes, an own state folder, an own settings file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from navigator.swap.strategies.rehearsal import MODULE_VARIABLE

REHEARSAL = '[swap]\nstrategy = "rehearsal"\n'


@dataclass
class Command:
    """`navigator` with its own state and settings."""

    state: Path
    config: Path

    def run(self, *words: str, code: int | None = 0, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run it; `code` is the exit code it must have, None for any."""
        done = subprocess.run(
            [sys.executable, "-m", "navigator", *words],
            capture_output=True,
            text=True,
            env=self.environment(),
            timeout=240,
            **({"input": ""} | options),
        )
        assert code is None or done.returncode == code, (
            f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        )
        return done

    def json(self, *words: str, code: int | None = 0) -> Any:
        """Run it with --json; stdout must be exactly one JSON document."""
        return json.loads(self.run(*words, "--json", code=code).stdout)

    def environment(self) -> dict[str, str]:
        """Our own environment, pointed at this state and these settings."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("NAVIGATOR") or name == MODULE_VARIABLE
        }
        return kept | {
            "NAVIGATOR_STATE": str(self.state),
            "NAVIGATOR_CONFIG": str(self.config),
            "NAVIGATOR_TIME_SCALE": "0",
            "COLUMNS": "160",
        }


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """A command whose settings choose the rehearsal."""
    config = tmp_path / "config.toml"
    config.write_text(REHEARSAL)
    return Command(tmp_path / "state", config)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A small repository in which the rehearsal's rules find something to do."""
    folder = tmp_path / "thing"
    folder.mkdir()
    (folder / "thing.py").write_text(
        "def load(path, seen=[]):\n"
        "    if path == None:\n"
        "        return seen\n"
        "    seen.append(open(path).read())\n"
        "    return seen\n"
    )
    (folder / "README.md").write_text("# Thing\n\nSee https://example.org/thing for more.\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "navigator.sample", "true")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Start")
    return folder


def git(folder: Path, *words: str) -> str:
    """Run git there, and return what it printed."""
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout
