"""What writers looked at, counted by the database and turned into figures."""

from __future__ import annotations

from navigator.figures.cost import call_totals
from navigator.model.models import Task, Usage
from navigator.model.records import Look
from navigator.model.states import LookOutcome, Role
from navigator.store.writes.writer import Store
from tests.store.test_declared import figures, shares


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


def test_looks_are_counted_by_kind_and_round_and_are_no_answers(store: Store, task: Task) -> None:
    looked(store, task, 1, ("read", LookOutcome.SHOWN, 100), ("search", LookOutcome.NOTHING, 0))
    looked(store, task, 2, ("read", LookOutcome.REPEATED, 0))
    read = store.read
    assert read.last_answer(task.id, 0, 0) is None
    assert [turn.text for turn in read.looks_asked(task.id, 0, role=Role.GENERATOR)] == ["LOOK", "LOOK"]
    assert [(one.turn, one.paths) for one in read.looks(task.id, 0)] == [(1, ("a.py",))] * 2 + [
        (2, ("a.py",))
    ]
    found = figures(store, "writing", "looks")
    assert {row["kind"]: shares(row)["shown"] for row in found["rows"]} == {"read": (1, 2), "search": (0, 1)}
    assert found["tokens"] == 100
    (total,) = call_totals(read)
    assert (total.calls, total.failed, total.batch_calls) == (2, 0, 0), (
        "a look is no failed call, and no change either"
    )
