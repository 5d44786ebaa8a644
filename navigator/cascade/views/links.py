"""Linked tasks: what one comes after, and why it does not start yet, in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from navigator.model.models import Proposal
from navigator.model.states import RETRYABLE_TASK_STATES, DecisionKind, ProposalState, TaskState

if TYPE_CHECKING:
    from navigator.store.reads.loop import Predecessor
    from navigator.store.reads.reader import Reader

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
        have = "has" if len(held) == 1 else "have"
        return f"It starts when {_names(other for other, _ in held)} {have} landed, or been approved: {said}."
    return (
        f"It waits, and will not start by itself: {said}. `navigator task retry {' '.join(stuck)}` tries again; "
        f"`navigator task after {task}` starts it all the same."
    )


def _names(ids: Iterable[str]) -> str:
    found = list(ids)
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}"


def predecessor_words(found: Iterable[Predecessor], project: int) -> str:
    """`T3 (landed), T5 in api (awaiting approval)`."""
    return ", ".join(
        f"{one.id}{'' if one.project_id == project else f' in {one.project}'} ({one.state.value.replace('_', ' ')})"
        for one in found
    )


def changes_before(reader: Reader, task: str) -> list[Proposal]:
    """The approved changes of the tasks that one comes after; those that ended without a change have none."""
    made = []
    for one in reader.predecessors(task):
        kept = [
            proposal
            for proposal in reader.proposals({ProposalState.DECIDED, ProposalState.LANDED}, task_id=one.id)
            if proposal.decision is not None and proposal.decision.kind is DecisionKind.APPROVE
        ]
        made += kept[-1:]
    return made
