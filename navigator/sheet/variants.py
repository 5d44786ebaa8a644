"""The variants of one task: which is the best by checks and verdict, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from navigator.model.states import (
    RETRYABLE_TASK_STATES,
    CheckOutcome,
    DecisionKind,
    ProposalState,
    TaskState,
    Verdict,
)

if TYPE_CHECKING:
    from navigator.model.models import Proposal, Task
    from navigator.store.reads.cards import Card
    from navigator.store.reads.loop import Predecessor
    from navigator.store.reads.reader import Reader


Rank = tuple[bool, bool, int, int, int, int]

_VERDICTS = {Verdict.APPROVE: 0, Verdict.REVISE: 1, Verdict.UNREVIEWED: 2, None: 2}


def _rank_of(known: Card) -> Rank:
    """What orders variants: no failed check, tests that pass, the verdict, serious findings, lines, the order of writing."""
    tested = known.tests is CheckOutcome.PASSED
    lines = known.added + known.removed
    return bool(known.failed), not tested, _VERDICTS[known.verdict], known.blocking, lines, known.number


def _is_waiting(card: Card) -> bool:
    return bool(card.variant_of and card.open) and card.state is TaskState.AWAITING_APPROVAL


def best_first(cards: Iterable[Card]) -> dict[str, list[Card]]:
    """The waiting variants of each task by the first variant's id, the best first; single ones are left out."""
    found: dict[str, list[Card]] = {}
    for card in cards:
        if _is_waiting(card):
            found.setdefault(card.variant_of, []).append(card)
    return {name: sorted(held, key=_rank_of) for name, held in found.items() if len(held) > 1}


def leaders(cards: Sequence[Card], groups: dict[str, list[Card]]) -> list[Card]:
    """Cards with the best variant alone in place of each group."""
    behind = {card.task for group in groups.values() for card in group[1:]}
    return [card for card in cards if card.task not in behind]


def spread(cards: Iterable[Card], groups: dict[str, list[Card]]) -> list[Card]:
    """The same, each best variant followed by the others."""
    led = {group[0].task: group for group in groups.values()}
    return [one for card in cards for one in led.get(card.task, [card])]


@dataclass(frozen=True, slots=True)
class VariantStanding:
    """One variant of a task: how it is written, and how it stands."""

    task: Task
    card: Card

    @property
    def waiting(self) -> bool:
        """Whether it can be decided on."""
        return bool(self.card.proposal) and self.task.state is TaskState.AWAITING_APPROVAL

    @property
    def words(self) -> str:
        """`P7 APPROVE`, `T8 generating`."""
        if self.waiting:
            said = self.card.verdict.value if self.card.verdict else "not reviewed"
            return f"{self.card.proposal} {said}{', a check fails' if self.card.failed else ''}"
        return f"{self.card.proposal or self.task.id} {self.task.state.value.replace('_', ' ')}"


def standings(reader: Reader, first: str) -> list[VariantStanding]:
    """All variants of a task: those that wait, the best first, then the others."""
    tasks = reader.variants(first) if first else []
    cards = {card.task: card for card in reader.cards_of((task.id for task in tasks), removed=True)}
    made = [VariantStanding(task, cards[task.id]) for task in tasks]
    return sorted(made, key=lambda one: (not one.waiting, _rank_of(one.card) if one.waiting else ()))


def variant_words(task: Task) -> str:
    """`variant 2 of T5: temperature 0.6`; "" for a task that is written once."""
    return f"variant {task.variant} of {task.variant_of}: {task.variation.words}" if task.variant_of else ""


def standing_lines(found: Sequence[VariantStanding]) -> list[str]:
    """One line per variant: its place, how it stands, how it was written, and its size, or why it ended."""
    lines = []
    for one in found:
        tests = ", tests pass" if one.card.tests is CheckOutcome.PASSED else ""
        size = f"+{one.card.added} −{one.card.removed}{tests}"
        more = size if one.waiting else one.task.reason
        about = (one.words, f"variant {one.task.variant}, {one.task.variation.words}", more)
        lines.append(" · ".join(filter(None, about)))
    return lines


def approved_variant(reader: Reader, proposal: Proposal) -> str:
    """The other variant of a proposal's task that is approved or has landed; "" where none is."""
    others = reader.variants(proposal.variant_of) if proposal.variant_of else ()
    found = (
        approved_change(reader, task.id)
        for task in others
        if task.id != proposal.task_id and task.state in (TaskState.APPROVED, TaskState.LANDED)
    )
    return next((one.id for one in found if one is not None), "")


def approved_change(reader: Reader, task: str) -> Proposal | None:
    """The newest proposal of a task that was approved; None where none was."""
    made = reader.proposals({ProposalState.DECIDED, ProposalState.LANDED}, task_id=task)
    approved = [one for one in made if one.decision and one.decision.kind is DecisionKind.APPROVE]
    return approved[-1] if approved else None


# Linked tasks: what one comes after, and why it does not start yet, in words.

ENDED = RETRYABLE_TASK_STATES - {TaskState.STALE}
"""States that a task leaves only when the developer asks for it."""


def why_it_waits(task: str, waits: Iterable[tuple[str, TaskState]]) -> str:
    """Why a queued task does not start, with what helps; "" where nothing holds it up.

    Args:
        waits: the tasks that hold it up, with their states.
    """
    held = list(waits)
    if not held:
        return ""
    said = "; ".join(f"{other} is {state.value.replace('_', ' ')}" for other, state in held)
    stuck = [other for other, state in held if state in ENDED]
    if not stuck:
        return f"It starts when these have landed or been approved: {said}."
    return (
        f"It waits, and will not start by itself: {said}. `navigator task retry {' '.join(stuck)}` tries again; "
        f"`navigator task after {task}` starts it all the same."
    )


def predecessor_words(found: Iterable[Predecessor], project: int) -> str:
    """`T3 (landed), T5 in api (awaiting approval)`."""
    return ", ".join(
        f"{one.id}{'' if one.project_id == project else f' in {one.project}'} ({one.state.value.replace('_', ' ')})"
        for one in found
    )


def changes_before(reader: Reader, task: str) -> list[Proposal]:
    """The approved changes of the tasks that one comes after; those that ended without a change have none."""
    found = (approved_change(reader, one.id) for one in reader.predecessors(task))
    return [one for one in found if one is not None]
