"""How the rows of the deck are drawn: words and signs carry the meaning, colour only helps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from navigator.model.states import Needs, TaskState
from navigator.sheet.marks import labels, marks
from navigator.sheet.variants import ENDED as ENDED_FOR_GOOD
from navigator.sheet.variants import leaders, spread
from navigator.sheet.waiting import row_head
from navigator.tui.clock import seconds_since
from navigator.tui.deck_snapshot import ProjectRow
from navigator.tui.widgets.cells import (
    Piece,
    clip,
    cropped,
    fit,
    justified,
    length,
    right,
    short_duration,
    thousands,
)

if TYPE_CHECKING:
    from navigator.store.reads.cards import Card


WORK = {
    TaskState.QUEUED: ("queued", "faint"),
    TaskState.GENERATING: ("writing", "accent"),
    TaskState.CHECKING: ("checks", "accent"),
    TaskState.AWAITING_REVIEW: ("to review", "muted"),
    TaskState.REVIEWING: ("in review", "accent"),
    TaskState.REVISING: ("to revise", "muted"),
    TaskState.FINAL_REVIEW: ("last review", "accent"),
    TaskState.APPROVED: ("landing", "accent"),
}

ENDED = {
    TaskState.LANDED: ("landed", "good"),
    TaskState.REJECTED: ("rejected", "muted"),
    TaskState.CANCELLED: ("cancelled", "muted"),
    TaskState.UNDONE: ("undone", "muted"),
    TaskState.DONE: ("read", "muted"),
}

_VERDICT = 13
_COUNTS = (("queued", 7), ("work", 6), ("wait", 6))

NARROW = 86
"""Cells below which a list of tasks says less."""


def project_heading(width: int, count: int | None) -> list[Piece]:
    """The line above the projects, as wide as a row with its gutter."""
    name = _name_room(width - 2)
    columns = "".join(right(word, room) for word, room in _COUNTS)
    counted = "" if count is None else f" {count}"
    return [
        (fit(f"  PROJECTS{counted}", name + 2), "heading"),
        (columns, "muted"),
    ]


def draw_project(row: ProjectRow, width: int) -> list[Piece]:
    """A project and its counts."""
    busy = row.waiting or row.work
    return [
        (fit(row.name, _name_room(width)), "" if busy or row.queued else "muted"),
        (_count_cell(row.queued, 7), "" if row.queued else "faint"),
        (_count_cell(row.work, 6), "" if row.work else "faint"),
        (_count_cell(row.waiting, 6), "strong" if row.waiting else "faint"),
    ]


def _name_room(width: int) -> int:
    """Cells of the name; one blank cell keeps the counts off the border."""
    return max(8, width - 20)


def _count_cell(number: int, width: int) -> str:
    return right(thousands(number) if number else "–", width)


def card_heading(title: str, count: int | None, note: str, width: int, elsewhere: str = "") -> list[Piece]:
    """The line above a list of tasks; `elsewhere` names the next of the lists that are hidden, where there is room."""
    counted = f"  {thousands(count)}" if count is not None else ""
    left = [(f"  {title}", "heading"), (counted, "title"), (f"   {note}" if note else "", "muted")]
    room = width - length(left) - 3
    return justified(
        left, [(f"{elsewhere} ", "faint")] if elsewhere and len(elsewhere) <= room else [], width
    )


def draw_waiting(card: Card, width: int, *, best: bool = False) -> list[Piece]:
    """What waits for the user, in one line: who, what the strictest reader says, what it is, what to mind, how much.

    Args:
        best: it is the best of the variants of its task that wait.
    """
    short = width < NARROW
    first = row_head(card)
    unseen = bool(card.proposal) and not card.seen
    head = _head(card, card.id, short)
    tail: list[Piece] = []
    for flag in flags_of(card, short=short, best=best):
        tail += [("  ", ""), flag]
    if card.proposal:
        tail += [(right(f"+{card.added} −{card.removed}", 10), "muted")]
    tail.append((" ", ""))
    room = width - length(head) - _VERDICT
    if length(tail) > room - 14:
        tail = [*tail[:-2], (" ", "")]  # the flags matter more than the size
    tail = cropped(tail, max(2, room - 8))
    return [
        *head,
        (fit(first.word, _VERDICT), first.tone),
        (fit(card.title, room - length(tail)), "strong" if unseen else ""),
        *tail,
    ]


def _head(card: Card, identifier: str, short: bool) -> list[Piece]:
    """The columns that every list of tasks begins with."""
    return [
        (fit(identifier, 6), "muted"),
        (fit(card.project, 12 if short else 16), ""),
        (" ", ""),
    ]


def flags_of(card: Card, *, short: bool, best: bool = False) -> list[Piece]:
    """What else there is to mind, in words: the marks, which of the variants it is, its batch."""
    flags: list[Piece] = []
    if card.variants > 1:
        place = f"{'' if short else 'variant '}{card.variant}/{card.variants}"
        flags.append((f"best {card.variant}/{card.variants}" if best else place, "good" if best else "muted"))
    if not card.proposal:
        return [*flags, (clip(card.reason, 40), "muted")] if card.reason and not short else flags
    if card.existing and not short:
        flags.append((clip(card.change, 24), "muted"))
    flags += labels(card, short=short)
    return [*flags, (card.batch, "faint")] if card.batch and not short else flags


def work_word(card: Card) -> tuple[str, str]:
    """The state of a task under way, in a word or two, and a style; of one that waits for another task, which."""
    if card.standing.needs is not Needs.TASK:
        return WORK[card.state]
    stuck = [other for other, state in card.waits if state in ENDED_FOR_GOOD]
    return f"after {stuck[0] if stuck else card.waits[0][0]}", "warn" if stuck else "muted"


def draw_work(card: Card, width: int) -> list[Piece]:
    """What is being worked on."""
    word, style = work_word(card)
    if card.state is TaskState.QUEUED:
        note = next((state.value for _, state in card.waits if state in ENDED_FOR_GOOD), "")
    else:
        note = short_duration(seconds_since(card.since))
    head = [*_head(card, card.task, width < NARROW), (fit(word, _VERDICT), style)]
    again = f"revision {card.round} " if card.round else ""
    again += f"{card.variant}/{card.variants} " if card.variants > 1 else ""
    room = width - length(head)
    return [
        *head,
        (again, "faint"),
        (fit(card.title, room - 13 - len(again)), "muted"),
        (right(note, 12), "muted"),
        (" ", ""),
    ]


def draw_ended(card: Card, width: int) -> list[Piece]:
    """What ended today."""
    word, style = ENDED[card.state]
    head = [*_head(card, card.proposal or card.task, width < NARROW), (fit(word, _VERDICT), style)]
    return [*head, (fit(card.title, width - length(head)), "muted")]


def ended_note(cards: Sequence[Card]) -> str:
    """`landed 9  rejected 1`."""
    counts = Counter(card.state for card in cards)
    words = ((state, ENDED[state][0]) for state in ENDED)
    return "  ".join(f"{word} {counts[state]}" for state, word in words if counts.get(state))


# What `/` on the deck understands: words, of which every one must be in what a row is found by.


def admits(words: Sequence[str], card: Card) -> bool:
    """Whether a filter's words, in lower case, all stand in a task's ids, names, `project:NAME` and `is:WORD`s."""
    known = (card.proposal, card.task, f"project:{card.project}", card.title, card.kind)
    text = " ".join([*known, *(f"is:{name}" for name in _names_of(card))]).casefold()
    return all(word in text for word in words)


def _names_of(card: Card) -> Iterator[str]:
    """The words after `is:` that find a task: its verdict, its marks, its state, and what it is."""
    yield from (card.state.value, card.landing, card.verdict.value if card.verdict else "")
    yield from (mark.kind.value for mark in marks(card) if card.proposal)
    yield "suggestions" if card.suggestions else "report" if card.report else ""
    yield "variant" if card.variants > 1 else ""


def together(cards: Sequence[Card], groups: dict[str, list[Card]]) -> list[Card]:
    """The inbox in its order, but variants of one task together, the best first, where the best one belongs."""
    shown = {card.task for card in cards}
    held = {name: [card for card in group if card.task in shown] for name, group in groups.items()}
    held = {name: group for name, group in held.items() if group}
    return spread(leaders(cards, held), held)
