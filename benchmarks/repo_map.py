"""How long the map of a repository takes, cold and warm, beside reading every blob with git alone, in the same run.

    python benchmarks/repo_map.py [--tiny | --full] /path/to/clone [--rounds N]

  reference   `git ls-tree -r` and one `git cat-file --batch` over every file that the map reads
  cold        nothing known: read, parsed by tree-sitter, kept; then graph and the last 1,000 commits
  warm        every blob known from the cache on disk, everything else recomputed
  next        the same after one commit: a handful of blobs is new
  task        ranking and packing 24,000 tokens for a task, on a warm map

The least of some rounds. Processor time, all processes together, is what the ratio is made of: a busy machine stretches wall
time, which is printed beside it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.size import sized
from navigator.context.build import build_context
from navigator.context.files import TagCache
from navigator.context.repomap import RepoMap
from navigator.context.source import TreeSource
from navigator.context.tags import READ_LIMIT
from navigator.context.tokens import load_counter
from navigator.git.facts import read_facts
from navigator.git.private import PrivateRepo
from navigator.model.models import Project

TASK = "Fix the crash when the parser is given an empty list of options, and say so in the error's message"


def timed(what: Callable[[], object]) -> tuple[float, float]:
    """Processor seconds of this process and its children, and wall seconds."""
    before, began = os.times(), time.perf_counter()
    what()
    after, ended = os.times(), time.perf_counter()
    return sum(after[:4]) - sum(before[:4]), ended - began


def everything(repo: RepoMap) -> None:
    assert repo.files and repo.graph and repo.graph.central is not None and repo.history is not None


def reference(git_dir: Path, commit: str) -> None:
    """Every blob up to the size that the map reads, through git and nothing else."""
    listed = subprocess.run(
        ["git", "--git-dir", str(git_dir), "ls-tree", "-r", "-z", "--long", commit],
        capture_output=True,
        check=True,
    ).stdout
    rows = [record.partition(b"\t")[0].split() for record in listed.split(b"\0") if record]
    wanted = b"\n".join(row[2] for row in rows if row[1] == b"blob" and int(row[3]) <= READ_LIMIT) + b"\n"
    subprocess.run(
        ["git", "--git-dir", str(git_dir), "cat-file", "--batch"],
        input=wanted,
        capture_output=True,
        check=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "repository",
        type=Path,
        nargs="?",
        default=Path(__file__).resolve().parents[1],
        help="by default this one",
    )
    parser.add_argument("--rounds", type=int, default=sized(1, 1, 3))
    chosen = parser.parse_args()
    facts = read_facts(chosen.repository.resolve())
    project = Project(id=1, name="measured", path=str(facts.path))
    count = load_counter("").count
    cold: list[tuple[float, float]] = []
    warm, after, task, plain = list(cold), list(cold), list(cold), list(cold)
    with tempfile.TemporaryDirectory() as folder:
        private = PrivateRepo.open(Path(folder), project, facts)
        head = facts.head_commit
        parent = private.facts.git().run("rev-parse", f"{head}~1").text
        for number in range(chosen.rounds):
            cache = TagCache(Path(folder) / f"map-{number}.sqlite")

            def fresh(commit: str, cache: TagCache = cache) -> RepoMap:
                return RepoMap(
                    TreeSource(PrivateRepo.open(Path(folder), project, facts), commit, project), cache
                )

            plain.append(timed(lambda: reference(facts.git_dir, parent)))
            cold.append(timed(lambda: everything(fresh(parent))))
            warm.append(timed(lambda: everything(fresh(parent))))
            after.append(timed(lambda: everything(fresh(head))))
            repo = fresh(head)
            everything(repo)
            task.append(
                timed(partial(build_context, repo, project, TASK, (), 24_000, count, shared_budget=24_000))
            )
        files = len(repo.files)
        parsed = sum(1 for file in repo.files if file.language)
        definitions = sum(len(file.definitions) for file in repo.files)
        size = (Path(folder) / "map-0.sqlite").stat().st_size
    best = max(min(plain)[0], 0.01)  # the clock of ended processes ticks every 10 ms
    print(
        f"{chosen.repository.name} at {head}: {files} files, {parsed} with a grammar, {definitions} definitions"
    )
    print(f"{os.cpu_count()} processors; cache {size / 2**20:.1f} MiB")
    print(f"  {'':10}{'processor':>12}{'wall':>10}")
    for name, rounds in (
        ("reference", plain),
        ("cold", cold),
        ("warm", warm),
        ("next", after),
        ("task", task),
    ):
        seconds, wall = min(rounds)
        print(f"  {name:10}{seconds:10.2f} s{wall:8.2f} s{seconds / best:8.1f} times the reference")


if __name__ == "__main__":
    main()
