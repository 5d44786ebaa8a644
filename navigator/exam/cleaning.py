"""Drops the trees of items that are asked no more, and those that a crash left without an item."""

from __future__ import annotations

from collections.abc import Iterable

from navigator.exam.making import KEPT, keep_name
from navigator.git.private import PrivateRepo
from navigator.model.exam import ExamItem


def drop_retired(private: PrivateRepo, items: Iterable[ExamItem]) -> int:
    """Let go of every item's tree in a repository but those of `items`; returns how many. `collect` frees the space."""
    wanted = {keep_name(item.origin) for item in items}
    gone = [name for name in private.kept() if name.startswith(KEPT) and name not in wanted]
    for name in gone:
        private.drop(name)
    return len(gone)
