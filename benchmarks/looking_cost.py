"""What an accepted change takes with looks and without, in the rehearsal: tokens read, the share from the cache, seconds.

    python benchmarks/looking_cost.py [--projects 8] [--tasks 24]

The same tasks on the same sample repositories, once with `looks = 0` and once with the default; no task names a file. Every
approved proposal is accepted as `navigator approve --all-reviewed` does. All of it is simulated: the answers, the cache and the
times (docs/timing-model.md). It says what the machinery costs, not what a model gains by looking.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from navigator.rehearsal.samples.repositories import SampleTask, sample_projects, sample_tasks

SETTINGS = """
[generator]
model = "rehearsal/Qwen3.5-35B-A3B"
looks = {looks}
[reviewer]
model = "rehearsal/Qwen3.5-122B-A10B"
[swap]
strategy = "rehearsal"
"""


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=A Developer", "-c", "user.email=dev@example.invalid"]
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


class Desk:
    """A state folder with its settings, and the command that works on it."""

    def __init__(self, folder: Path, looks: int) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "config.toml").write_text(SETTINGS.format(looks=looks), encoding="utf-8")

    def run(self, *words: str) -> dict[str, Any]:
        """The document that `navigator WORDS --json` prints."""
        environment = os.environ | {
            "NAVIGATOR_STATE": str(self.folder / "state"),
            "NAVIGATOR_CONFIG": str(self.folder / "config.toml"),
            "NAVIGATOR_TIME_SCALE": "0.02",
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
        git(place, "add", "-A")
        git(place, "commit", "-qm", "begin")
        desk.run("project", "add", str(place), "--name", sample.name)
    for task in tasks:
        desk.run("task", "add", task.project, task.text, "--kind", task.kind.value)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--projects", type=int, default=8)
    parser.add_argument("--tasks", type=int, default=24)
    chosen = parser.parse_args()
    tasks = sample_tasks(chosen.tasks, 0, sample_projects(chosen.projects, 0))
    print(f"{len(tasks)} tasks, simulated")
    with tempfile.TemporaryDirectory() as name:
        for looks in (0, 6):
            folder = Path(name) / f"looks-{looks}"
            desk = Desk(folder, looks)
            queue(desk, folder / "code", chosen.projects, tasks)
            desk.run("run", "--until", "idle", "--allow-rehearsal-landing")
            desk.run("approve", "--all-reviewed", "--yes")
            found = desk.run("stats", "looking")["rehearsal"]
            print(
                f"looks = {looks}: {found['looks']} looks in {found['rounds']} rounds, {found['tokens']:,} tokens shown"
            )
            for way in found["ways"]:
                n = way["accepted"]
                print(
                    f"  {way['way']:8} accepted {n['k']} of {n['n']}, tokens read {way['prompt_tokens'] or 0:,.0f}, "
                    f"from the cache {100 * (way['cached_share'] or 0):.0f} %, {way['seconds'] or 0:.2f} s of calls"
                )


if __name__ == "__main__":
    main()
