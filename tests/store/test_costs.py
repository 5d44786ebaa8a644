"""Sums of calls, swaps and what came of the work, on rows that the store wrote itself."""

from __future__ import annotations

from navigator.figures.cost import SwapTotals, WorkTotals, Yield, read_costs
from navigator.model.models import Decision, Landing, Review, Task, Usage
from navigator.model.states import DecisionKind, LandingState, Role, Verdict
from navigator.store.writes.writer import Store
from tests.records import proposed, swapped
from tests.store.test_statistics import at

G, R = Role.GENERATOR, Role.REVIEWER


def called(store: Store, role: Role, purpose: str, *, outcome: str = "ok") -> None:
    with store.transaction() as tx:
        call = tx.begin_call(role, purpose=purpose, model="m")
        if outcome != "lost":
            usage = Usage(prompt_tokens=100, completion_tokens=10, cached_tokens=40, seconds=2)
            tx.end_call(call, outcome=outcome, usage=usage)
        else:
            tx.lose_calls()


def test_calls_are_summed_by_role_and_kind_of_work(store: Store) -> None:
    for role, purpose in (
        (G, "generate"),
        (G, "repair-tests"),
        (G, "scan"),
        (G, "review own"),
        (R, "review"),
        (R, "exam"),
        (Role.FINAL, "final"),
    ):
        called(store, role, purpose)
    called(store, G, "generate", outcome="failed")
    called(store, G, "generate", outcome="lost")
    with store.transaction() as tx:
        tx.begin_call(G, purpose="generate", model="m")  # runs still
    found = {(row.role, row.work): row for row in read_costs(store.read).work}
    assert {key: (row.calls, row.lost) for key, row in found.items()} == {
        (G, "write"): (5, 1),
        (G, "review"): (1, 0),
        (R, "review"): (1, 0),
        (R, "exam"): (1, 0),
        (Role.FINAL, "final"): (1, 0),
    }
    assert found[G, "write"].model_copy(update={"busy_seconds": 0.0}) == WorkTotals(
        role=G,
        work="write",
        calls=5,
        lost=1,
        prompt_tokens=400,
        completion_tokens=40,
        cached_tokens=160,
        seconds=8,
    )
    assert read_costs(store.read, "2026") == read_costs(store.read)
    assert read_costs(store.read, "9999").work == []


def test_swaps_are_summed_and_what_others_made_is_not(store: Store) -> None:
    with store.transaction() as tx:
        for second in (0, 100, 300, 600):
            tx.add_swap(swapped(28.0, started=at(second)))
        tx.add_swap(swapped(started=at(500), outcome="failed", seconds=7.0))
        tx.add_swap(swapped(started=at(550), seconds=0.0, made_by="outside"))
    assert read_costs(store.read).swaps == SwapTotals(n=5, seconds=127.0, failed=1, unmeasured=1)
    assert read_costs(store.read, at(300)).swaps.n == 3
    assert read_costs(store.read, "9999").swaps == SwapTotals()


def test_what_was_undone_withdrawn_or_split_is_not_accepted(store: Store, task: Task) -> None:
    def approved(kind: DecisionKind = DecisionKind.APPROVE, **fields: object) -> str:
        with store.transaction() as tx:
            own = tx.add_task(task.project_id, "one more")
            made = tx.add_proposal(proposed(task_id=own.id, created=at(0), **fields))
            tx.add_review(made.id, Review(verdict=Verdict.APPROVE, at=at(1)))
            tx.add_decision(made.id, Decision(kind=kind, tree=made.tree, at=at(2)))
            return made.id

    approved()
    approved(DecisionKind.REJECT)
    withdrawn, undone, split = approved(), approved(), approved()
    approved(parent=split)
    with store.transaction() as tx:
        tx.set_proposal_state(withdrawn, tx.read.proposal("P1").state.OPEN)
        tx.set_landing(undone, Landing(state=LandingState.LANDED, commit="c"))
        tx.set_landing(undone, Landing(state=LandingState.UNDONE))
    assert read_costs(store.read).made == Yield(accepted=2, proposals=5, reviews=6)
    assert read_costs(store.read, at(2)).made == Yield(accepted=2)
    assert read_costs(store.read, "9999").made == Yield()
