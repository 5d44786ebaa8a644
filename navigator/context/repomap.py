"""The map of a repository at one commit: what its files define, whom they speak of, and what earlier commits changed.

Each part is made when it is first asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from navigator.context.files import MapFile, TagCache, read_files
from navigator.context.source import TreeSource
from navigator.context.tags import STOP, WORD, count_parts
from navigator.git.diffs import path_text
from navigator.git.private import PrivateRepo
from navigator.git.runner import GitError, read_log
from navigator.model import patterns

CACHE_NAME = "tags.sqlite"


class RepoMap:
    """What the files of one commit define and speak of. Reads blobs through git, never the checkout.

    Args:
        source: the tree; only what `source.paths()` shows takes part.
        cache: where tags are kept; in the project's private folder when not given.
    """

    def __init__(self, source: TreeSource, cache: TagCache | None = None) -> None:
        self.source = source
        self.cache = cache or TagCache(source.private.work_folder() / CACHE_NAME)

    @cached_property
    def files(self) -> tuple[MapFile, ...]:
        """Every file that may be shown, and those that are `withheld`."""
        return read_files(self.source, self.cache)

    @cached_property
    def number(self) -> dict[str, int]:
        """path -> its place in `files`."""
        return {file.path: number for number, file in enumerate(self.files)}

    @cached_property
    def graph(self) -> Graph:
        """Who speaks of whom."""
        return Graph(self.files)

    @cached_property
    def history(self) -> tuple[PastCommit, ...]:
        """The commits that led here, the newest first."""
        return read_history(self.source.private, self.source.treeish, self.cache)


# What the commits before the base tell: which files change lately, together, and for tasks in words like these.
#
# Read from the user's repository with `git log --name-only` at the base: commits and trees alone are looked at, no content, and
# nothing of the repository's configuration is run. A repository without history (a fresh or shallow one) tells nothing.

MOST_COMMITS = 1000
MOST_FILES = 30
"""Commits that touch more say little about any of them."""

_MESSAGE = 1500
_MAX_OUTPUT = 32 << 20
_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class PastCommit:
    """One commit: the stems of its message, and the paths that it touched."""

    stems: frozenset[str]
    paths: tuple[str, ...]


def read_history(private: PrivateRepo, base: str, cache: TagCache) -> tuple[PastCommit, ...]:
    """The last commits up to `base`, the newest first, without merges; none where they cannot be read."""
    key = f"log:{base}"
    known = cache.get([key]).get(key)
    if known is None:
        known = {"commits": _log(private, base)}
        cache.put([(key, known)])
    return tuple(PastCommit(frozenset(stems), tuple(paths)) for stems, paths in known["commits"])


def _log(private: PrivateRepo, base: str) -> list[Any]:
    try:
        words = ("--no-merges", f"--max-count={MOST_COMMITS}", base)
        git = private.facts.git()
        commits = read_log(git, *words, paths=True, max_output=_MAX_OUTPUT, timeout=_TIMEOUT)
    except GitError:
        return []
    return [
        [sorted(message_stems(commit.message[:_MESSAGE])), list(map(path_text, commit.paths))]
        for commit in commits
        if 0 < len(commit.paths) <= MOST_FILES
    ]


def message_stems(text: str) -> set[str]:
    """The stems of a text's telling words."""
    words = [word for word in WORD.findall(text) if word.lower() not in STOP]
    return set(count_parts((word, 1) for word in words))


# Who speaks of whom

_MOST_DEFINERS = 20
_LONG = 8
_COMPOUND = patterns.compile(r"[A-Za-z0-9]_|[a-z0-9][A-Z]")
_FAMILIES = {"typescript": "javascript", "tsx": "javascript", "cpp": "c", "kotlin": "java"}
"""Languages whose files speak of one another."""


class Graph:
    """Which files of one tree lean on which.

    Attributes:
        central: for each file, how much others use what it defines. Long compound names count ten times as much as others;
            a name that several files define counts for each of them in part.
        defined_in: name -> numbers of the files that define it.
    """

    def __init__(self, files: Sequence[MapFile]) -> None:
        self.defined_in: defaultdict[str, list[int]] = defaultdict(list)
        for number, file in enumerate(files):
            for name in dict.fromkeys(definition.name for definition in file.definitions):
                self.defined_in[name].append(number)
        self.central = [0.0] * len(files)
        for number, file in enumerate(files):
            for name in file.refs:
                definers = self.defined_in.get(name, ())
                if number in definers or len(definers) > _MOST_DEFINERS:
                    continue
                weight = 1.0 if len(name) >= _LONG and _COMPOUND.search(name) else 0.1
                for other in definers:
                    if _family(files[other]) == _family(file):
                        self.central[other] += weight / len(definers)


def _family(file: MapFile) -> str:
    return _FAMILIES.get(file.language, file.language)
