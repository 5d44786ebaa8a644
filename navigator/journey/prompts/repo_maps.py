"""The maps of the repositories that were worked on last, so that the tasks of one base read theirs once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from navigator.context.repomap.index import RepoMap
    from navigator.git.source import TreeSource

KEPT = 3
"""A map of 2,000 files takes some 50 MB."""


class MapShelf:
    """Keeps the last few maps. Safe to use from several threads."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._maps: OrderedDict[tuple[object, ...], RepoMap] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, source: TreeSource) -> RepoMap:
        """The map of a tree as its project sees it; made, but read only when it is asked something."""
        from navigator.context.repomap.index import RepoMap

        project = source.project
        key = (source.private.git_dir, source.treeish, project.include, project.exclude)
        with self._lock:
            held = self._maps.pop(key, None) or RepoMap(source)
            self._maps[key] = held
            while len(self._maps) > self._kept:
                self._maps.popitem(last=False)
        return held
