"""Whole sessions in a simulated world: they end, nobody starves, and swaps stay few."""

from __future__ import annotations

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from navigator.model.states import LOOP_TASK_STATES, Role, TaskState
from tests.schedule.world import Live, World

SEEDS = st.integers(min_value=0, max_value=2**32)
FILES = ("a.py", "b.py", "c.py")


def crowd(rng: random.Random, count: int, *, first: int = 0, reviewers: float = 0.0) -> list[Live]:
    """Queued tasks over few projects and fewer files, so that many of them meet; a share is for the reviewer to write."""
    return [
        Live(
            id=f"T{number}",
            project=rng.randrange(3),
            order=number,
            priority=rng.choice((0, 0, 0, 1, -1)),
            files=frozenset(rng.sample(FILES, rng.randrange(3))),
            writer=Role.REVIEWER if rng.random() < reviewers else Role.GENERATOR,
            since=1000.0,
        )
        for number in range(first, first + count)
    ]


def world(seed: int, count: int, *, reviewers: float = 0.0) -> World:
    rng = random.Random(seed)
    return World(rng=rng, tasks={live.id: live for live in crowd(rng, count, reviewers=reviewers)})


@given(
    SEEDS,
    st.integers(1, 40),
    st.sampled_from((None, Role.GENERATOR, Role.REVIEWER)),
    st.sampled_from((0.0, 0.2, 0.8, 1.0)),
)
def test_a_session_makes_at_most_two_swaps_a_round_and_one(
    seed: int, count: int, resident: Role | None, reviewers: float
) -> None:
    """Whoever writes: what the reviewer writes is revised in its residency."""
    session = world(seed, count, reviewers=reviewers)
    session.resident = resident
    session.trouble = 10
    session.run()
    extra = 0 if resident is Role.GENERATOR else 1
    assert len(session.swaps) <= 2 * session.largest_round + 1 + extra
    if reviewers == 1.0:  # written, reviewed and revised in one residency, however many rounds
        assert session.swaps == ([] if resident is Role.REVIEWER else [Role.REVIEWER])
    assert all(live.state is TaskState.AWAITING_APPROVAL for live in session.tasks.values())
    assert session.stopped == "Nothing is left to do."


def _wait(count: int) -> str:
    return "1 task waits" if count == 1 else f"{count} tasks wait"


@given(
    SEEDS,
    st.integers(0, 25),
    st.sampled_from(("idle", "reviewed", "")),
    st.sampled_from((None, Role.GENERATOR, Role.REVIEWER)),
    st.booleans(),
    st.booleans(),
)
def test_no_trouble_keeps_a_session_from_ending(
    seed: int, count: int, until: str, resident: Role | None, both: bool, final: bool
) -> None:
    session = world(seed, count, reviewers=0.2)
    rng = session.rng
    session.until, session.resident, session.both, session.final = until, resident, both, final
    session.calm, session.trouble, session.pace = False, 25, 90.0
    session.hurry = rng.random() < 0.3
    session.quiet = rng.choice((0.0, 180.0))
    session.arrivals = crowd(rng, rng.randrange(6), first=100)
    for number in range(200, 203):
        session.tasks[f"T{number}"] = Live(
            id=f"T{number}", project=0, order=number, state=TaskState.APPROVED, landing_due=True
        )
    session.run()
    left = [live for live in session.tasks.values() if live.state in LOOP_TASK_STATES]
    if until == "reviewed":
        assert all(live.round > 0 for live in left), "only revisions, and their repairs, may be left"
    else:
        assert not left
    if both:
        assert not session.swaps
        assert not left


@given(SEEDS, st.integers(1, 15), st.integers(0, 4))
def test_no_more_swaps_are_made_than_were_allowed(seed: int, count: int, allowed: int) -> None:
    session = world(seed, count)
    session.swaps_left = allowed
    session.until = session.rng.choice(("idle", "reviewed", ""))
    session.run()
    assert len(session.swaps) <= allowed
    assert session.stopped or all(
        live.state is TaskState.AWAITING_APPROVAL for live in session.tasks.values()
    )


@given(SEEDS, st.integers(1, 15), st.sampled_from(tuple(Role)))
def test_a_role_that_was_given_up_does_not_keep_the_others_from_their_work(
    seed: int, count: int, lost: Role
) -> None:
    session = world(seed, count)
    session.unreachable[lost] = math.inf
    session.run()
    states = {live.state for live in session.tasks.values()}
    if lost is Role.GENERATOR:
        assert states == {TaskState.QUEUED}
        assert session.stopped == f"The generator cannot be used; {_wait(count)} for it."
    elif lost is Role.REVIEWER:
        assert states <= {TaskState.AWAITING_REVIEW, TaskState.AWAITING_APPROVAL}
    else:
        assert states == {TaskState.AWAITING_APPROVAL}


@given(SEEDS, st.integers(1, 15))
def test_a_session_until_reviewed_swaps_once_and_leaves_only_revisions(seed: int, count: int) -> None:
    session = world(seed, count)
    session.until = "reviewed"
    session.run()
    assert session.swaps in ([], [Role.REVIEWER])
    assert {live.state for live in session.tasks.values()} <= {
        TaskState.REVISING,
        TaskState.AWAITING_APPROVAL,
    }
