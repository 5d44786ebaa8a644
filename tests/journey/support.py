"""What the whole-session tests share: a state folder driven by real processes, repositories, fingerprints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from navigator.cli.main import cli
from navigator.client.assemble import RetryPolicy
from navigator.config.paths import StatePaths
from navigator.engine import conductor_state as live
from navigator.sheet.marks import left_out
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from navigator.swap.strategies.rehearsal import MODULE_VARIABLE
from tests.git.world import write
from tests.journey.killed_at import GIT_DIED, KILLED_AT

REHEARSAL = """
[generator]
model = "rehearsal/Qwen3.5-35B-A3B"
[reviewer]
model = "rehearsal/Qwen3.5-122B-A10B"
[swap]
strategy = "rehearsal"
"""

PATIENCE = 240.0
"""Seconds after which a process counts as hung; no test depends on being faster."""


def hurry(monkeypatch: pytest.MonkeyPatch, retries: int | None = None) -> None:
    """Have the conductor and the client try again at once; at most `retries` times where that is given."""
    monkeypatch.setattr(live, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(live, "_LONGEST_PAUSE", 0.002)

    def delay(policy: RetryPolicy, attempt: int, wanted: object) -> float | None:
        most = policy.retries if retries is None else min(retries, policy.retries)
        return 0.001 if attempt < most else None

    monkeypatch.setattr(RetryPolicy, "delay", delay)


def why_left_out(reader: Reader, proposal: str, confirmed: tuple[str, ...] = ()) -> str:
    """Why a batch approval leaves out a proposal that was looked at; "" where it covers it."""
    mark = left_out(*reader.cards_about([proposal]), confirmed, unseen=True)
    return mark.words if mark else ""


@cache
def _forks() -> subprocess.Popen[str]:
    """`killed_at.py`, which forks as often as it is asked; it ends with this process."""
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, KILLED_AT], stdin=pipe, stdout=pipe, text=True)


@dataclass(frozen=True)
class Desk:
    """One state folder with its settings, and the command that works on it."""

    root: Path
    config: Path

    @classmethod
    def make(cls, folder: Path, settings: str = REHEARSAL) -> Desk:
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "config.toml"
        config.write_text(settings, encoding="utf-8")
        state = folder / "state"
        state.mkdir(mode=0o700)
        return cls(state, config)

    @property
    def paths(self) -> StatePaths:
        return StatePaths(self.root)

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GIT_", "NAVIGATOR_", "PYTEST_")) or name == MODULE_VARIABLE
        }
        return kept | {
            "NAVIGATOR_STATE": str(self.root),
            "NAVIGATOR_CONFIG": str(self.config),
            "NAVIGATOR_TIME_SCALE": "0",
            "NO_COLOR": "1",
        }

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """Begin `navigator WORDS` and leave it running."""
        return self.python("-m", "navigator", *words, **options)

    def python(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """Begin a Python process in the desk's environment."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([sys.executable, *words], env=self.environment, **(pipes | options))

    def killed_at(self, moment: str, what: object, count: int, *words: str) -> tuple[bool, str]:
        """`navigator WORDS`, killed at the moment of `killed_at.py`; whether it came to it, and what it printed."""
        output = self.root.with_name("printed")
        asked = {
            "words": (moment, str(what), str(count), *words),
            "environment": self.environment,
            "output": str(output),
        }
        forks = _forks()
        assert forks.stdin is not None and forks.stdout is not None
        forks.stdin.write(json.dumps(asked) + "\n")
        forks.stdin.flush()
        code = int(forks.stdout.readline())
        printed = output.read_text("utf-8", "replace")
        died = code == -signal.SIGKILL or GIT_DIED in printed
        assert died or code == 0, f"{asked['words']} -> {code}\n{printed[-6000:]}"
        return died, printed

    def run(self, *words: str, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[bytes]:
        """`navigator WORDS` to its end; its exit code must be one of `codes`."""
        child = self.start(*words)
        out, err = child.communicate(timeout=PATIENCE)
        said = f"{' '.join(words)} -> {child.returncode}\n{out.decode()[-4000:]}\n{err.decode()[-4000:]}"
        assert child.returncode in codes, said
        return subprocess.CompletedProcess(words, child.returncode, out, err)

    def read(self, *words: str, codes: tuple[int, ...] = (0,)) -> str:
        """What `navigator WORDS` prints, run in this process: quicker, where nothing else tells the two apart."""
        done = CliRunner().invoke(cli, words, env=self.environment, catch_exceptions=False)
        assert done.exit_code in codes, f"{words}: {done.exit_code}\n{done.output}"
        return done.stdout

    def json(self, *words: str, codes: tuple[int, ...] = (0,)) -> dict[str, Any]:
        """The one document that `navigator WORDS --json` prints."""
        document = json.loads(self.run(*words, "--json", codes=codes).stdout)
        assert isinstance(document, dict)
        return document

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """The store, read-only."""
        connection = open_reader(self.paths.database)
        try:
            yield Reader(connection)
        finally:
            connection.close()


def git(folder: Path, *words: str, input: bytes | None = None) -> str:
    """Plain git, apart from the machine's settings; its output, stripped."""
    identity = {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        **{
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "A Developer"), ("EMAIL", "dev@example.invalid"))
        },
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "maintenance.auto=false", *words],
        input=input,
        env=kept | identity,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr.decode()}"
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def make_repository(folder: Path, files: Mapping[str, bytes]) -> Path:
    """A repository with one commit of `files` on main, and an identity of its own."""
    write(folder, files)
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--template=", "--initial-branch=main")
    with (folder / ".git" / "config").open("a") as config:
        config.write(
            "[user]\n\tname = A Developer\n\temail = dev@example.invalid\n[navigator]\n\tsample = true\n"
        )
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "As it was")
    return folder


def without_identity(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """From here on git knows nobody but whom a repository names."""
    config = folder / "nobody.gitconfig"
    config.write_text("[user]\n\tuseConfigOnly = true\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))


def toml_of(tasks: Iterable[Mapping[str, Any]]) -> str:
    """Tasks as the file that `navigator task add --from` reads."""
    tables = ["\n".join(f"{key} = {json.dumps(value)}" for key, value in task.items()) for task in tasks]
    return "".join(f"[[task]]\n{table}\n" for table in tables)


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Names that came, went or changed."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def running(mark: str) -> list[tuple[int, str]]:
    """The parent and the command line of each other process with this text in its arguments or its environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            words = environment = (
                (entry / "cmdline").read_bytes().decode("utf-8", "replace").replace("\0", " ")
            )
            with suppress(OSError):  # it is another user's
                environment += (entry / "environ").read_bytes().decode("utf-8", "replace")
            if mark in environment and entry.name != str(os.getpid()):
                found.append((parent, words))
    return found


def commits_of_proposals(repository: Path) -> list[str]:
    """The `Navigator-Proposal` trailer of every commit on any branch, one entry a commit."""
    log = git(
        repository,
        "log",
        "--branches",
        "--format=%(trailers:key=Navigator-Proposal,valueonly,separator=%x2C)",
    )
    return [line for line in log.splitlines() if line]
