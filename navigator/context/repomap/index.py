"""The map of one tree: files, graph, history, each made when it is first asked for."""

from __future__ import annotations

from functools import cached_property

from navigator.context.repomap.cache import TagCache
from navigator.context.repomap.files import MapFile, read_files
from navigator.context.repomap.graph import Graph, pagerank
from navigator.context.repomap.history import PastCommit, read_history
from navigator.context.repomap.words import count_parts, path_parts
from navigator.git.source import TreeSource

CACHE_NAME = "map.sqlite"


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
        """Every file that may be shown, and those that `out` keeps from it."""
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
    def central(self) -> list[float]:
        """The files' PageRank with no task in mind."""
        return pagerank(self.graph.uses)

    @cached_property
    def history(self) -> tuple[PastCommit, ...]:
        """The commits that led here, the newest first."""
        return read_history(self.source.private, self.source.treeish, self.cache)

    @cached_property
    def path_stems(self) -> list[frozenset[str]]:
        """The stems in each path."""
        return [frozenset(path_parts(file.path)) for file in self.files]

    @cached_property
    def defined_stems(self) -> list[dict[str, int]]:
        """The stems in the names that each file defines, with how many names contain them."""
        return [count_parts((d.name, 1) for d in file.definitions) for file in self.files]
