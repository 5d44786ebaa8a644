"""Variants of one task: how they differ, and what is not kept any more because another one is the same or was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.journey import moves
from navigator.model.models import Proposal, Task, Variation
from navigator.model.states import CANCELLABLE_TASK_STATES, ProposalState, TaskState

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction

PUT_AWAY = frozenset({TaskState.CANCELLED, TaskState.FAILED, TaskState.STALE})

HOTTEST, COOLEST = 1.0, 0.2


def variations(number: int, temperature: float) -> list[Variation]:
    """`number` ways to write one task: the first as the settings say, so that figures about first proposals count the same
    work as without variants; the others spread evenly from the writer's `temperature` to 1.0, or to 0.2 where it is hot."""
    end = HOTTEST if temperature <= (HOTTEST + COOLEST) / 2 else COOLEST
    step = (end - temperature) / max(1, number - 1)
    return [
        Variation(),
        *(Variation(temperature=round(temperature + step * place, 2)) for place in range(1, number)),
    ]


def open_variants(reader: Reader, first: str, *, besides: str) -> list[Task]:
    """The other variants of a task that have not ended: under way, or waiting for the developer."""
    if not first:
        return []
    return [
        task
        for task in reader.variants(first)
        if task.id != besides and task.state in CANCELLABLE_TASK_STATES - PUT_AWAY
    ]


def put_away_others(tx: Transaction, approved: Proposal) -> None:
    """End the variants that were not chosen, with the reason; what comes after one of them now comes after the chosen one."""
    if not approved.variant_of:
        return
    for task in open_variants(tx.read, approved.variant_of, besides=approved.task_id):
        moves.cancel(tx, task.id, f"put away: {approved.id}, another variant of the task, was approved")
    for task in tx.read.variants(approved.variant_of):
        if task.id != approved.task_id:
            _pass_on(tx, task.id, approved.task_id)


def _pass_on(tx: Transaction, ended: str, to: str) -> None:
    """Have the tasks that come after a variant that ended come after another one."""
    for behind in tx.read.successors(ended):
        tx.link_task(behind, [to if one == ended else one for one in tx.read.task(behind).after])


def put_away_as_same(tx: Transaction, task: Task, made: Proposal) -> bool:
    """End a variant whose first proposal is another one's change to the letter: it need not be reviewed twice.

    Of the two the earlier in number is kept, which may be the one that counts in the revise rate, unless the other was read.
    So it does not matter which was written first.

    Returns:
        Whether it was `task` that ended.
    """
    if task.round:
        return False
    for other in open_variants(tx.read, task.variant_of, besides=task.id):
        for proposal in tx.read.proposals({ProposalState.OPEN}, task_id=other.id):
            if (proposal.base_commit, proposal.tree) != (made.base_commit, made.tree):
                continue
            goes, stays = (
                (other, task) if task.variant < other.variant and not proposal.review else (task, other)
            )
            moves.cancel(tx, goes.id, f"put away: the same change as variant {stays.variant}, {stays.id}")
            _pass_on(tx, goes.id, stays.id)
            if goes is task:
                return True
    return False
