"""The rules of the scheduler, one table row or one short scene each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from navigator.model.snapshot import (
    BatchRules,
    Doubt,
    FinalReview,
    Generate,
    Land,
    Renew,
    ReviewTask,
    RunChecks,
    SchedulerSnapshot,
    Sleep,
    Stop,
    SwapTo,
    TaskView,
)
from navigator.model.states import Role, TaskState
from navigator.schedule.next_actions import MAY_OVERTAKE, next_actions
from navigator.schedule.swap_rule import CHECKS_AT_ONCE, FILES_HELD_SECONDS, HOLD_SECONDS, longest_wait

NOW = 10_000.0
G, R, F = Role.GENERATOR, Role.REVIEWER, Role.FINAL
S = TaskState


def task(number: int, state: TaskState = S.QUEUED, **more: Any) -> TaskView:
    return replace(TaskView(f"T{number}", 1, state, 0, number, 0, since=NOW - 1), **more)


def snap(*tasks: TaskView, busy: str = "", **more: Any) -> SchedulerSnapshot:
    """`busy` are ids in a row."""
    usual = SchedulerSnapshot(tasks, busy=frozenset(busy.split()), resident=G, capacity={G: 8, R: 8, F: 2})
    return replace(usual, **{"until": "idle", "last_arrival": NOW - 1, **more})


NEVER = math.inf
WAITING, REVISION = task(1, S.AWAITING_REVIEW), task(1, S.REVISING, round=1)
DONE = Stop("Nothing is left to do.")
NO_SWAP = Stop("No swap is left in this session; 1 task waits for the other model.")
REVIEWED = Stop("Everything has had its review; 1 task waits to be revised in another session.")
NO_FINAL = Stop("The final reviewer is not enabled; 1 task waits for it.")
GIVEN_UP = Stop("The generator cannot be used; 1 task waits for it.")


@pytest.mark.parametrize(
    ("why", "snapshot", "expected"),
    [
        ("an empty session ends", snap(), [DONE]),
        ("it does not while somebody holds a task", snap(busy="T9"), [Sleep(NEVER)]),
        ("nor while a request is under way", snap(in_flight={F: 1}), [Sleep(NEVER)]),
        ("nor while the GPU changes hands", snap(swapping_to=R, resident=None), [Sleep(NEVER)]),
        ("a queued task is written", snap(task(1)), [Generate("T1")]),
        ("a revision is written", snap(REVISION), [Generate("T1")]),
        ("a repair is written", snap(task(1, S.GENERATING)), [Generate("T1")]),
        ("a check runs", snap(task(1, S.CHECKING)), [RunChecks("T1")]),
        ("a stale task starts anew", snap(task(1, S.STALE)), [Renew("T1")]),
        ("an approval lands", snap(task(1, S.APPROVED, landing_due=True)), [Land("T1")]),
        ("a landing waits until it is due", snap(task(1, S.APPROVED)), [DONE]),
        (
            "the developer does not",
            snap(task(1, S.AWAITING_APPROVAL), for_you=36),
            [Stop("36 wait for you.")],
        ),
        ("a review needs its model", snap(WAITING), [SwapTo(R)]),
        ("a review is made", snap(WAITING, resident=R), [ReviewTask("T1")]),
        ("an orphaned review is made again", snap(task(1, S.REVIEWING), resident=R), [ReviewTask("T1")]),
        ("nothing is loaded: the writer first", snap(task(1), WAITING, resident=None), [SwapTo(G)]),
        ("nothing is loaded and nothing to write", snap(WAITING, resident=None), [SwapTo(R)]),
        (
            "nothing is loaded and the generator is out of reach",
            snap(task(2), WAITING, resident=None, unreachable={G: NOW + 5}),
            [SwapTo(R)],
        ),
        ("the batch is complete: back", snap(REVISION, resident=R), [SwapTo(G)]),
        ("it is not: stay", snap(replace(REVISION, id="T2"), WAITING, resident=R), [ReviewTask("T1")]),
        ("both answer", snap(task(2), WAITING, both_resident=True), [Generate("T2"), ReviewTask("T1")]),
        ("the reviewer's own waits for it", snap(task(1, writer=R), task(2)), [Generate("T2")]),
        ("the reviewer's own task is a reason to swap", snap(task(1, writer=R)), [SwapTo(R)]),
        (
            "the reviewer writes before it reads",
            snap(task(2, writer=R), WAITING, resident=R, capacity={R: 1}),
            [Generate("T2")],
        ),
        (
            "a last review in the cloud",
            snap(task(1, S.FINAL_REVIEW), final_enabled=True, resident=None),
            [FinalReview("T1")],
        ),
        ("a last review that is off", snap(task(1, S.FINAL_REVIEW)), [NO_FINAL]),
        (
            "land and renew while the GPU changes hands, but ask no model",
            snap(
                *(task(1, S.APPROVED, landing_due=True), task(2, S.STALE), task(3, S.CHECKING), task(4)),
                task(5, S.AWAITING_REVIEW),
                resident=None,
                swapping_to=R,
            ),
            [Land("T1"), Renew("T2"), RunChecks("T3")],
        ),
        ("what is out of reach is waited for", snap(task(1), unreachable={G: NOW + 12}), [Sleep(NOW + 12)]),
        ("what was given up is not", snap(task(1), unreachable={G: NEVER}), [GIVEN_UP]),
        ("by one that stays, it is", snap(task(1), unreachable={G: NEVER}, until=""), [Sleep(NEVER)]),
        ("what nobody needs is not", snap(unreachable={G: NOW + 50}), [DONE]),
        ("no swap could bring it back", snap(WAITING, swaps_left=0, unreachable={R: NOW + 50}), [NO_SWAP]),
        (
            "a revision is no reason to swap back",
            snap(REVISION, resident=R, until="reviewed", unreachable={G: NOW + 50}),
            [REVIEWED],
        ),
        (
            "until reviewed, not for a revision alone",
            snap(REVISION, resident=R, until="reviewed"),
            [REVIEWED],
        ),
        ("but with a new task", snap(REVISION, task(2), resident=R, until="reviewed"), [SwapTo(G)]),
        ("and where the generator is loaded", snap(REVISION, until="reviewed"), [Generate("T1")]),
        (
            "reviews of a reviewer that was given up do not keep the generator away",
            snap(WAITING, task(2), resident=R, unreachable={R: NEVER}),
            [SwapTo(G)],
        ),
        (
            "a conductor that stays outlives its swaps while nothing needs one",
            snap(task(1, S.AWAITING_APPROVAL), swaps_left=0, until=""),
            [Sleep(NEVER)],
        ),
        (
            "a sleep ends when a check stops holding",
            snap(WAITING, task(7, S.CHECKING, since=NOW - 3), busy="T7"),
            [Sleep(NOW + HOLD_SECONDS - 3)],
        ),
    ],
)
def test_one_thing_leads_to_another(why: str, snapshot: SchedulerSnapshot, expected: list[Any]) -> None:
    assert next_actions(snapshot, NOW) == tuple(expected), why


@pytest.mark.parametrize("state", list(TaskState))
def test_a_task_in_somebodys_hands_is_never_named(state: TaskState) -> None:
    for resident in (None, G, R):
        snapshot = snap(task(1, state, landing_due=True), busy="T1", resident=resident, final_enabled=True)
        named = [action for action in next_actions(snapshot, NOW) if hasattr(action, "task_id")]
        assert named == []


def test_tasks_of_one_project_are_written_together_and_no_other_project_starves() -> None:
    """Project 1 always has a task in work and gets new ones without end; the old task of project 2 has its turn."""
    tasks = {1: task(1), 2: task(2, project_id=2)}
    for number in range(3, 300):
        tasks[number] = task(number)
        (action,) = next_actions(snap(*tasks.values(), busy="T1", capacity={G: 2}), NOW)
        assert isinstance(action, Generate)
        if action.task_id == "T2":
            break
        del tasks[int(action.task_id[1:])]
    assert number == 3 + MAY_OVERTAKE - 1

    beside = snap(task(1), task(2, project_id=2), task(3), busy="T1", capacity={G: 2})
    assert next_actions(beside, NOW) == (Generate("T3"),)
    late = task(2 + MAY_OVERTAKE + 1)
    waits = snap(task(1), task(2, project_id=2), late, busy="T1", capacity={G: 2})
    assert next_actions(waits, NOW) == (Generate("T2"),)


def test_priority_first_then_what_was_started_then_the_order_of_arrival() -> None:
    snapshot = snap(
        task(1),
        task(2, S.REVISING, round=1),
        task(3, priority=5),
        task(4, S.GENERATING),
        task(5, S.REVISING, round=1, priority=5),
    )
    assert next_actions(snapshot, NOW) == tuple(Generate(f"T{n}") for n in (4, 5, 3, 2, 1))


def test_requests_in_flight_and_stages_that_will_ask_both_take_room() -> None:
    tasks = [task(n) for n in range(1, 6)]
    assert next_actions(snap(*tasks, capacity={G: 3}, in_flight={G: 2}), NOW) == (Generate("T1"),)
    picked = snap(*tasks, capacity={G: 3}, busy="T1 T2")
    assert next_actions(picked, NOW) == (Generate("T3"),)
    full = next_actions(snap(*tasks, capacity={G: 3}, in_flight={G: 3}), NOW)
    assert full == (Sleep(NEVER),)


def test_reviews_of_one_project_follow_each_other() -> None:
    snapshot = snap(
        task(1, S.AWAITING_REVIEW, project_id=2),
        task(2, S.AWAITING_REVIEW),
        task(3, S.AWAITING_REVIEW, project_id=2),
        task(4, S.AWAITING_REVIEW, priority=1, project_id=3),
        resident=R,
        capacity={R: 3},
    )
    assert next_actions(snapshot, NOW) == (ReviewTask("T4"), ReviewTask("T2"), ReviewTask("T1"))


def test_within_a_batch_the_least_certain_are_read_first_project_by_project() -> None:
    snapshot = snap(
        task(1, S.AWAITING_REVIEW, project_id=1, doubt=0.2),
        task(2, S.AWAITING_REVIEW, project_id=2, doubt=0.1),
        task(3, S.AWAITING_REVIEW, project_id=2, doubt=0.9),
        task(4, S.AWAITING_REVIEW, priority=1, project_id=3),
        resident=R,
        capacity={R: 4},
    )
    order = [action.task_id for action in next_actions(snapshot, NOW) if isinstance(action, ReviewTask)]
    assert order == ["T4", "T3", "T2", "T1"]


def test_priority_and_doubt_shorten_the_longest_wait() -> None:
    known = snap(doubt=Doubt(bits=0.5, above=2.0))
    urgent = [longest_wait(known, task(1, priority=priority)) for priority in (-1, 0, 1, 2, 9)]
    assert urgent == [1800, 1800, 450, 112.5, 112.5]
    sure, unsure = task(1, doubt=0.1), task(1, doubt=0.9)
    assert [longest_wait(known, one) for one in (sure, unsure)] == [1800, 900]
    assert [longest_wait(snap(), one) for one in (sure, unsure)] == [1800, 1800]


def test_only_so_many_checks_at_once() -> None:
    tasks = [task(n, S.CHECKING) for n in range(10)]
    snapshot = snap(*tasks, busy="T0")
    assert len(next_actions(snapshot, NOW)) == CHECKS_AT_ONCE - 1


STAYS = {"until": "", "batch": BatchRules(target=3, max_wait=1800.0, quiet=180.0)}


def waiting(count: int, since: float = NOW - 1) -> list[TaskView]:
    return [task(100 + n, S.AWAITING_REVIEW, since=since) for n in range(count)]


@pytest.mark.parametrize(
    ("why", "snapshot", "swap"),
    [
        ("below the target", snap(*waiting(2), task(1), **STAYS), False),
        ("at the target", snap(*waiting(3), task(1), **STAYS), True),
        ("at the target, with nothing left to write", snap(*waiting(3), **STAYS), True),
        ("at the longest wait, with nothing left to write", snap(*waiting(1, NOW - 1800), **STAYS), True),
        ("at the target, in a session that ends", snap(*waiting(99), task(1)), False),
        ("just before the longest wait", snap(*waiting(1, NOW - 1799), task(1), **STAYS), False),
        ("at the longest wait", snap(*waiting(1, NOW - 1800), task(1), **STAYS), True),
        ("asked for", snap(*waiting(1), task(1), hurry=True, **STAYS), True),
        ("asked for, in a session that ends", snap(*waiting(1), task(1), hurry=True), True),
        ("escalated", snap(*waiting(1), task(2, S.AWAITING_REVIEW, escalated=True), task(1), **STAYS), True),
        ("so in a session that ends", snap(task(2, S.AWAITING_REVIEW, escalated=True), task(1)), True),
        ("asked for, and nothing to review", snap(task(1), hurry=True, **STAYS), False),
        (
            "urgent, at its longest wait",
            snap(task(2, S.AWAITING_REVIEW, since=NOW - 450, priority=1), task(1), **STAYS),
            True,
        ),
        ("nothing left to write", snap(*waiting(1), until=""), True),
        ("nothing left to write, and quiet is waited for", snap(*waiting(1), **STAYS), False),
        ("quiet for a while", snap(*waiting(1), **{**STAYS, "last_arrival": NOW - 180}), True),
        ("nothing left to write, in a session that ends", snap(*waiting(1)), True),
        ("no swap is left", snap(*waiting(3), task(1), swaps_left=0, **STAYS), False),
        ("the reviewer is out of reach", snap(*waiting(3), unreachable={R: NOW + 1}), False),
        ("the reviewer may be tried again", snap(*waiting(3), unreachable={R: NOW}), True),
        ("the generator was given up", snap(*waiting(1), task(1), unreachable={G: NEVER}), True),
        ("the generator may come back", snap(*waiting(1), task(1), unreachable={G: NOW + 1}), False),
    ],
)
def test_when_the_reviewer_is_due(why: str, snapshot: SchedulerSnapshot, swap: bool) -> None:
    assert (SwapTo(R) in next_actions(snapshot, NOW)) is swap, why


def test_once_a_swap_is_due_only_repairs_are_started_and_what_flies_comes_home() -> None:
    writing = task(7, S.GENERATING)
    due = snap(*waiting(3), task(1), writing, busy="T7", in_flight={G: 1}, **STAYS)
    assert next_actions(due, NOW) == (Sleep(due.last_arrival + due.batch.quiet),)
    broken = snap(*waiting(3), task(1), writing, **STAYS)
    assert next_actions(broken, NOW) == (Generate("T7"),)
    home = snap(*waiting(3), task(1), **STAYS)
    assert next_actions(home, NOW) == (SwapTo(R),)


@pytest.mark.parametrize("hurry", [True, False])
def test_a_check_holds_a_swap_for_a_stated_time_and_no_longer(hurry: bool) -> None:
    for resident, other, rest in ((G, R, WAITING), (R, G, task(1))):
        young = task(7, S.CHECKING, since=NOW)
        snapshot = snap(rest, young, busy="T7", resident=resident, hurry=hurry)
        held = next_actions(snapshot, NOW)
        assert SwapTo(other) not in held
        late = next_actions(snapshot, NOW + HOLD_SECONDS)
        assert late == (SwapTo(other),)
        if resident is R:
            assert held == (Sleep(NOW + HOLD_SECONDS),)


def test_tests_of_findings_hold_a_swap_to_the_reviewer_only() -> None:
    """They need no model, and may end in a revision, never in a review."""
    proving = task(7, S.CHECKING, since=NOW, proving=True)
    back = snap(task(1), proving, busy="T7", resident=R)
    assert next_actions(back, NOW) == (SwapTo(G),)
    on = snap(WAITING, proving, busy="T7", resident=G)
    assert SwapTo(R) not in next_actions(on, NOW)


def test_a_requested_role_is_loaded_when_nothing_is_running() -> None:
    writing = task(7, S.GENERATING)
    busy = snap(writing, task(1), busy="T7", in_flight={G: 1}, wanted=R, **STAYS)
    assert next_actions(busy, NOW) == (Sleep(NEVER),)  # and nothing new is begun
    assert next_actions(snap(task(1), wanted=R, **STAYS), NOW) == (SwapTo(R),)
    assert next_actions(snap(task(1), wanted=G, **STAYS), NOW) == (Generate("T1"),)
    assert next_actions(snap(wanted=R, swaps_left=0, **STAYS), NOW) == (Sleep(NEVER),)


@pytest.mark.parametrize(("lost", "other"), [(G, R), (R, G)])
def test_a_role_whose_server_died_comes_back_before_the_other_one(lost: Role, other: Role) -> None:
    both = (WAITING, task(2))
    dead = {"resident": None, "lost": lost}
    assert next_actions(snap(*both, **dead), NOW) == (SwapTo(lost),)
    # While it may not be tried yet the other one is not loaded in its place ...
    early = snap(*both, unreachable={lost: NOW + 4}, **dead)
    assert next_actions(early, NOW) == (Sleep(NOW + 4),)
    assert next_actions(early, NOW + 4) == (SwapTo(lost),)
    # ... but once it is given up, or has nothing to do, the other one is.
    assert next_actions(snap(*both, unreachable={lost: NEVER}, **dead), NOW) == (SwapTo(other),)
    rest = task(2) if lost is R else WAITING
    assert next_actions(snap(rest, **dead), NOW) == (SwapTo(other),)


def test_a_sleep_ends_when_it_has_been_quiet_or_the_longest_wait_is_over() -> None:
    quiet = snap(*waiting(1), **{**STAYS, "last_arrival": NOW - 150})
    assert next_actions(quiet, NOW) == (Sleep(NOW + 30),)
    oldest = snap(*waiting(1, NOW - 1790), task(1, S.GENERATING), busy="T1", in_flight={G: 1}, **STAYS)
    assert next_actions(oldest, NOW) == (Sleep(NOW + 10),)


@pytest.mark.parametrize("until", ["idle", "reviewed", ""])
def test_without_a_swap_left_the_session_does_what_it_can_and_ends(until: str) -> None:
    working = snap(WAITING, task(2), swaps_left=0, until=until)
    assert next_actions(working, NOW) == (Generate("T2"),)
    done = snap(WAITING, swaps_left=0, until=until)
    assert next_actions(done, NOW) == (NO_SWAP,)


A = {"files": frozenset({"a.py", "b.py"})}
B = {"files": frozenset({"b.py"})}


@pytest.mark.parametrize(
    ("why", "earlier", "busy", "may_start"),
    [
        ("being written", task(1, S.GENERATING, **A), True, False),
        ("just picked", task(1, S.QUEUED, **A), True, False),
        ("in a young check", task(1, S.CHECKING, **A), True, False),
        ("in an old check", task(1, S.CHECKING, since=NOW - FILES_HELD_SECONDS, **A), True, True),
        ("written, awaiting its review", task(1, S.AWAITING_REVIEW, **A), False, True),
        ("awaiting the developer", task(1, S.AWAITING_APPROVAL, **A), False, True),
        ("in another project", task(1, S.GENERATING, project_id=2, **A), True, True),
        ("naming other files", task(1, S.GENERATING, files=frozenset({"c.py"})), True, True),
        ("naming no file", task(1, S.GENERATING), True, True),
        ("a repair that waits for the other model", task(1, S.GENERATING, writer=R, **A), False, True),
    ],
)
def test_tasks_whose_files_meet_are_written_one_after_the_other(
    why: str, earlier: TaskView, busy: bool, may_start: bool
) -> None:
    snapshot = snap(earlier, task(2, **B), busy="T1" if busy else "")
    assert (Generate("T2") in next_actions(snapshot, NOW)) is may_start, why


def test_of_two_that_meet_only_the_first_is_started_and_the_next_one_that_does_not_meet() -> None:
    snapshot = snap(task(1, **A), task(2, **B), task(3))
    assert next_actions(snapshot, NOW) == (Generate("T1"), Generate("T3"))


def test_a_task_that_is_held_back_keeps_the_generator_loaded() -> None:
    snapshot = snap(WAITING, task(2, S.CHECKING, **A), task(3, **B), busy="T2")
    assert SwapTo(R) not in next_actions(snapshot, NOW)


def test_what_was_escalated_is_read_first_also_by_a_final_model_that_is_off() -> None:
    tasks = (task(1, S.AWAITING_REVIEW, priority=2), task(2, S.AWAITING_REVIEW, escalated=True))
    asked = next_actions(snap(*tasks, resident=R, capacity={R: 1}), NOW)
    assert asked == (ReviewTask("T2"),)
    tasks = (task(1, S.FINAL_REVIEW), task(2, S.FINAL_REVIEW, escalated=True))
    assert FinalReview("T2") in (sent := next_actions(snap(*tasks), NOW)) and FinalReview("T1") not in sent


def test_variants_are_written_together_and_a_written_one_waits_no_longer_than_the_others_can_come() -> None:
    same = [task(n, group="T1", **B) for n in (1, 2)]
    assert next_actions(snap(*same, task(3, **B)), NOW) == (Generate("T1"), Generate("T2"))
    written, queued = task(1, S.AWAITING_REVIEW, group="T1"), task(2, group="T1")
    other = snap(written, queued, task(3, S.AWAITING_REVIEW), resident=R)
    assert next_actions(other, NOW) == (ReviewTask("T3"),)
    assert next_actions(snap(written, queued, resident=R), NOW) == (SwapTo(G),)
    gone: tuple[dict[str, Any], ...] = ({"unreachable": {G: NEVER}}, {"swaps_left": 0})
    for never in gone:
        assert next_actions(snap(written, queued, resident=R, **never), NOW) == (ReviewTask("T1"),)
