"""How much of what a real change touched is in the context chosen for its message, against two simple choices.

    python benchmarks/context_recall.py [--tiny | --full] --repo sympy=CLONE --repo hugo=CLONE [--commits N] [--json FILE]

Of each repository, commits are drawn at random (a fixed seed) from the newest 3,000 that are no merges, touch 1 to 10 files and
change only files that exist in their parent. The message is the task, the parent the base; no file is named. Three choices get
the same tokens for files and the same packing:

  navigator   what `navigator context` would show
  newest      the files that commits touched last, the latest first
  names       the files whose path shares most words with the message, rare words counting more; written-out paths first

Measured for each commit, then averaged over commits:

  contained   share of the touched files of which anything is shown as text that can be edited: the file whole, or an excerpt
  whole       share of the touched files that are shown whole
  hunks       share of the change's places (old side) whose lines are all shown, averaged over the touched files
  mapped      share of the touched files that are not contained, but listed by path in the map or near it

With `--looks` a first prompt is followed by looks, all within 24,000 tokens, by lookers without a model (mechanical_looker.py):

  first       the first prompt alone (`--first` tokens)
  blind       and what a looker finds that goes by the task's words
  directed    and what one finds that knows what it has to see, through names in sight: a bound, not what a model reaches

The interval is a paired bootstrap of the difference, with the commit as the unit: 10,000 resamples, 2.5 % and 97.5 %.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mechanical_looker import Sight, blind, directed, path_parts

from benchmarks.size import sized
from navigator.context.build import NEARBY_SHARE, Context, build_context, read_visible
from navigator.context.looker import Looker
from navigator.context.pack import pack
from navigator.context.relevance import TaskTerms, rank_files, read_task
from navigator.context.repomap import RepoMap
from navigator.context.source import TreeSource
from navigator.context.tokens import load_counter
from navigator.git.facts import read_facts
from navigator.git.private import PrivateRepo
from navigator.journey.prompts.assemble import LOOKING_AIM
from navigator.model.models import Project

BUDGETS = (8_000, 24_000)
MEASURES = ("contained", "whole", "hunks", "mapped")
CHOICES = ("navigator", "newest", "names")
_NEWEST = 3_000
_RESAMPLES = 10_000
_CANDIDATES = 150

Shown = Mapping[str, Sequence[tuple[int, int]]]
"""path -> the line ranges that are shown, 1-based and inclusive; a whole file is (1, 10**9)."""


@dataclass(frozen=True)
class Change:
    """A real commit: its parent, its message, the places of the old side by path."""

    commit: str
    parent: str
    message: str
    places: Mapping[str, Sequence[tuple[int, int]]]


def git(repo: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(repo), *words], capture_output=True, check=True).stdout.decode(
        "utf-8", "replace"
    )


def changes(repo: Path, wanted: int, seed: int) -> list[Change]:
    """The commits that are measured."""
    out = git(
        repo,
        "log",
        "--no-merges",
        "--no-renames",
        "--name-status",
        "-z",
        "--format=%x01%H%x02%P%x02%B%x03",
        f"-{_NEWEST}",
    )
    found = []
    for record in out.split("\x01")[1:]:
        head, _, rest = record.partition("\x03")
        commit, parents, message = head.split("\x02")
        words = [word.lstrip("\n") for word in rest.split("\0") if word.strip("\n")]
        pairs = list(zip(words[::2], words[1::2], strict=False))
        if len(parents.split()) == 1 and 1 <= len(pairs) <= 10 and {status for status, _ in pairs} == {"M"}:
            found.append((commit, parents, message, [path for _, path in pairs]))
    random.Random(seed).shuffle(found)
    return [
        Change(c, p, m, {path: _places(repo, p, c, path) for path in paths})
        for c, p, m, paths in found[:wanted]
    ]


def _places(repo: Path, parent: str, commit: str, path: str) -> list[tuple[int, int]]:
    """The old side's lines of each hunk; of an insertion, the line that it follows."""
    out = git(repo, "diff-tree", "-r", "-p", "-U0", "--no-renames", parent, commit, "--", f":(literal){path}")
    places = []
    for match in re.finditer(r"^@@ -(\d+)(?:,(\d+))? ", out, re.MULTILINE):
        start, count = max(int(match[1]), 1), int(match[2] or 1)
        places.append((start, start + max(count, 1) - 1))
    return places


def measure(change: Change, shown: Shown, listed: set[str]) -> dict[str, float]:
    """The four shares for one commit and one choice."""
    touched = list(change.places)
    hunks = [
        sum(any(a <= first and last <= b for a, b in shown.get(path, ())) for first, last in places)
        / len(places)
        for path, places in change.places.items()
        if places
    ]
    return {
        "contained": sum(path in shown for path in touched) / len(touched),
        "whole": sum(any(b == 10**9 for _, b in shown.get(path, ())) for path in touched) / len(touched),
        "hunks": statistics.fmean(hunks) if hunks else 0.0,
        "mapped": sum(path not in shown and path in listed for path in touched) / len(touched),
    }


def in_path(repo: RepoMap, query: TaskTerms) -> list[float]:
    """How many of the task's words are in the path, rare ones more, long paths less."""
    path_stems = [frozenset(path_parts(file.path)) for file in repo.files]
    spread: dict[str, int] = {}
    for stems in path_stems:
        for stem in stems & query.stems.keys():
            spread[stem] = spread.get(stem, 0) + 1
    telling = {
        stem: query.stems[stem] * math.log(1 + len(repo.files) / count) for stem, count in spread.items()
    }
    return [
        sum(telling[stem] for stem in stems & telling.keys()) / math.sqrt(len(stems) or 1)
        for stems in path_stems
    ]


def of_context(context: Context) -> Shown:
    shown: dict[str, list[tuple[int, int]]] = {}
    for file in context.files:
        shown[file.path] = [(1, 10**9)]
    for piece in context.excerpts:
        shown.setdefault(piece.path, []).append((piece.first, piece.first + piece.text.count("\n") - 1))
    if context.conventions:
        shown.setdefault(context.conventions.path, [(1, 10**9)])
    return shown


def listed_in(context: Context) -> set[str]:
    outlined = re.findall(r"^(\S.*):$", f"{context.map}\n{context.nearby}", re.MULTILINE)
    return {*context.tree.split("\n"), *outlined}


def one(
    private: PrivateRepo, project: Project, change: Change, first: int = 0
) -> Iterator[tuple[int, str, dict[str, float]]]:
    """Every choice at every budget for one commit; with `first`, looks in place of the two simple choices."""
    count = load_counter("").count
    source = TreeSource(private, change.parent, project)
    repo = RepoMap(source)
    query = read_task(change.message, repo.number)
    found = rank_files(repo, query).found
    located = in_path(repo, query)
    last: dict[str, int] = {}
    for age, commit in enumerate(repo.history):
        for path in commit.paths:
            last.setdefault(path, age)
    usable = [n for n, file in enumerate(repo.files) if not file.withheld]
    newest = sorted(usable, key=lambda n: (last.get(repo.files[n].path, 10**9), repo.files[n].path))
    names = sorted(
        usable,
        key=lambda n: (
            -10 * found["path"][n] - located[n],
            len(repo.files[n].path),
            repo.files[n].path,
        ),
    )

    def read(path: str) -> str | None:
        return read_visible(source, path)[0]

    for budget in BUDGETS:
        context = build_context(repo, project, change.message, (), budget, count, shared_budget=budget)
        yield budget, "navigator", measure(change, of_context(context), listed_in(context))
        if first:
            continue
        tokens = budget - context.shared_tokens - int(budget * NEARBY_SHARE)
        for choice, order in (("newest", newest), ("names", names)):
            ranked = [repo.files[n] for n in order[:_CANDIDATES]]
            shown: dict[str, list[tuple[int, int]]] = {}
            for piece in pack(ranked, read, lambda path: "", query.stems, tokens, count):
                last = 10**9 if piece.whole else piece.first + piece.text.count("\n") - 1
                shown.setdefault(piece.path, []).append((piece.first, last))
            yield budget, choice, measure(change, shown, listed_in(context))
    if first:
        yield from looked(source, project, repo, change, first, count)


def looked(
    source: TreeSource,
    project: Project,
    repo: RepoMap,
    change: Change,
    first: int,
    count: Callable[[str], int],
) -> Iterator[tuple[int, str, dict[str, float]]]:
    """What two lookers have in sight after a first prompt, within the larger budget in total."""
    total = BUDGETS[-1]
    context = build_context(repo, project, change.message, (), first, count, shared_budget=first)
    yield total, "first", measure(change, of_context(context), listed_in(context))
    for choice in ("blind", "directed"):
        looker = Looker(repo, change.message, (), context, total - context.tokens, count)
        sight = Sight(change.message, context)
        if choice == "blind":
            turns = blind(repo, change.message, looker, sight)
        else:
            turns = directed(repo, change.message, change.places, looker, sight)
        shares = measure(change, looker.shown.lines, set())
        shares["whole"] = statistics.fmean(looker.seen_whole(path) for path in change.places)
        yield total, choice, shares | {"turns": float(turns), "tokens": float(context.tokens + looker.used)}


def interval(differences: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """2.5 % and 97.5 % of the mean, by resampling commits."""
    draw = random.Random(seed)
    size = len(differences)
    means = sorted(sum(draw.choices(differences, k=size)) / size for _ in range(_RESAMPLES))
    return means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES)]


def report(name: str, rows: Mapping[tuple[int, str], list[dict[str, float]]]) -> dict[str, object]:
    """Print one repository's table; the same as data."""
    if any(choice == "blind" for _, choice in rows):
        return report_looks(name, rows)
    document: dict[str, object] = {}
    for budget in BUDGETS:
        print(f"\n{name}, {budget:,} tokens, {len(rows[(budget, 'navigator')])} commits")
        print(f"  {'':10}" + "".join(f"{measure:>11}" for measure in MEASURES))
        for choice in CHOICES:
            means = {m: statistics.fmean(row[m] for row in rows[(budget, choice)]) for m in MEASURES}
            print(f"  {choice:10}" + "".join(f"{means[m]:>11.3f}" for m in MEASURES))
            document[f"{budget} {choice}"] = means
        for other in CHOICES[1:]:
            for m in ("contained", "hunks"):
                pairs = zip(rows[(budget, "navigator")], rows[(budget, other)], strict=True)
                differences = [mine[m] - theirs[m] for mine, theirs in pairs]
                low, high = interval(differences)
                mean = statistics.fmean(differences)
                theirs = statistics.fmean(row[m] for row in rows[(budget, other)])
                ratio = f"{(theirs + mean) / theirs:.2f} times" if theirs else "∞"
                verdict = "excludes 0" if low > 0 or high < 0 else "DOES NOT exclude 0"
                print(f"  {m} − {other}: {mean:+.3f} [{low:+.3f}, {high:+.3f}] ({verdict}; {ratio})")
                document[f"{budget} {m} − {other}"] = {"mean": mean, "low": low, "high": high}
    return document


def report_looks(name: str, rows: Mapping[tuple[int, str], list[dict[str, float]]]) -> dict[str, object]:
    """The same for looks: against the single shot of as many tokens."""
    total = BUDGETS[-1]
    single = rows[(total, "navigator")]
    document: dict[str, object] = {}
    print(f"\n{name}, {total:,} tokens in total, {len(single)} commits")
    for choice in ("navigator", "first", "blind", "directed"):
        mine = rows[(total, choice)]
        means = {key: statistics.fmean(row[key] for row in mine) for key in mine[0]}
        low, high = interval([row["hunks"] for row in mine])
        means |= {"hunks_low": low, "hunks_high": high}
        ahead = [row["hunks"] - other["hunks"] for row, other in zip(mine, single, strict=True)]
        means |= {
            "ahead": statistics.fmean(ahead),
            **dict(zip(("ahead_low", "ahead_high"), interval(ahead), strict=True)),
        }
        print(f"  {choice:10}" + "  ".join(f"{key} {value:,.3f}" for key, value in means.items()))
        document[choice] = means
    return document


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repo", action="append", metavar="NAME=PATH", help="by default this project itself")
    parser.add_argument("--commits", type=int, default=sized(2, 20, 100))
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--looks", action="store_true", help="compare a single shot with looks")
    parser.add_argument(
        "--first", type=int, default=LOOKING_AIM, help="tokens of the first prompt before looks"
    )
    chosen = parser.parse_args()
    chosen.repo = chosen.repo or [f"this={Path(__file__).resolve().parents[1]}"]
    first = chosen.first if chosen.looks else 0
    documents: dict[str, object] = {}
    everything: dict[tuple[int, str], list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, named in enumerate(chosen.repo, 1):
            name, _, path = named.partition("=")
            facts = read_facts(Path(path).resolve())
            project = Project(id=number, name=name, path=str(facts.path))
            private = PrivateRepo.open(Path(folder), project, facts)
            rows: dict[tuple[int, str], list[dict[str, float]]] = {}
            began = time.perf_counter()
            for change in changes(facts.path, chosen.commits, chosen.seed):
                for budget, choice, shares in one(private, project, change, first):
                    rows.setdefault((budget, choice), []).append(shares)
                    everything.setdefault((budget, choice), []).append(shares)
            print(f"\n{name} at {facts.head_commit}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
            documents[name] = {"head": facts.head_commit, **report(name, rows)}
    if len(chosen.repo) > 1:
        documents["all"] = report("all", everything)
    if chosen.json:
        chosen.json.write_text(json.dumps(documents, indent=1))


if __name__ == "__main__":
    main()
