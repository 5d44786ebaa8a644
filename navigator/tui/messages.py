"""Immutable messages between screens, and from the workers to the screens. Workers post; they never touch a widget."""

from __future__ import annotations

from collections.abc import Sequence

from textual.message import Message

from navigator.model.states import DecisionKind
from navigator.tui.data.deck_snapshot import DeckSnapshot, LiveStatus


class DeckSnapshotChanged(Message):
    """The store says something new. Sent to the screen in front; others get it when they come to the front."""

    def __init__(self, snapshot: DeckSnapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class LiveChanged(Message):
    """Progress that is not kept: tokens so far, a swap's phase, whether a conductor answers."""

    def __init__(self, live: LiveStatus) -> None:
        super().__init__()
        self.live = live


class OpenProposal(Message):
    """Show a proposal in Review, with the others to step through by n and p."""

    def __init__(self, proposal: str, queue: Sequence[str] = ()) -> None:
        super().__init__()
        self.proposal = proposal
        self.queue = tuple(queue)


class OpenTask(Message):
    """Show a task that has no proposal to decide. `page` is "report", "suggestions" or "" for the task's own page."""

    def __init__(self, task: str, page: str = "") -> None:
        super().__init__()
        self.task = task
        self.page = page


class ComposeFor(Message):
    """Write a task for these projects (names); none: let the user choose."""

    def __init__(self, projects: Sequence[str] = (), text: str = "") -> None:
        super().__init__()
        self.projects = tuple(projects)
        self.text = text


class DecideAll(Message):
    """Ask, in a dialog, for one decision on these proposals, exactly as they are on the screen now.

    `proposals` are (id, tree) pairs.
    """

    def __init__(self, kind: DecisionKind, proposals: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.kind = kind
        self.proposals = tuple(proposals)
