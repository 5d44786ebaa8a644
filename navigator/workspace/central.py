"""Which files a project leans on: those whose name most other files speak of. For tasks that say nothing of where."""

from __future__ import annotations

import re
from collections import Counter

from navigator.workspace.runner import GitError
from navigator.workspace.scope import suffix_of
from navigator.workspace.source import TreeSource

MOST_FILES = 8
_MOST_CANDIDATES = 300
_SMALLEST = 40
_LARGEST = 40_000
_SUFFIXES = "py js jsx ts tsx go rs c h cc cpp hpp java kt rb php cs swift scala lua sh pl ex exs"
_SOURCES = frozenset(f".{suffix}" for suffix in _SUFFIXES.split())
_TESTS = re.compile(
    r"(?i)(?:^|/)(?:tests?|testing|spec|fixtures|vendor|third_party)/|(?:^|/)(?:test_|conftest)|_test\."
)


def central_files(source: TreeSource) -> list[tuple[str, str]]:
    """Source files with the reason they are shown, the most spoken-of first; tests and tiny or huge files are left out.

    A file speaks of another when it holds the other's name without suffix as a word, which is how most languages import.
    Of more than 300 candidates the shallowest are looked at. One git process.
    """
    candidates = [
        path
        for path in source.paths()
        if suffix_of(path) in _SOURCES
        and not _TESTS.search(path)
        and _SMALLEST <= source.size(path) <= _LARGEST
    ]
    candidates.sort(key=lambda path: (path.count("/"), path))
    del candidates[_MOST_CANDIDATES:]
    stems = {path: path.rsplit("/", 1)[-1].rsplit(".", 1)[0] for path in candidates}
    try:
        hits = source.mentions(
            sorted({stem for stem in stems.values() if len(stem) > 2 and stem.isidentifier()})
        )
    except GitError:
        hits = {}  # too much was found to be told apart; the order of the paths has to do
    speakers = Counter(word for words in hits.values() for word in words)
    ranked = sorted(candidates, key=lambda path: (-speakers[stems[path]], path.count("/"), path))
    return [
        (path, f"no file is named; {speakers[stems[path]]} files speak of it") for path in ranked[:MOST_FILES]
    ]
