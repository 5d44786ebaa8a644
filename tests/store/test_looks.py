"""What writers looked at, counted by the database and turned into figures."""

from __future__ import annotations

from navigator.figures.cost import looking
from navigator.model.models import Decision, Task, Usage
from navigator.model.records import Look, LookCount, LookRounds
from navigator.model.states import DecisionKind, LookOutcome, Role
from navigator.store.writes.writer import Store
from tests.store.conftest import AnswerMaker


def looked(store: Store, task: Task, turn: int, *looks: tuple[str, LookOutcome, int]) -> None:
    place = {"task_id": task.id, "attempt": 0, "round": 0}
    with store.transaction() as tx:
        call = tx.begin_call(Role.GENERATOR, **place, purpose="generate", seq=turn)
        tx.end_call(call, answer="LOOK", usage=Usage(prompt_tokens=10, seconds=1.0), model="m")
        tx.add_looks(
            call,
            [
                Look(
                    **place,
                    turn=turn,
                    kind=kind,
                    target=kind,
                    outcome=outcome,
                    paths=("a.py",),
                    tokens=tokens,
                )
                for kind, outcome, tokens in looks
            ],
        )


def test_looks_are_counted_by_kind_and_round_and_are_no_answers(
    store: Store, task: Task, answer: AnswerMaker
) -> None:
    looked(store, task, 1, ("read", LookOutcome.SHOWN, 100), ("search", LookOutcome.NOTHING, 0))
    looked(store, task, 2, ("read", LookOutcome.REPEATED, 0))
    read = store.read
    assert read.last_answer(task.id, 0, 0) is None
    assert [turn.text for turn in read.looks_asked(task.id, 0, role=Role.GENERATOR)] == ["LOOK", "LOOK"]
    assert [(one.turn, one.paths) for one in read.looks(task.id, 0, 0)] == [(1, ("a.py",))] * 2 + [
        (2, ("a.py",))
    ]
    assert read.look_counts() == [
        LookCount(kind="read", outcome=LookOutcome.REPEATED, n=1),
        LookCount(kind="read", outcome=LookOutcome.SHOWN, n=1, tokens=100),
        LookCount(kind="search", outcome=LookOutcome.NOTHING, n=1),
    ]
    assert read.look_rounds() == LookRounds(rounds=1, looks=2, requests=3, tokens=100)
    (total,) = read.call_totals()
    assert (total.calls, total.failed, total.batch_calls) == (2, 0, 0), (
        "a look is no failed call, and no change either"
    )


def test_what_an_accepted_change_takes_is_told_by_way(store: Store, task: Task, answer: AnswerMaker) -> None:
    usage = Usage(prompt_tokens=1000, cached_tokens=600, completion_tokens=50, seconds=4.0)
    with store.transaction() as tx:
        for number, way in enumerate(("looking", "looking", "blocks")):
            own = tx.add_task(task.project_id, f"task {number}")
            made = tx.add_proposal(answer(task_id=own.id, way=way, usage=usage))
            if number == 0:
                tx.add_decision(made.id, Decision(kind=DecisionKind.APPROVE, tree=made.tree))
    found = looking(store.read.look_counts(), store.read.look_rounds(), store.read.way_totals())
    other, real = found.ways
    assert (real.way, real.accepted.k, real.accepted.n) == ("looking", 1, 2)
    assert (real.prompt_tokens, real.completion_tokens, real.seconds, real.cached_share) == (
        2000,
        100,
        8.0,
        0.6,
    )
    assert (other.way, other.prompt_tokens, other.cached_share) == ("blocks", None, 0.6)
