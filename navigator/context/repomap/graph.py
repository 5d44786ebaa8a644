"""Who speaks of whom: an edge leads from the file that uses a name to the file that defines it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from navigator.context.repomap.files import MapFile
from navigator.model import patterns

_MOST_DEFINERS = 20
_SHARED_BY = 5
_LONG = 8
_COMPOUND = patterns.compile(r"_|[a-z0-9][A-Z]")
_FAMILIES = {"typescript": "javascript", "tsx": "javascript", "cpp": "c", "kotlin": "java"}
"""Languages whose files speak of one another."""


class Graph:
    """The graph of one tree's files.

    Weights: the square root of how often a name is used; ten times that for long compound names, which say most; a tenth for
    private names and for names that more than five files define.

    Attributes:
        uses: for each file, the files that define what it uses, with their share; the shares of one file add up to 1.
        central: for each file, how much the others lean on it: the sum of its shares.
        defined_in: name -> numbers of the files that define it.
    """

    def __init__(self, files: Sequence[MapFile]) -> None:
        self.defined_in: defaultdict[str, list[int]] = defaultdict(list)
        for number, file in enumerate(files):
            for name in dict.fromkeys(definition.name for definition in file.definitions):
                self.defined_in[name].append(number)
        weights = {name: _weight(name, len(definers)) for name, definers in self.defined_in.items()}
        self.uses = [self._shares(files, number, weights) for number in range(len(files))]
        self.central = [0.0] * len(files)
        for shares in self.uses:
            for other, share in shares.items():
                self.central[other] += share

    def _shares(self, files: Sequence[MapFile], number: int, weights: dict[str, float]) -> dict[int, float]:
        own = files[number]
        found: defaultdict[int, float] = defaultdict(float)
        for name, times in own.refs.items():
            if base := weights.get(name):
                definers = [n for n in self.defined_in[name] if _family(files[n]) == _family(own)]
                for other in definers if number not in definers else ():
                    found[other] += base * math.sqrt(times) / len(definers)
        total = sum(found.values())
        return {other: weight / total for other, weight in found.items()}


def _family(file: MapFile) -> str:
    return _FAMILIES.get(file.language, file.language)


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
