"""What the syntax gate refuses of real changes, what it finds of mutilated ones, and what it costs.

    python benchmarks/syntax_gate.py [--tiny | --full] [--changes N] [--seed N] [REPOSITORY...]

Draws file changes from each repository's last commits. As they were made, none should be refused; with a bracket or a line
taken out near the change, most should. The time is compared with that of parsing the same files for the map, in the same run.
"""

from __future__ import annotations

import argparse
import difflib
import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.size import sized
from navigator.checks.syntax import GrammarGate
from navigator.context.tags import call_grammar, language_of, tags

_COMMITS = 6000
_PLAIN = {"100644", "100755"}
_BRACKETS = frozenset("{}()")
_DOUBTFUL = frozenset("\"'`/")
_COMMENTS = ("//", "/*", "*", "#")


@dataclass(frozen=True)
class Change:
    commit: str
    path: str
    before: bytes | None
    after: bytes


def git(repo: Path, *words: str, feed: bytes = b"") -> bytes:
    return subprocess.run(
        ["git", "-C", str(repo), *words], input=feed, capture_output=True, check=True
    ).stdout


def drawn(repo: Path, most: int, seed: int) -> Iterator[Change]:
    """`most` file changes in languages of the gate, by lot."""
    log = git(
        repo,
        "log",
        "--no-merges",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--format=C %H",
        "-n",
        str(_COMMITS),
    )
    rows, commit = [], ""
    for line in log.decode("utf-8", "replace").splitlines():
        if line.startswith("C "):
            commit = line[2:]
        elif line.startswith(":"):
            meta, path = line[1:].split("\t", 1)
            _, mode, old, new, _ = meta.split()
            if mode in _PLAIN and language_of(path) not in ("", "python") and old != new:
                rows.append((commit, path, old, new))
    random.Random(seed).shuffle(rows)
    for commit, path, old, new in rows[:most]:
        try:
            before = None if set(old) == {"0"} else git(repo, "cat-file", "blob", old)
            yield Change(commit, path, before, git(repo, "cat-file", "blob", new))
        except subprocess.CalledProcessError:
            continue  # not in this copy of the repository


def mutilated(change: Change, lot: random.Random) -> Iterator[tuple[str, bytes]]:
    """The change with a bracket less, with a line less that holds half a pair, with any line less; near what it changes."""
    try:
        old, new = (change.before or b"").decode().split("\n"), change.after.decode().split("\n")
    except UnicodeDecodeError:
        return
    near = {
        at
        for tag, _, _, first, last in difflib.SequenceMatcher(None, old, new).get_opcodes()
        if tag != "equal"
        for at in range(max(0, first - 2), min(len(new), last + 2))
    }
    code = [at for at in sorted(near) if new[at].strip() and not new[at].lstrip().startswith(_COMMENTS)]
    plain = [at for at in code if not _DOUBTFUL & set(new[at])]
    signs = [(at, i) for at in plain for i, sign in enumerate(new[at]) if sign in _BRACKETS]
    halves = [at for at in plain if sum(map(new[at].count, "([{")) != sum(map(new[at].count, ")]}"))]
    if signs:
        at, i = lot.choice(signs)
        yield (
            "a bracket removed",
            "\n".join([*new[:at], new[at][:i] + new[at][i + 1 :], *new[at + 1 :]]).encode(),
        )
    for kind, lines in (("a line with half a pair cut", halves), ("any line cut", code)):
        if lines:
            at = lot.choice(lines)
            yield kind, "\n".join(new[:at] + new[at + 1 :]).encode()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="*", type=Path, default=[Path(__file__).parents[1]])
    parser.add_argument("--changes", type=int, default=sized(3, 60, 300), help="drawn from each repository")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    lot, seen, spent = random.Random(asked.seed), Counter[str](), Counter[str]()
    gate = GrammarGate()
    for repo in asked.repositories:
        for change in drawn(repo, asked.changes, asked.seed):
            began = time.perf_counter()
            said = gate.new_fault(change.path, change.before, change.after)
            between = time.perf_counter()
            call_grammar(tags, language_of(change.path), change.after)
            spent["gate"] += round((between - began) * 1e6)
            spent["map"] += round((time.perf_counter() - between) * 1e6)
            seen["changes"] += 1
            if said is not None:
                seen["changes refused"] += 1
                print(f"refused: {repo.name} {change.commit[:12]} {change.path}:{said}")
                continue
            for kind, broken in mutilated(change, lot) if change.before is not None else ():
                seen[kind] += 1
                seen[f"{kind}, found"] += gate.new_fault(change.path, change.before, broken) is not None
    if not seen["changes"]:
        print("No change in a language that is read by a grammar; name clones of other projects.")
        return
    print(f"{seen['changes']} changes as they were made: {seen['changes refused']} refused")
    for kind in ("a bracket removed", "a line with half a pair cut", "any line cut"):
        print(f"{kind}: {seen[f'{kind}, found']} of {seen[kind]} found")
    each = {name: micros / 1000 / max(seen["changes"], 1) for name, micros in spent.items()}
    print(
        f"gate {each['gate']:.1f} ms a file, map {each['map']:.1f} ms: ratio {each['gate'] / each['map']:.2f}"
    )


if __name__ == "__main__":
    main()
