"""What the post-commit hook adds to a commit: commits without a hook, with one that does nothing, and with Navigator's, in turn.

    python benchmarks/hook.py [--tiny | --full] [ROUNDS]

Medians of the differences between neighbouring commits, and the ratio to a commit without a hook; then a rebase of 100 commits,
which is not noted. What a shell's start takes is git's price of any hook. Aim: Navigator's adds no 50 ms.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.size import sized
from navigator.git.facts import read_facts
from navigator.git.hook import install_hook, noted_commits

ROUNDS = sized(1, 50, 200)
AIM_MS = 50.0
REBASED = sized(2, 100, 100)
KINDS = ("without a hook", "an empty hook", "Navigator's hook")


def git(repo: Path, *words: str) -> float:
    """Run git; milliseconds."""
    began = time.perf_counter()
    subprocess.run(["git", "-C", str(repo), *words], check=True, capture_output=True)
    return (time.perf_counter() - began) * 1_000


def repository(folder: Path, kind: str, state: Path) -> Path:
    """One with two commits and that hook."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for name, value in (("user.name", "A"), ("user.email", "a@example.invalid"), ("gc.auto", "0")):
        git(folder, "config", name, value)
    for _ in range(2):
        git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    if kind == KINDS[1]:
        hook = folder / ".git/hooks/post-commit"
        hook.write_text("#!/bin/sh\n")
        hook.chmod(0o755)
    elif kind == KINDS[2]:
        install_hook(read_facts(folder), state)
    return folder


def main() -> None:
    """Measure, and print a line a kind."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory(prefix="navigator-hook-") as name:
        state = Path(name) / "state"
        repos = {kind: repository(Path(name) / str(at), kind, state) for at, kind in enumerate(KINDS)}
        took: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(rounds):
            for kind, repo in repos.items():
                took[kind].append(git(repo, "commit", "-q", "--allow-empty", "-m", "x"))
        bare = took[KINDS[0]]
        print(f"{'':18}{'median ms':>11}{'more ms':>9}{'p95 more':>10}{'ratio':>7}")
        for kind in KINDS:
            more = sorted(with_it - without for with_it, without in zip(took[kind], bare, strict=True))
            middle = statistics.median(took[kind])
            print(
                f"{kind:18}{middle:11.1f}{statistics.median(more):9.1f}{more[int(0.95 * rounds)]:10.1f}"
                f"{middle / statistics.median(bare):7.2f}"
            )
        before = len(noted_commits(state))
        for kind, repo in repos.items():
            git(repo, "reset", "-q", "--hard", f"HEAD~{rounds}")
            for number in range(REBASED):
                (repo / "n.txt").write_text(f"{number}\n")
                git(repo, "add", "n.txt")
                git(repo, "-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "x")
            seconds = git(repo, "rebase", "-q", "--force-rebase", f"HEAD~{REBASED}") / 1_000
            print(f"rebase of {REBASED} commits, {kind}: {seconds:.2f} s")
        print(f"{before} of {rounds} commits noted, {len(noted_commits(state)) - before} of the rebase")
        added = statistics.median(w - b for w, b in zip(took[KINDS[2]], bare, strict=True))
        print(f"{added:.1f} ms more a commit: {'within' if added <= AIM_MS else 'BEYOND'} {AIM_MS:g} ms")


if __name__ == "__main__":
    main()
