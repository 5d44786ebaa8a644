"""When the next review starts, against the scheduler itself; and when leaving the generator is worth it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from navigator.domain.snapshot import BatchRules, Prices, SchedulerSnapshot, SwapTo
from navigator.domain.states import Role, TaskState
from navigator.scheduling.next_actions import next_actions
from navigator.scheduling.outlook import outlook
from navigator.scheduling.view import hold_seconds
from navigator.scheduling.worth import leaving_costs, waited, worth_from
from tests.scheduling.test_rules import NOW, snap, task, waiting

PRICES = Prices(swap_in=40, swap_back=35, write_seconds=10, review_seconds=5)


def priced(snapshot: SchedulerSnapshot) -> SchedulerSnapshot:
    return replace(snapshot, prices=PRICES)


STAYS = {"until": "", "batch": BatchRules(target=3, max_wait=1800.0, quiet=180.0, patience=math.inf)}


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
    assert outlook(priced(snapshot), NOW).seconds == seconds, why


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    count=st.integers(1, 5),
    waited=st.floats(0, 4000),
    since_arrival=st.floats(0, 4000),
    target=st.integers(1, 6),
    patience=st.sampled_from((0.0, 0.5, 1.0, 4.0, math.inf)),
    held=st.floats(0, 100),
)
def test_with_nothing_to_write_the_outlook_is_the_moment_the_scheduler_swaps(
    count: int, waited: float, since_arrival: float, target: int, patience: float, held: float
) -> None:
    snapshot = priced(
        snap(
            *waiting(count, NOW - waited),
            until="",
            last_arrival=NOW - since_arrival,
            held_until=NOW + held,
            batch=BatchRules(target=target, max_wait=1800.0, quiet=180.0, patience=patience),
        )
    )
    seconds = outlook(snapshot, NOW).seconds
    assert seconds is not None
    assert SwapTo(Role.REVIEWER) in next_actions(snapshot, NOW + seconds + 1e-6)
    if seconds > 1e-3:
        assert SwapTo(Role.REVIEWER) not in next_actions(snapshot, NOW + seconds - 1e-3)


def test_the_reviewer_is_due_when_the_waits_add_up_to_the_round_trip() -> None:
    weighed = {"until": "", "batch": BatchRules(patience=1.0), "prices": PRICES}
    assert worth_from(snap(*waiting(1, NOW), **weighed)) == NOW + 75
    assert worth_from(snap(*waiting(5, NOW), **weighed)) == NOW + 15
    patient = snap(*waiting(5, NOW), **(weighed | {"batch": BatchRules(patience=4.0)}))
    assert worth_from(patient) == NOW + 60
    five = snap(*waiting(5, NOW), **weighed)
    assert next_actions(five, NOW + 15) == (SwapTo(Role.REVIEWER),)
    assert outlook(five, NOW).why == "when the wait is worth the swaps"


def test_what_is_left_to_write_is_weighed_too() -> None:
    """Each of the two would wait for the round trip and five reviews."""
    snapshot = snap(
        *waiting(5, NOW), task(1), task(2), until="", prices=PRICES, batch=BatchRules(patience=1.0)
    )
    assert leaving_costs(snapshot, 5) == 75 + 2 * (75 + 5 * 5)
    assert worth_from(snapshot) == NOW + 275 / 5


def test_an_urgent_proposal_waits_more_dearly() -> None:
    one = task(1, TaskState.AWAITING_REVIEW, since=NOW - 10)
    assert waited([one], NOW) == 10
    assert waited([replace(one, priority=1)], NOW) == 40
    assert (
        worth_from(snap(replace(one, priority=1), until="", prices=PRICES, batch=BatchRules(patience=1.0)))
        == NOW - 10 + 75 / 4
    )


def test_a_model_that_a_person_loaded_stays_until_a_review_is_asked_for() -> None:
    held = snap(task(1), resident=Role.REVIEWER, held_until=NOW + 20, until="")
    assert SwapTo(Role.GENERATOR) not in next_actions(held, NOW)
    assert next_actions(held, NOW + 20) == (SwapTo(Role.GENERATOR),)
    review = snap(*waiting(3), held_until=NOW + 20, hurry=True, until="")
    assert next_actions(review, NOW) == (SwapTo(Role.REVIEWER),)


def test_no_review_starts_on_a_model_that_was_told_to_leave() -> None:
    leaving = snap(*waiting(3), resident=Role.REVIEWER, wanted=Role.GENERATOR)
    assert next_actions(leaving, NOW) == (SwapTo(Role.GENERATOR),)


def test_a_check_holds_a_swap_for_what_an_early_repair_is_worth() -> None:
    checking = task(1, TaskState.CHECKING, since=NOW)
    certain = Prices(swap_in=40, swap_back=35, revise_rate=0.0, check_failures=0.4)
    alone = snap(checking, until="idle", prices=certain)
    assert hold_seconds(alone) == pytest.approx(0.4 * 75)
    # Where something is revised anyway, the repair comes along, and the GPU waits for nothing.
    revised = snap(checking, *waiting(30), until="idle", prices=replace(certain, revise_rate=0.35))
    assert hold_seconds(revised) == 5.0
    # With --until reviewed no revision brings the generator back.
    assert hold_seconds(replace(revised, until="reviewed")) == pytest.approx(0.4 * 75)
