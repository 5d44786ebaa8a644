"""What a task waits for follows from its state, and the state from what it waits for."""

from __future__ import annotations

import pytest

from navigator.model.states import (
    ENDED_TASK_STATES,
    LIVE_TASK_STATES,
    LOOP_TASK_STATES,
    TASK_TRANSITIONS,
    Needs,
    Phase,
    Role,
    Standing,
    TaskState,
    standing,
)

S = TaskState


def test_the_state_can_be_told_from_what_it_waits_for_its_round_and_its_end() -> None:
    """So a column of the facts can generate it. How a task ended is an outcome of its own."""
    seen = {}
    for state in LIVE_TASK_STATES:
        later = state is S.REVISING
        seen.setdefault((standing(state), later), []).append(state)
    assert [states for states in seen.values() if len(states) > 1] == []


def test_a_task_that_ended_waits_for_nothing_and_leaves_its_state_only_if_it_is_taken_up_again() -> None:
    again = {S.QUEUED, S.UNDONE, S.CANCELLED}
    assert {to for state in ENDED_TASK_STATES for to in TASK_TRANSITIONS[state]} <= again
    assert {S.LANDED, S.REJECTED, S.FAILED, S.CANCELLED, S.UNDONE, S.DONE} == ENDED_TASK_STATES
    assert LOOP_TASK_STATES | {S.AWAITING_APPROVAL, S.APPROVED} == LIVE_TASK_STATES


@pytest.mark.parametrize("state", [S.QUEUED, S.GENERATING, S.REVISING])
def test_what_is_written_waits_for_its_writer(state: TaskState) -> None:
    assert standing(state).needs is Needs.GENERATOR
    assert standing(state, Role.REVIEWER).needs is Needs.REVIEWER
    assert standing(state, Role.FINAL) == Standing(Needs.FINAL, Phase.WRITE, state is S.GENERATING)


def test_only_a_queued_task_waits_for_another_one() -> None:
    blocked = {state for state in S if standing(state, blocked=True).needs is Needs.TASK}
    assert blocked == {S.QUEUED}


def test_the_tests_of_findings_are_a_phase_of_their_own() -> None:
    assert standing(S.CHECKING, proving=True).phase is Phase.PROVE
    assert [state for state in S if standing(state, proving=True) != standing(state)] == [S.CHECKING]
