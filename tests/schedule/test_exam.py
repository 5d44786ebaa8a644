"""The reviewer's exam in the schedule: only in free slots, only what was paid for, and never a reason for anything else."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.model.snapshot import (
    AskExam,
    ExamView,
    ReviewTask,
    SchedulerSnapshot,
    Sleep,
    Stop,
    SwapTo,
    TaskView,
)
from navigator.model.states import Role, TaskState
from navigator.schedule.next_actions import next_actions
from navigator.schedule.swap_rule import items_with_room
from tests.schedule.test_rules import task

ITEMS = tuple(range(1, 21))


def loaded(*tasks: TaskView, exam: ExamView, busy: int = 0, **fields: Any) -> SchedulerSnapshot:
    """The reviewer is loaded and takes four requests; the first `busy` tasks are being reviewed."""
    base = SchedulerSnapshot(
        tasks=tasks,
        busy=frozenset(one.id for one in tasks[:busy]),
        resident=Role.REVIEWER,
        capacity={Role.REVIEWER: 4, Role.GENERATOR: 4},
        in_flight={Role.REVIEWER: busy},
        until="idle",
        exam=exam,
    )
    return replace(base, **fields)


def asked(snapshot: SchedulerSnapshot) -> list[int]:
    return [one.item_id for one in next_actions(snapshot, 0.0) if isinstance(one, AskExam)]


def test_items_take_the_slots_that_reviews_leave() -> None:
    waiting = [task(number, TaskState.AWAITING_REVIEW) for number in range(1, 8)]
    exam = ExamView(ITEMS, room=3)
    assert asked(loaded(*waiting, exam=exam)) == []
    assert asked(loaded(*waiting[:2], exam=exam)) == [1, 2]
    assert asked(loaded(*waiting[:2], exam=replace(exam, running=1))) == [1]
    assert asked(loaded(exam=exam)) == [1, 2, 3]
    assert asked(loaded(exam=replace(exam, room=0))) == []
    assert asked(loaded(exam=replace(exam, room=0, asked=2))) == [1, 2]


def test_a_running_item_takes_no_slot_from_a_review() -> None:
    waiting = [task(number, TaskState.AWAITING_REVIEW) for number in range(1, 8)]
    started = [
        one
        for one in next_actions(loaded(*waiting, exam=ExamView(ITEMS, running=4, room=9)), 0.0)
        if isinstance(one, ReviewTask)
    ]
    assert len(started) == 4


def test_nothing_is_asked_of_a_reviewer_that_is_not_loaded_and_no_swap_is_made_for_it() -> None:
    exam = ExamView(ITEMS, room=9, asked=9)
    for resident in (Role.GENERATOR, None):
        actions = next_actions(loaded(exam=exam, resident=resident), 0.0)
        assert not any(isinstance(one, AskExam | SwapTo) for one in actions)


def test_a_swap_waits_for_what_was_paid_for_and_for_no_more() -> None:
    to_write = task(1, TaskState.QUEUED)

    def swaps(exam: ExamView, **fields: Any) -> bool:
        actions = next_actions(loaded(to_write, exam=exam, **fields), 0.0)
        return any(isinstance(one, SwapTo) for one in actions)

    assert not swaps(ExamView(ITEMS, room=2))
    assert not swaps(ExamView(ITEMS, running=1))
    assert swaps(ExamView(ITEMS))
    assert swaps(ExamView((), room=2))
    assert swaps(ExamView(ITEMS, room=2, running=2), wanted=Role.GENERATOR), (
        "the developer asked for the other model"
    )
    # A reviewer that does not answer is not waited for.
    assert swaps(ExamView(ITEMS, room=2), unreachable={Role.REVIEWER: math.inf})


def test_a_session_ends_after_its_exam() -> None:
    assert isinstance(next_actions(loaded(exam=ExamView(ITEMS)), 0.0)[0], Stop)
    assert isinstance(next_actions(loaded(exam=ExamView(ITEMS, running=1)), 0.0)[0], Sleep)


@pytest.mark.parametrize(
    ("share", "reviews", "calls", "exam", "before", "items"),
    [
        (0.1, 8_000, 8, 0, 0, 0),  # nine reviews pay for an item
        (0.1, 9_000, 9, 0, 0, 1),
        (0.1, 8_000, 8, 0, 1_500, 1),
        (0.1, 1_000, 1, 0, 10**9, 1),  # however much was left over, one item at most
        (0.1, 30_000, 30, 0, 0, 3),
        (0.1, 30_000, 30, 3_000, 0, 0),
        (0.5, 3_000, 3, 0, 0, 3),
        (0.0, 30_000, 30, 0, 0, 0),
        (0.1, 0, 0, 0, 10**9, 0),
    ],
)
def test_room(share: float, reviews: int, calls: int, exam: int, before: int, items: int) -> None:
    assert items_with_room(share, reviews, calls, exam, before) == items


@given(st.floats(0.01, 0.5), st.integers(1, 60), st.integers(1, 50_000))
def test_the_exam_stays_within_its_share(share: float, calls: int, cost: int) -> None:
    """Items that cost what a review does, asked one after the other until there is no room."""
    spent = 0
    while items_with_room(share, calls * cost, calls, spent, 0) >= 1:
        spent += cost
    assert spent <= share * (calls * cost + spent) * (1 + 1e-9)
