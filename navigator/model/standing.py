"""What a task waits for, and how far it is: a few facts that follow from its state, in one table.

Everything that asks "whose turn is it?" asks here: the scheduler, `status`, the Deck, the metrics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache

from navigator.model.states import LandingState, Role, TaskState


class Needs(StrEnum):
    """What a task waits for, or what works on it."""

    GENERATOR = "generator"
    REVIEWER = "reviewer"
    FINAL = "final"
    CPU = "cpu"
    TASK = "another task"
    DEVELOPER = "developer"
    NOTHING = "nothing"


class Phase(StrEnum):
    """How far a task is. It may go back: after a review it may be written again."""

    WRITE = "write"
    CHECK = "check"
    PROVE = "prove"
    """The tests of its review's findings run."""
    REVIEW = "review"
    FINAL = "final"
    DECIDE = "decide"
    LAND = "land"


@dataclass(frozen=True, slots=True)
class Standing:
    """What a task needs, its phase, and whether a stage has begun on it. One that ended needs nothing.

    `role` is the role that it needs; None where that is no model.
    """

    needs: Needs
    phase: Phase
    running: bool = False
    role: Role | None = field(init=False)

    def __post_init__(self) -> None:
        # Asked for every task of every step of a forecast: kept, not derived each time.
        object.__setattr__(self, "role", next((role for role in Role if role == self.needs.value), None))


_S = TaskState
_STANDING = {
    _S.QUEUED: Standing(Needs.GENERATOR, Phase.WRITE),
    _S.GENERATING: Standing(Needs.GENERATOR, Phase.WRITE, running=True),
    _S.REVISING: Standing(Needs.GENERATOR, Phase.WRITE),
    _S.STALE: Standing(Needs.CPU, Phase.WRITE),
    _S.CHECKING: Standing(Needs.CPU, Phase.CHECK, running=True),
    _S.AWAITING_REVIEW: Standing(Needs.REVIEWER, Phase.REVIEW),
    _S.REVIEWING: Standing(Needs.REVIEWER, Phase.REVIEW, running=True),
    _S.FINAL_REVIEW: Standing(Needs.FINAL, Phase.FINAL, running=True),
    _S.AWAITING_APPROVAL: Standing(Needs.DEVELOPER, Phase.DECIDE),
    _S.APPROVED: Standing(Needs.CPU, Phase.LAND),
    _S.LANDED: Standing(Needs.NOTHING, Phase.LAND),
    _S.UNDONE: Standing(Needs.NOTHING, Phase.LAND),
    _S.REJECTED: Standing(Needs.NOTHING, Phase.DECIDE),
    _S.CANCELLED: Standing(Needs.NOTHING, Phase.DECIDE),
    _S.DONE: Standing(Needs.NOTHING, Phase.DECIDE),
    _S.FAILED: Standing(Needs.NOTHING, Phase.WRITE),
}


@cache
def standing(
    state: TaskState, writer: Role = Role.GENERATOR, *, proving: bool = False, blocked: bool = False
) -> Standing:
    """Where a task stands.

    Args:
        state: as the store has it, and JSON's `state`.
        writer: the role that writes it.
        proving: its checks are the tests of its review's findings.
        blocked: it comes after a task that has not landed.
    """
    found = _STANDING[state]
    if blocked and state is TaskState.QUEUED:
        return Standing(Needs.TASK, Phase.WRITE)
    if found.needs is Needs.GENERATOR:
        return Standing(Needs(writer.value), found.phase, found.running)
    return Standing(Needs.CPU, Phase.PROVE, running=True) if proving and found.phase is Phase.CHECK else found


ENDED_TASK_STATES = frozenset(state for state, one in _STANDING.items() if one.needs is Needs.NOTHING)
"""States in which nothing more happens by itself, and nobody is waited for."""

LIVE_TASK_STATES = frozenset(_STANDING) - ENDED_TASK_STATES
"""The others."""

LOOP_TASK_STATES = frozenset(
    state for state in LIVE_TASK_STATES if _STANDING[state].phase not in (Phase.DECIDE, Phase.LAND)
)
"""States in which the loop still has something to do before the developer decides."""

FOR_DEVELOPER = frozenset({_S.AWAITING_APPROVAL, _S.STALE, _S.FAILED})
"""States in which a task waits for the developer, whatever else is true of it."""


def waits_for_developer(state: TaskState, landing: str = "") -> bool:
    """Whether a task waits for the developer: to decide, to read, to try again or to put away.

    Args:
        landing: how far its approval got; one that was refused waits, one that is due lands by itself.
    """
    return state in FOR_DEVELOPER or (state is _S.APPROVED and landing == LandingState.REFUSED)
