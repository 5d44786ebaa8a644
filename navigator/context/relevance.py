"""How relevant each file is to a task, from four signals.

Each signal is scaled to 0…1 by its largest value, then added up with fixed weights. The weights were tuned on commits of
sphinx and cli and evaluated on others (docs/context.md).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from navigator.context.repomap import RepoMap
from navigator.context.tags import STOP, WORD, parts
from navigator.model import patterns

_QUOTED = patterns.compile(r"`([^`\n]{2,120})`|\"([^\"\n]{2,80})\"|'([^'\n]{2,80})'")
_PATH_LIKE = patterns.compile(r"[\w./-]+")
_TO_A_SUFFIX = patterns.compile(r"[\w./-]*[\w-]\.[A-Za-z0-9]+")
_REASONS = {
    "path": "its name is in the task",
    "names": "defines what the task names",
    "body": "speaks of the task's words",
    "past": "earlier commits with similar messages changed it",
}
GENERATED = patterns.compile(
    r"(?i)(?:^|/)(?:node_modules|vendor|third_party|dist|build|\.venv|__snapshots__)/"
    r"|\.min\.(?:js|css)$|\.(?:lock|map|svg|snap)$|(?:^|/)(?:package-lock\.json|pnpm-lock\.yaml|go\.sum)$"
)
"""Paths that programs write; shown only where a task names them."""

_MOST_WORDS = 60
_TASKLESS = "many files use it"
_MOST_DEFINERS = 10
_K1 = 1.2
_B = 0.6


WEIGHTS = {"path": 2.0, "names": 0.8, "body": 1.0, "past": 1.0}
"""How much each signal counts."""


@dataclass(frozen=True, slots=True)
class TaskTerms:
    """What a task says.

    Attributes:
        text: all of it, in lower case.
        names: words that look like names in code, as they are written.
        stems: stem -> how telling it is for this task: names count twice.
    """

    text: str
    names: tuple[str, ...]
    stems: Mapping[str, float]


def _without_path(run: str, known: Collection[str]) -> str:
    """A run of letters, dots and slashes, without the known path at its beginning."""
    found = _TO_A_SUFFIX.match(run)
    if found is None or found[0].rsplit("/", 1)[-1].casefold() not in known:
        return run
    return " " + run[found.end() :]


def read_task(text: str, paths: Iterable[str] = ()) -> TaskTerms:
    """What of a task's words can be looked for.

    Args:
        paths: the project's; the parts of a path that is written out are no words of their own.
    """
    known = {path.rsplit("/", 1)[-1].casefold() for path in paths}
    words = _PATH_LIKE.sub(lambda match: _without_path(match[0], known), text)
    quoted = [word for match in _QUOTED.finditer(words) for word in match.groups() if word]
    names = [part for word in quoted for part in WORD.findall(word)]
    found = WORD.findall(words)
    names += [word for word in found if "_" in word.strip("_") or patterns.search(r"[a-z0-9][A-Z]", word)]
    plain = [word for word in found if word.lower() not in STOP]
    stems: dict[str, float] = {}
    for word, weight in [*((name, 2.0) for name in names), *((word, 1.0) for word in plain)]:
        if word.lower() in STOP:
            continue
        for part in parts(word):
            if part not in STOP:
                stems[part] = max(stems.get(part, 0.0), weight)
    # The first words of a task say most; a pasted log must not drown them.
    stems = dict(list(stems.items())[:_MOST_WORDS])
    return TaskTerms(text.casefold(), tuple(dict.fromkeys(names))[:_MOST_WORDS], stems)


@dataclass(frozen=True)
class Ranking:
    """The files of a map in their order for one task, and why.

    Attributes:
        found: each signal of each file.
        scores: their weighted sums.
        named: numbers of the files that the task names.
    """

    repo_map: RepoMap
    found: Mapping[str, Sequence[float]]
    scores: Sequence[float]
    named: tuple[int, ...]

    @property
    def pointed(self) -> bool:
        """Whether the task says anything of where: one of its words, or a file that it names, leads to a file."""
        return bool(self.named) or any(map(any, self.found.values()))

    def order(self, least: float = 0.0) -> list[int]:
        """Numbers of files, best first, without what is generated.

        A file must have something to do with the task, at least `least` times what the best has. Where the task says nothing
        of where, the files that others lean on come first.
        """
        scores = self.scores
        if not self.pointed:
            scores = self.repo_map.graph.central if any(self.repo_map.graph.central) else [1.0] * len(scores)
        usable = [
            n
            for n in range(len(scores))
            if scores[n] > 0 and (self.found["path"][n] or not GENERATED.search(self.repo_map.files[n].path))
        ]
        floor = least * max((scores[n] for n in usable), default=0.0)
        kept = [n for n in usable if scores[n] >= floor or n in self.named]
        return sorted(kept, key=lambda n: (-scores[n], self.repo_map.files[n].path))

    def why(self, number: int) -> str:
        """The signal that speaks most for a file, in words."""
        if not self.pointed:
            return _TASKLESS
        return _REASONS[max(WEIGHTS, key=lambda signal: WEIGHTS[signal] * self.found[signal][number])]


def rank_files(repo_map: RepoMap, query: TaskTerms, named: Sequence[str] = ()) -> Ranking:
    """Rank every file of a map for a task that names some of them."""
    numbers = tuple(repo_map.number[path] for path in named if path in repo_map.number)
    signals = {
        "path": _paths(repo_map, query),
        "names": _score_names(repo_map, query),
        "body": _bm25(query, [file.terms for file in repo_map.files]),
        "past": _past(repo_map, query),
    }
    found = {signal: _scaled(values) for signal, values in signals.items()}
    scores = [
        sum(WEIGHTS[signal] * found[signal][n] for signal in WEIGHTS) for n in range(len(repo_map.files))
    ]
    return Ranking(repo_map, found, scores, numbers)


def _scaled(values: Sequence[float]) -> list[float]:
    top = max(values, default=0.0)
    return [value / top for value in values] if top > 0 else [0.0] * len(values)


def _paths(repo_map: RepoMap, query: TaskTerms) -> list[float]:
    """Scores 1.0 for a path written in full, 0.9 for the end of one, 0.6 for a file name alone."""
    mentioned = {
        found[0].strip("./") for run in _PATH_LIKE.findall(query.text) if (found := _TO_A_SUFFIX.match(run))
    }
    tails = {name.rsplit("/", 1)[-1] for name in mentioned}
    scores = [0.0] * len(repo_map.files)
    for number, file in enumerate(repo_map.files):
        path = file.path.casefold()
        name = path.rsplit("/", 1)[-1]
        if path in query.text and ("/" in path or "." in path):
            scores[number] = 1.0
        elif name in tails and len(name) > 4:
            whole = any("/" in said and path.endswith(said) for said in mentioned)
            scores[number] = 0.9 if whole else 0.6
    return scores


def _score_names(repo_map: RepoMap, query: TaskTerms) -> list[float]:
    """Files that define what the task names in the way of code: the fewer files define it, the more it says."""
    scores = [0.0] * len(repo_map.files)
    for name in query.names:
        definers = repo_map.graph.defined_in.get(name, ())
        if definers and len(definers) <= _MOST_DEFINERS:
            for number in definers:
                scores[number] += math.log(1 + len(repo_map.files) / len(definers)) / math.sqrt(len(definers))
    return scores


def _bm25(query: TaskTerms, texts: Sequence[Mapping[str, int]]) -> list[float]:
    """BM25 of the task's stems over texts given as counts of stems."""
    lengths = [sum(text.values()) for text in texts]
    average = sum(lengths) / max(1, sum(1 for length in lengths if length)) or 1.0
    scores = [0.0] * len(texts)
    for stem, weight in query.stems.items():
        hits = [(number, text[stem]) for number, text in enumerate(texts) if stem in text]
        if not hits:
            continue
        telling = weight * math.log(1 + (len(texts) - len(hits) + 0.5) / (len(hits) + 0.5))
        for number, times in hits:
            norm = _K1 * (1 - _B + _B * lengths[number] / average)
            scores[number] += telling * times * (_K1 + 1) / (times + norm)
    return scores


def _past(repo_map: RepoMap, query: TaskTerms) -> list[float]:
    """Files that earlier commits with similar messages changed; newer commits count more."""
    scores = [0.0] * len(repo_map.files)
    spread: dict[str, int] = {}
    for commit in repo_map.history:
        for stem in commit.stems & query.stems.keys():
            spread[stem] = spread.get(stem, 0) + 1
    total = len(repo_map.history)
    for age, commit in enumerate(repo_map.history):
        shared = commit.stems & query.stems.keys()
        if not shared:
            continue
        likeness = sum(query.stems[stem] * math.log(1 + total / spread[stem]) for stem in shared)
        weight = likeness**2 / math.sqrt(len(commit.stems)) / len(commit.paths) ** 0.5 / (1 + age / 300)
        for path in commit.paths:
            number = repo_map.number.get(path)
            if number is not None:
                scores[number] += weight
    return scores
