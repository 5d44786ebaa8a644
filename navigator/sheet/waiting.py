"""What waits for the developer: one list, each with its first word and what to do.

`model.standing.waits_for_developer` says what waits. The Deck, `navigator proposals` and `status`, MCP, `[on]`, the report and
the end of a session show this list or its length.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from navigator.git.facts import WORKTREE, read_base
from navigator.model.errors import NavigatorError
from navigator.model.states import TaskState
from navigator.sheet.marks import (
    Head,
    Mark,
    Tips,
    beside,
    careful_paths,
    head,
    marks,
    overlapping,
    places_of,
)

if TYPE_CHECKING:
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader


def waiting_document(card: Card) -> dict[str, Any]:
    """One thing that waits, as JSON has it."""
    return {
        "id": card.id,
        "task": card.task,
        "project": card.project,
        "title": card.title,
        "state": card.state.value,
        "says": row_head(card).word,
        "marks": [mark_document(mark) for mark in marks(card)],
        "to_do": what_to_do(card),
        "batch": card.batch,
        "since": card.since,
    }


def mark_document(mark: Mark) -> dict[str, str]:
    """A mark as JSON has it; `confirm` is what `approve --confirm` takes."""
    return {"kind": mark.kind.value, "words": mark.words, "confirm": mark.key}


def waiting(reader: Reader, project: str | None = None, tips: Tips | None = None) -> list[Card]:
    """Everything that waits for the developer, in the order of `risk_order`; of one project, where it is named."""
    found = sorted((card for card in reader.cards(_NEVER) if card.for_you), key=risk_order)
    overlaps = overlapping(places_of(found))
    return [beside(card, overlaps, tips or {}) for card in found if project in (None, card.project)]


def risk_order(card: Card) -> tuple[bool, bool, str, int]:
    """The order of what waits: what touches careful paths first, else that of `Card.waiting_order`."""
    return not careful_paths(card), *card.waiting_order


_NEVER = "9999"
"""A time after which nothing has ended yet."""


def row_head(card: Card) -> Head:
    """The first word of a row."""
    if card.landing == "refused" and card.state is TaskState.APPROVED:
        return Head("NOT LANDED", "bad")
    if card.state is TaskState.STALE:
        return Head("STALE", "warn")
    if card.state is TaskState.FAILED:
        return Head("FAILED", "bad")
    if card.proposal:
        return head(card)
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


def tips(reader: Reader, of: Collection[int] | None = None) -> Tips:
    """The commits that new work starts from, by a project's number and a task's own base; reads git.

    A project whose base is the worktree, and one that cannot be read, is left out: a landing says what is wrong with it.

    Args:
        of: only these projects; None for those of which something waits for a decision.
    """
    projects = {project.id: project for project in reader.projects()}
    found: dict[tuple[int, str], str] = {}
    for task in reader.tasks({TaskState.AWAITING_APPROVAL}):
        place, project = (task.project_id, task.base), projects.get(task.project_id)
        if project is None or place in found or (of is not None and project.id not in of):
            continue
        named = task.base or project.base
        if named == WORKTREE:
            continue
        try:
            found[place] = read_base(project.path, named)
        except NavigatorError:
            continue
    return found
