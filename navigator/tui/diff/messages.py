"""What the diff view tells its owner."""

from __future__ import annotations

from typing import Literal

from textual.message import Message

Where = Literal["above", "below"]


class ChoiceAsked(Message, namespace="diff_view"):
    """The user wants to choose some hunks, or no longer: `labels` as `navigator.model.diff.choices` gives them.

    Answer with `DiffView.set_chosen`.
    """

    def __init__(self, labels: tuple[str, ...]) -> None:
        super().__init__()
        self.labels = labels


class ContextRequested(Message, namespace="diff_view"):
    """The user wants to see unchanged lines: `count` lines of the new side of `path` from `first` on (1-based).

    Answer with `DiffView.insert_context(path, hunk, lines, where)`. Below the last hunk the file may end sooner.
    """

    def __init__(self, path: str, hunk: str, where: Where, first: int, count: int) -> None:
        super().__init__()
        self.path = path
        self.hunk = hunk
        self.where = where
        self.first = first
        self.count = count
