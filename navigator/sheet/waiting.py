"""What waits for the developer: one list, each with its first word and what to do.

`model.standing.waits_for_developer` says what waits. The Deck, `navigator proposals` and `status`, MCP, `[on]`, the report and
the end of a session show this list or its length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from navigator.model.states import TaskState
from navigator.sheet.marks import (
    Facts,
    Head,
    Mark,
    careful_paths,
    has_moved,
    head,
    labels,
    marks,
    overlapping,
    places_of,
)

if TYPE_CHECKING:
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader


@dataclass(frozen=True, slots=True)
class Waiting:
    """One thing that waits. `facts` are its proposal's, None where it has none."""

    card: Card
    facts: Facts | None

    @property
    def id(self) -> str:
        """The proposal's, or the task's where there is none to decide on."""
        ended = self.card.state in (TaskState.FAILED, TaskState.STALE)
        return self.card.task if ended else self.card.proposal or self.card.task

    @property
    def marks(self) -> tuple[Mark, ...]:
        """What bears on the decision."""
        return marks(self.facts) if self.facts else ()

    @property
    def labels(self) -> list[tuple[str, str]]:
        """The same in a row of a list."""
        return labels(self.facts) if self.facts else []

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "id": self.id,
            "task": self.card.task,
            "project": self.card.project,
            "title": self.card.title,
            "state": self.card.state.value,
            "says": row_head(self.card, self.facts).word,
            "marks": [mark_document(mark) for mark in self.marks],
            "to_do": what_to_do(self.card),
            "batch": self.card.batch,
            "since": self.card.since,
        }


def mark_document(mark: Mark) -> dict[str, str]:
    """A mark as JSON has it; `confirm` is what `approve --confirm` takes."""
    return {"kind": mark.kind.value, "words": mark.words, "confirm": mark.key}


def waiting(
    reader: Reader, project: str | None = None, tips: Mapping[tuple[int, str], str] | None = None
) -> list[Waiting]:
    """Everything that waits for the developer, in the order of `risk_order`.

    Args:
        project: only what is of this project.
        tips: where the bases are now (`sheet.base.tips`).
    """
    found = sorted((card for card in reader.cards(_NEVER) if card.for_you), key=risk_order)
    overlaps = overlapping(places_of(found))
    return [
        Waiting(card, card_facts(card, overlaps, tips or {}))
        for card in found
        if project in (None, card.project)
    ]


def risk_order(card: Card) -> tuple[bool, bool, str, int]:
    """The order of what waits: what touches careful paths first, else that of `Card.waiting_order`."""
    return not careful_paths(card), *card.waiting_order


_NEVER = "9999"
"""A time after which nothing has ended yet."""


def card_facts(
    card: Card, overlaps: Mapping[str, tuple[str, ...]], tips: Mapping[tuple[int, str], str]
) -> Facts | None:
    """What is known of a row's proposal; None where it has none."""
    if not card.proposal:
        return None
    moved = has_moved(card.made_on, tips.get((card.project_id, card.base), ""))
    return Facts.of_card(card, overlaps.get(card.proposal, ()), moved=moved)


def row_head(card: Card, facts: Facts | None) -> Head:
    """The first word of a row."""
    if card.landing == "refused" and card.state is TaskState.APPROVED:
        return Head("NOT LANDED", "bad")
    if card.state is TaskState.STALE:
        return Head("STALE", "warn")
    if card.state is TaskState.FAILED:
        return Head("FAILED", "bad")
    if facts is not None:
        return head(facts)
    if card.suggestions:
        return Head(f"CHOOSE {card.suggestions}", "accent")
    return Head("NO CHANGE", "muted") if card.no_change else Head("REPORT", "accent")


def what_to_do(card: Card) -> str:
    """What the developer does about it, as commands."""
    task, proposal = card.task, card.proposal
    if card.state is TaskState.APPROVED:
        return f"`navigator approve {proposal}` tries to land it again; `navigator undo {proposal}` takes the approval back"
    if card.state is TaskState.STALE:
        return f"The next `navigator run` writes it again on the present files; `navigator task cancel {task}` drops it"
    if card.state is TaskState.FAILED:
        return f"`navigator task retry {task}` tries again; `navigator task cancel {task}` drops it"
    if card.existing:
        return f"`navigator fix {proposal}` has its findings fixed; `navigator task done {task}` puts it away"
    if proposal:
        return f"`navigator diff {proposal}` shows it; approve, reject or send it back"
    if card.suggestions:
        return f"`navigator task show {task}` lists the tasks it suggests: accept or dismiss them"
    return f"`navigator task show {task}` shows it; `navigator task done {task}` puts it away"
