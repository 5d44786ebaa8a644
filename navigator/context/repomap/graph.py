"""Who speaks of whom: files as nodes, an edge from the file that uses a name to the file that defines it, and PageRank on it."""

from __future__ import annotations

import math
import posixpath
from collections import defaultdict
from collections.abc import Mapping, Sequence

from navigator.context.repomap.files import MapFile
from navigator.context.repomap.resolve import FAMILIES, Resolver
from navigator.model import patterns

DAMPING = 0.85
_ROUNDS = 40
_CLOSE_ENOUGH = 1e-6
_MOST_EDGES = 80
_MOST_DEFINERS = 20
_SHARED_BY = 5
_LONG = 8
_COMPOUND = patterns.compile(r"_|[a-z0-9][A-Z]")

Edges = list[list[tuple[int, float]]]
"""For each file: (other file, weight); the weights of one file add up to 1, or there are none."""


class Graph:
    """The graph of one tree's files.

    Weights: the square root of how often a name is used; ten times that for long compound names, which say most; a tenth for
    private names and for names that more than five files define; a name that an imported file defines means that file. An
    import counts as one use of a telling name.

    Attributes:
        uses: edges from each file to those that define what it uses.
        used_by: the same edges the other way round.
        defined_in: name -> numbers of the files that define it.
    """

    def __init__(self, files: Sequence[MapFile]) -> None:
        self.size = len(files)
        self.defined_in: defaultdict[str, list[int]] = defaultdict(list)
        for number, file in enumerate(files):
            for name in dict.fromkeys(definition.name for definition in file.definitions):
                self.defined_in[name].append(number)
        self.uses = self._edges(files)
        back: Edges = [[] for _ in files]
        for number, edges in enumerate(self.uses):
            for other, weight in edges:
                back[other].append((number, weight))
        self.used_by: Edges = [_normalised(dict(edges)) for edges in back]

    def _edges(self, files: Sequence[MapFile]) -> Edges:
        resolver = Resolver((file.path, file.language) for file in files)
        families = [FAMILIES.get(file.language, file.language) for file in files]
        folders = [posixpath.dirname(file.path) for file in files]
        weights = {name: _weight(name, len(definers)) for name, definers in self.defined_in.items()}
        edges: Edges = []
        for number, file in enumerate(files):
            imported: set[int] = set()
            for text in file.imports:
                imported.update(resolver.resolve(number, file.language, text))
            out: dict[int, float] = {}
            if len(imported) <= _MOST_EDGES and file.language != "go":
                out = dict.fromkeys(imported, 3.0)
            for name, times in file.refs.items():
                base = weights.get(name)
                if not base:
                    continue
                definers = [n for n in self.defined_in[name] if families[n] == families[number]]
                if number in definers:
                    continue
                meant = [n for n in definers if n in imported] or [
                    n for n in definers if file.language == "go" and folders[n] == folders[number]
                ]
                definers = meant or definers
                share = base * math.sqrt(times) / max(1, len(definers))
                for other in definers:
                    out[other] = out.get(other, 0.0) + share
            out.pop(number, None)
            edges.append(_normalised(out))
        return edges


def _weight(name: str, definers: int) -> float:
    if definers > _MOST_DEFINERS:
        return 0.0
    weight = 1.0
    if len(name) >= _LONG and _COMPOUND.search(name):
        weight *= 10.0
    if name.startswith("_"):
        weight *= 0.1
    if definers > _SHARED_BY:
        weight *= 0.1
    return weight


def _normalised(out: Mapping[int, float]) -> list[tuple[int, float]]:
    heaviest = sorted(out.items(), key=lambda edge: (-edge[1], edge[0]))[:_MOST_EDGES]
    total = sum(weight for _, weight in heaviest)
    return [(other, weight / total) for other, weight in heaviest] if total else []


def pagerank(edges: Edges, start: Mapping[int, float] | None = None, damping: float = DAMPING) -> list[float]:
    """The share of time that a walk over `edges` spends at each file; it restarts at `start`, everywhere without one.

    Power iteration until the ranks move by less than 1e-6 in all, at most 40 rounds. Files without edges go back to the start.

    Args:
        start: file -> weight; weights are positive and need not add up to 1.

    Returns:
        As many ranks as files; they add up to 1 (or there are none).
    """
    size = len(edges)
    if not size:
        return []
    total = sum((start or {}).values())
    home = [0.0] * size
    if start and total > 0:
        for number, weight in start.items():
            home[number] = weight / total
    else:
        home = [1.0 / size] * size
    ranks = list(home)
    for _ in range(_ROUNDS):
        lost = 1.0 - damping
        fresh = [0.0] * size
        for number, rank in enumerate(ranks):
            if not rank:
                continue
            out = edges[number]
            if not out:
                lost += damping * rank
                continue
            passed = damping * rank
            for other, weight in out:
                fresh[other] += passed * weight
        ranks, before = [fresh[n] + lost * home[n] for n in range(size)], ranks
        if sum(abs(now - then) for now, then in zip(ranks, before, strict=True)) < _CLOSE_ENOUGH:
            break
    return ranks
