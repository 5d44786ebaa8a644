"""What an accepted change takes without looks, with them, and by an agent, in the rehearsal: tokens read, cache share, seconds.

    python benchmarks/looking_cost.py [--tiny | --full] [--projects N] [--tasks N] [--agent "/path/to/qwen --acp" …]

The same tasks on the same sample repositories, once with `looks = 0`, once with the default, and once for each `--agent`, a real
program (`make agents` installs some) whose model is the rehearsal's; no task names a file. Every
approved proposal is accepted as `navigator approve --all-reviewed` does. All of it is simulated: the answers, the cache and the
times (docs/scheduling.md). It says what the machinery costs, not what a model gains by looking.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.size import sized
from tests.scripted.samples.repositories import SampleTask, sample_projects, sample_tasks

SETTINGS = """
[generator]
model = "rehearsal/Qwen3.5-35B-A3B"
looks = {looks}
[reviewer]
model = "rehearsal/Qwen3.5-122B-A10B"
[swap]
strategy = "rehearsal"
"""
SCALE = 0.2
"""Of simulated time. A smaller one would count this machine's own milliseconds as simulated seconds."""
AGENT = """
[generator.agent]
command = {command}
"""


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=A Developer", "-c", "user.email=dev@example.invalid"]
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


@dataclass(frozen=True)
class Arm:
    """One way to have everything written."""

    looks: int
    agent: str = ""

    def __str__(self) -> str:
        return Path(shlex.split(self.agent)[0]).name if self.agent else f"looks = {self.looks}"


class Desk:
    """A state folder with its settings, and the command that works on it."""

    def __init__(self, folder: Path, arm: Arm) -> None:
        self.folder = folder
        folder.mkdir()
        agent = AGENT.format(command=json.dumps(shlex.split(arm.agent))) if arm.agent else ""
        (folder / "config.toml").write_text(SETTINGS.format(looks=arm.looks) + agent, encoding="utf-8")

    def run(self, *words: str) -> dict[str, Any]:
        """The document that `navigator WORDS --json` prints."""
        environment = os.environ | {
            "NAVIGATOR_STATE": str(self.folder / "state"),
            "NAVIGATOR_CONFIG": str(self.folder / "config.toml"),
            "NAVIGATOR_TIME_SCALE": str(SCALE),
            "NAVIGATOR_REHEARSAL": "tests.scripted",
        }
        done = subprocess.run(
            [sys.executable, "-m", "navigator", *words, "--json"],
            env=environment,
            capture_output=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr.decode())
        return dict(json.loads(done.stdout))


def queue(desk: Desk, folder: Path, projects: int, tasks: list[SampleTask]) -> None:
    """Make the repositories and queue the tasks, without their files."""
    for sample in sample_projects(projects, 0):
        place = folder / sample.name
        for name, content in sample.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(content)
        git(place, "init", "-q", "-b", "main")
        git(place, "config", "navigator.sample", "true")
        git(place, "add", "-A")
        git(place, "commit", "-qm", "begin")
        desk.run("project", "add", str(place), "--name", sample.name)
    for task in tasks:
        desk.run("task", "add", task.project, task.text, "--kind", task.kind.value)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--projects", type=int, default=sized(1, 4, 8))
    parser.add_argument("--tasks", type=int, default=sized(1, 8, 24))
    parser.add_argument(
        "--agent", action="append", default=[], metavar="COMMAND", help="an agent as the writer"
    )
    chosen = parser.parse_args()
    tasks = sample_tasks(chosen.tasks, 0, sample_projects(chosen.projects, 0))
    print(f"{len(tasks)} tasks, simulated")
    with tempfile.TemporaryDirectory() as name:
        for number, arm in enumerate((Arm(0), Arm(6), *(Arm(0, agent) for agent in chosen.agent))):
            folder = Path(name) / f"arm-{number}"
            desk = Desk(folder, arm)
            queue(desk, folder / "code", chosen.projects, tasks)
            desk.run("run", "--until", "idle")
            desk.run("approve", "--all-reviewed", "--include-unseen", "--yes")
            found = desk.run("stats", "writing")["looking"]
            print(
                f"{arm}: {found['looks']} looks in {found['rounds']} rounds, {found['tokens']:,} tokens shown"
            )
            for way in found["ways"]:
                n = way["accepted"]
                print(
                    f"  {way['way']:24} accepted {n['k']} of {n['n']}, tokens read {way['prompt_tokens'] or 0:,.0f}, "
                    f"from the cache {100 * (way['cached_share'] or 0):.0f} %, {(way['seconds'] or 0) / SCALE:.0f} s of calls"
                )


if __name__ == "__main__":
    main()
