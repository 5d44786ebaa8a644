"""Choosing hunks in Review: which are chosen, and whether they can be."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from navigator.model.diff import FileDiff, choices
from navigator.model.models import Proposal
from navigator.tui.review.context import ReviewContext

OTHERWISE = "Choose hunks of the whole change (= switches), without more context (enter on a hunk's header)."
"""Why none can be chosen in a diff that is not the one the reviewer saw."""


class HunkChoice:
    """Which hunks are chosen, by proposal and tree: a choice is kept while other proposals are shown."""

    def __init__(self) -> None:
        self._chosen: dict[tuple[str, str], frozenset[str]] = {}

    def of(self, shown: Proposal) -> frozenset[str]:
        """The labels that are chosen of a proposal."""
        return self._chosen.get((shown.id, shown.tree), frozenset())

    def toggle(self, shown: Proposal, labels: Collection[str]) -> None:
        """Choose these too, or none of them where all were chosen."""
        wanted, held = frozenset(labels), self.of(shown)
        self._chosen[shown.id, shown.tree] = held - wanted if wanted <= held else held | wanted

    def forget(self, proposal: str) -> None:
        """A decision was made: nothing of it is chosen any more."""
        self._chosen = {key: labels for key, labels in self._chosen.items() if key[0] != proposal}


def labels_of(files: Sequence[FileDiff]) -> list[str]:
    """Everything that can be chosen in a diff, in its order."""
    return [label for number, file in enumerate(files, 1) for label in choices(file, number)]


def why_not_chosen(
    context: ReviewContext, shown: Proposal, files: Sequence[FileDiff], *, otherwise: bool
) -> str:
    """Why hunks of what is shown cannot be chosen; "" where they can."""
    if otherwise:
        return OTHERWISE
    if shown.parent:
        return f"{shown.id} is already a part of {shown.parent}; approve or reject it."
    if not context.waiting or shown.id != context.current.id:
        return f"{shown.id} does not wait for your decision; choose hunks of one that does."
    return f"{shown.id} is a single hunk; approve or reject it." if len(labels_of(files)) == 1 else ""
