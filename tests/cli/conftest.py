"""Commands as a user runs them, with a state folder and a settings file of their own.

They run in this process, which spares the imports; what needs a process of its own starts one with `environment()`.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from navigator.cli.main import main
from navigator.cli.session import _say_simulated
from navigator.swap.strategies.rehearsal import MODULE_VARIABLE

if TYPE_CHECKING:
    from tests.journey.room import Bench

REHEARSAL = '[swap]\nstrategy = "rehearsal"\n'


@dataclass
class Command:
    """`navigator` with its own state and settings."""

    state: Path
    config: Path

    def run(
        self, *words: str, code: int | None = 0, cwd: Path | None = None, input: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run it; `code` is the exit code it must have, None for any."""
        mine = {name: None for name in os.environ if name.startswith("NAVIGATOR")} | self.environment()
        with (
            CliRunner().isolation(input, mine) as (out, err, _),
            chdir(cwd or Path.cwd()),
            patch.object(sys, "argv", ["navigator", *words]),
            _log_restored(logging.getLogger("navigator")),
        ):
            ended = _exit_code(words)
        done = subprocess.CompletedProcess(words, ended, out.getvalue().decode(), err.getvalue().decode())
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


def at(bench: Bench) -> Command:
    """The command on a bench's state and settings."""
    return Command(bench.desk.root, bench.desk.config)


def _exit_code(words: tuple[str, ...]) -> int:
    """Run the command; an exception that no process would survive is 1, with its traceback on stderr."""
    _say_simulated.cache_clear()
    try:
        main(list(words))
    except SystemExit as ended:
        return int(ended.code or 0)
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        return 1
    return 0


@contextmanager
def _log_restored(logger: logging.Logger) -> Iterator[None]:
    handlers, level, propagate = list(logger.handlers), logger.level, logger.propagate
    yield
    for handler in set(logger.handlers) - set(handlers):
        handler.close()
    logger.handlers, logger.propagate = handlers, propagate
    logger.setLevel(level)


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
