"""The read model: looking step by step gives the same picture as reading everything anew."""

from __future__ import annotations

import random

import pytest

from navigator.config.paths import StatePaths
from navigator.model.models import Landing, Task
from navigator.model.states import DecisionKind, LandingState, ProposalState, Role, TaskState, Verdict
from navigator.model.text import short_model
from navigator.store.database import open_reader, open_writer
from navigator.store.writes.writer import Store
from navigator.tui.deck_snapshot import DeckSnapshot
from navigator.tui.feed import Follower
from tests.tui import world


def looked(follower: Follower) -> DeckSnapshot:
    """The picture after everything, bases included, was looked at."""
    last = None
    while (snapshot := follower.look()) is not None:
        last = snapshot
        follower._tips_due = 0.0
    assert last is not None
    return last


def test_a_day_is_sorted_into_its_lists(state: StatePaths) -> None:
    snapshot = looked(Follower(open_reader(state.database)))
    assert len(snapshot.projects) == 24
    assert [card.project for card in snapshot.inbox][:2] == ["billing", "dune-loader"]
    assert snapshot.inbox[-2].report and snapshot.inbox[-1].state is TaskState.FAILED
    assert {card.state for card in snapshot.ended} == {
        TaskState.LANDED,
        TaskState.REJECTED,
        TaskState.CANCELLED,
    }
    assert snapshot.work[0].state is TaskState.GENERATING
    assert snapshot.work[-1].state is TaskState.QUEUED
    loader = next(row for row in snapshot.projects if row.name == "dune-loader")
    assert (loader.queued, loader.work, loader.waiting) == (0, 1, 2)
    revise = next(card for card in snapshot.inbox if card.verdict is Verdict.REVISE)
    assert (revise.blocking, [item[:2] for item in revise.confirm]) == (
        1,
        [("packaging", "pyproject.toml")],
    )
    overlapping = {name for names in snapshot.overlaps.values() for name in names}
    assert len(overlapping) == 2


def test_step_by_step_is_the_same_as_all_at_once(state: StatePaths) -> None:
    dice = random.Random(1)
    writer = open_writer(state.database)
    follower = Follower(open_reader(state.database))
    looked(follower)
    with world.store_clock() as clock:
        clock.ago(minutes=5)
        store = Store(writer)
        for _ in range(40):
            step(store, world.Maker, dice, clock)
            if dice.random() < 0.4:
                follower.look()
    follower._tips_stale = True
    follower._version = -2  # as if something had just been committed
    told = looked(follower)
    writer.close()
    fresh = looked(Follower(open_reader(state.database)))
    assert told == fresh


def step(store: Store, maker: type[world.Maker], dice: random.Random, clock: world.Clock) -> None:
    """One thing that may happen, by the transition table."""
    with store.transaction() as tx:
        make = maker(tx, clock)
        tasks = tx.read.tasks()
        task = dice.choice(tasks[-40:])
        match dice.randrange(8):
            case 0:
                make.task(dice.choice(tx.read.projects()), f"Something new {dice.random()}")
            case 1:
                make.swap(Role.GENERATOR, Role.REVIEWER, dice.random())
            case 2 if len(tx.read.projects()) > 20:
                idle = [row for row in tx.read.projects() if not tx.read.tasks(project=row.name)]
                if idle:
                    tx.remove_project(idle[0].id)
            case _:
                advance(make, task, dice)


def advance(make: world.Maker, task: Task, dice: random.Random) -> None:
    tx = make.tx
    match task.state:
        case TaskState.QUEUED:
            make.to(task, TaskState.GENERATING)
        case TaskState.GENERATING:
            make.to(task, TaskState.CHECKING)
            make.propose(tx.read.task(task.id), round=task.round)
        case TaskState.CHECKING:
            make.to(task, TaskState.AWAITING_REVIEW)
        case TaskState.AWAITING_REVIEW:
            make.to(task, TaskState.REVIEWING)
        case TaskState.REVIEWING:
            proposal = tx.read.proposals({ProposalState.OPEN}, task_id=task.id)[-1]
            make.review(proposal, dice.choice([Verdict.APPROVE, Verdict.REVISE]))
            make.to(task, TaskState.AWAITING_APPROVAL)
        case TaskState.AWAITING_APPROVAL:
            found = tx.read.proposals({ProposalState.OPEN}, task_id=task.id)
            if not found:
                make.to(task, TaskState.DONE)
            elif dice.random() < 0.5:
                make.decide(found[-1], DecisionKind.APPROVE)
            else:
                tx.new_attempt(task.id, note="again, please")
        case TaskState.APPROVED:
            found = tx.read.proposals({ProposalState.DECIDED}, task_id=task.id)
            tx.set_landing(
                found[-1].id, Landing(state=LandingState.LANDED, ref="refs/heads/x", commit="c" * 40)
            )
            make.to(task, TaskState.LANDED)
        case TaskState.REJECTED | TaskState.FAILED | TaskState.CANCELLED:
            tx.new_attempt(task.id)
        case _:
            return


def test_nothing_new_no_picture(state: StatePaths) -> None:
    follower = Follower(open_reader(state.database))
    looked(follower)
    assert follower.look() is None


def test_what_is_no_row_leaves_the_rows_as_they_are(state: StatePaths) -> None:
    follower = Follower(open_reader(state.database))
    before = looked(follower)
    with world.written(state) as make:
        make.swap(Role.GENERATOR, Role.REVIEWER)
    after = looked(follower)
    assert after.seq > before.seq and len(after.swaps) == len(before.swaps) + 1
    assert after.quickest is before.quickest and after.overlaps is before.overlaps


def test_yesterdays_ends_leave_the_picture_at_midnight(
    state: StatePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = Follower(open_reader(state.database))
    assert looked(follower).ended
    monkeypatch.setattr("navigator.tui.clock.midnight", lambda: "2026-11-21T00:00:00.000Z")
    after = looked(follower)
    assert not after.ended
    assert len(after.inbox) == 9


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Qwen/Qwen3.5-35B-A3B-GPTQ-Int4", "35B"),
        ("rehearsal/Qwen3.5-122B-A10B", "122B"),
        ("qwen2.5-coder:7b", "7B"),
        ("Qwen3-0.6B", "0.6B"),
        ("some/model", "model"),
        ("", ""),
    ],
)
def test_models_have_short_names(name: str, short: str) -> None:
    assert short_model(name) == short
