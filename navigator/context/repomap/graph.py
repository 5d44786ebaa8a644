"""Who speaks of whom: files as nodes, an edge from the file that uses a name to the file that defines it, and PageRank on it."""

from __future__ import annotations

import math
import posixpath
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from navigator.context.repomap.files import MapFile
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


# Which files an import means: by the end of their paths, nearest first; the same for every language.
#
# An import is brought to the form `a/b/c`; it means the file whose path without extension ends so, or all files of the folder
# that does (a Go package). Relative imports start at the importing file's folder. What cannot be resolved is no import.

_INDEX_NAMES = frozenset({"__init__", "index", "mod"})
_DOTTED = frozenset({"python", "java", "kotlin", "c_sharp"})
_FOLDERS = frozenset({"go"})
_MOST_FILES = 40
_MOST_NEAR = 3

FAMILIES = {
    "typescript": "javascript",
    "tsx": "javascript",
    "cpp": "c",
    "kotlin": "java",
}
"""Languages whose files speak of one another."""


class Resolver:
    """Finds what imports mean among some paths.

    Args:
        files: (path, language) of each file, in the order whose numbers `resolve` answers with.
    """

    def __init__(self, files: Iterable[tuple[str, str]]) -> None:
        self._paths: list[str] = []
        self._bare: list[str] = []
        self._by_name: defaultdict[str, list[int]] = defaultdict(list)
        self._by_folder: defaultdict[str, list[int]] = defaultdict(list)
        self._folders: defaultdict[str, set[str]] = defaultdict(set)
        for number, (path, language) in enumerate(files):
            bare = posixpath.splitext(path)[0] if language else path
            if language and posixpath.basename(bare) in _INDEX_NAMES:
                bare = posixpath.dirname(bare)
            self._paths.append(path)
            self._bare.append(bare)
            self._by_name[posixpath.basename(bare)].append(number)
            if language in _FOLDERS:
                folder = posixpath.dirname(path)
                self._by_folder[folder].append(number)
                self._folders[posixpath.basename(folder)].add(folder)

    def resolve(self, number: int, language: str, text: str) -> list[int]:
        """The files that `text`, imported in file `number`, means; none where that is not clear."""
        if language in _FOLDERS:
            return self._package(text)
        target, relative = self._target(self._paths[number], language, text)
        if not target:
            return []
        named = self._by_name.get(posixpath.basename(target), ())
        if relative:
            return [n for n in named if self._bare[n] == target and n != number][:_MOST_NEAR]
        while target:
            named = self._by_name.get(posixpath.basename(target), ())
            found = [n for n in named if n != number and _ends_with(self._bare[n], target)]
            if found:
                near = self._paths[number]
                found.sort(key=lambda n: -len(posixpath.commonprefix([near, self._paths[n]])))
                return found[:1]
            # `a.b.Name`: the last part may be something inside of the file.
            target = target.rpartition("/")[0] if language in _DOTTED and target.count("/") > 1 else ""
        return []

    def _target(self, path: str, language: str, text: str) -> tuple[str, bool]:
        """The form `a/b/c` of an import, and whether it is a whole path from the root."""
        folder = posixpath.dirname(path)
        if language == "python" and text.startswith("."):
            dots = len(text) - len(text.lstrip("."))
            for _ in range(dots - 1):
                folder = posixpath.dirname(folder)
            rest = text[dots:].replace(".", "/")
            return posixpath.normpath(posixpath.join(folder, rest)), True
        if language in _DOTTED:
            return text.replace(".", "/"), False
        if language == "rust":
            inner = (
                folder
                if posixpath.basename(path) in {"mod.rs", "lib.rs", "main.rs"}
                else posixpath.splitext(path)[0]
            )
            near = posixpath.join(inner, text)
            return near, True
        text = text.replace("\\", "/").split("?", 1)[0]
        bare = posixpath.splitext(text)[0] if posixpath.splitext(text)[1] in _WRITTEN else text
        if text.startswith("."):
            target = posixpath.normpath(posixpath.join(folder, bare))
            if posixpath.basename(target) in _INDEX_NAMES:
                target = posixpath.dirname(target)
            return target, True
        return bare.strip("/"), False

    def _package(self, text: str) -> list[int]:
        found = [
            folder for folder in self._folders.get(posixpath.basename(text), ()) if _ends_with(text, folder)
        ]
        if not found:
            return []
        return self._by_folder[max(found, key=len)][:_MOST_FILES]


_WRITTEN = frozenset(
    {
        ".js",
        ".jsx",
        ".ts",
        ".tsx",
        ".mjs",
        ".cjs",
        ".mts",
        ".cts",
        ".vue",
        ".rb",
        ".h",
        ".hpp",
        ".hh",
        ".hxx",
        ".php",
    }
)
"""Extensions that imports write out."""


def _ends_with(path: str, end: str) -> bool:
    return path == end or path.endswith(f"/{end}")
