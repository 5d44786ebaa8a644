"""When the next review starts, against the scheduler itself."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.model.snapshot import BatchRules, SchedulerSnapshot, SwapTo
from navigator.model.states import Role, TaskState
from navigator.schedule.next_actions import next_actions
from navigator.schedule.swap_rule import HOLD_SECONDS, ReviewOutlook, outlook
from tests.schedule.test_rules import NOW, snap, task, waiting


def paced(snapshot: SchedulerSnapshot) -> SchedulerSnapshot:
    return replace(snapshot, write_seconds=10.0)


STAYS = {"until": "", "batch": BatchRules(target=3, max_wait=1800.0, quiet=180.0)}


@pytest.mark.parametrize(
    ("why", "snapshot", "seconds"),
    [
        ("nothing to review and nothing to write", snap(), None),
        ("the reviewer is here", snap(*waiting(1), resident=Role.REVIEWER), 0),
        ("it is on its way", snap(*waiting(1), resident=None, swapping_to=Role.REVIEWER), 0),
        ("asked for", snap(*waiting(1), task(1), hurry=True), 0),
        ("given up", snap(*waiting(1), unreachable={Role.REVIEWER: math.inf}), None),
        ("out of reach for a while", snap(*waiting(1), unreachable={Role.REVIEWER: NOW + 40}), 40),
        ("no swap left", snap(*waiting(1), swaps_left=0), None),
        ("one swap left, and two needed", snap(task(1), resident=Role.REVIEWER, swaps_left=1), None),
        ("a session that ends writes everything first", snap(*waiting(9), task(1), task(2)), 20),
        ("quiet will come", snap(*waiting(1), **{**STAYS, "last_arrival": NOW - 100}), 80),
        ("the target will be reached", snap(*waiting(1), *map(task, range(5)), **STAYS), 20),
        ("the oldest will have waited", snap(*waiting(1, NOW - 1795), task(1), **STAYS), 5),
        ("both answer: after the next proposal", snap(task(1), both_resident=True), 10),
        ("both answer: after the check", snap(task(1, TaskState.CHECKING), both_resident=True), 0),
    ],
)
def test_when_the_next_review_will_come(why: str, snapshot: SchedulerSnapshot, seconds: float | None) -> None:
    assert outlook(paced(snapshot), NOW).seconds == seconds, why


@given(
    count=st.integers(1, 5),
    waited=st.floats(0, 4000),
    since_arrival=st.floats(0, 4000),
    target=st.integers(1, 6),
    quiet=st.sampled_from((0.0, 20.0, 180.0)),
    held=st.floats(0, 100),
)
def test_with_nothing_to_write_the_outlook_is_the_moment_the_scheduler_swaps(
    count: int, waited: float, since_arrival: float, target: int, quiet: float, held: float
) -> None:
    snapshot = paced(
        snap(
            *waiting(count, NOW - waited),
            until="",
            last_arrival=NOW - since_arrival,
            held_until=NOW + held,
            batch=BatchRules(target=target, max_wait=1800.0, quiet=quiet),
        )
    )
    seconds = outlook(snapshot, NOW).seconds
    assert seconds is not None
    assert SwapTo(Role.REVIEWER) in next_actions(snapshot, NOW + seconds + 1e-6)
    if seconds > 1e-3:
        assert SwapTo(Role.REVIEWER) not in next_actions(snapshot, NOW + seconds - 1e-3)


def test_with_nothing_left_to_write_a_review_starts_at_once_and_says_why() -> None:
    one = snap(*waiting(1, NOW), until="", last_arrival=NOW)
    assert next_actions(one, NOW) == (SwapTo(Role.REVIEWER),)
    checking = snap(task(1, TaskState.CHECKING, since=NOW), *waiting(1, NOW), until="", busy="T1")
    assert outlook(checking, NOW) == ReviewOutlook(HOLD_SECONDS, "when nothing is left to write")


def test_a_model_that_a_person_loaded_stays_until_a_review_is_asked_for() -> None:
    held = snap(task(1), resident=Role.REVIEWER, held_until=NOW + 20, until="")
    assert SwapTo(Role.GENERATOR) not in next_actions(held, NOW)
    assert next_actions(held, NOW + 20) == (SwapTo(Role.GENERATOR),)
    review = snap(*waiting(3), held_until=NOW + 20, hurry=True, until="")
    assert next_actions(review, NOW) == (SwapTo(Role.REVIEWER),)


def test_no_review_starts_on_a_model_that_was_told_to_leave() -> None:
    leaving = snap(*waiting(3), resident=Role.REVIEWER, wanted=Role.GENERATOR)
    assert next_actions(leaving, NOW) == (SwapTo(Role.GENERATOR),)
