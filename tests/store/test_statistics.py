"""What the database counts and sums, on rows whose figures can be worked out by reading them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from navigator.figures.cost import CallTotals, call_totals
from navigator.figures.queries import verdict_counts
from navigator.figures.rates import VerdictCount
from navigator.model.models import Proposal, Review, Task, Usage
from navigator.model.states import Role, TaskState, Verdict
from navigator.store.writes import ledger
from navigator.store.writes.writer import Store
from tests.records import proposed

APPROVE = Review(
    verdict=Verdict.APPROVE, stated_verdict=Verdict.APPROVE, model="r", prompt_version="review@1"
)
REVISE = APPROVE.model_copy(update={"verdict": Verdict.REVISE})
UNREADABLE = Review(verdict=Verdict.UNREVIEWED, model="r", prompt_version="review@1")
START = datetime(2026, 11, 20, 10, tzinfo=UTC)


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def another(store: Store, *reviews: Review, **fields: object) -> Proposal:
    """A proposal of a task of its own, with these reviews."""
    with store.transaction() as tx:
        own = tx.add_task(1, "one more")
        made = tx.add_proposal(proposed(task_id=own.id, **fields))
        for review in reviews:
            tx.add_review(made.id, review)
        return tx.read.proposal(made.id)


def test_only_the_first_review_of_a_first_proposal_counts(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        first = tx.add_proposal(proposed())
        tx.add_review(first.id, REVISE.model_copy(update={"self_review": True}))
        tx.add_review(first.id, APPROVE)
        second = tx.add_proposal(proposed(round=1))
        tx.add_review(second.id, APPROVE)
        tx.set_task_state(task.id, TaskState.CANCELLED)
        tx.new_attempt(task.id)
        third = tx.add_proposal(proposed(attempt=1))
        tx.add_review(third.id, APPROVE)
    another(store)
    another(store, REVISE, parent=first.id)
    assert verdict_counts(store.read) == [
        VerdictCount(
            model="r",
            prompt_version="review@1",
            verdict=Verdict.REVISE,
            stated_verdict=Verdict.APPROVE,
            self_review=True,
        )
    ]


GROUPS = {
    "": ("all", "all"),
    "reviewer-prompt": ("review@1", "review@1"),
    "reviewer-model": ("r", "r"),
    "project": ("thing", "thing"),
    "kind": ("implement", "implement"),
    "complexity": ("medium", "medium"),
    "week": ("2026-11-09", "2026-11-16"),
    "way": ("blocks", "looking"),
    "writer-prompt": ("generate@1", "generate@2"),
    "writer-model": ("35B", "80B"),
}


def test_verdicts_are_counted_by_group(store: Store, task: Task) -> None:
    first = {"model": "35B", "prompt_version": "generate@1"}
    for moment in ("2026-11-09T00:00:00.000Z", "2026-11-15T23:59:59.999Z"):
        another(store, APPROVE.model_copy(update={"at": moment}), **first)
    later = REVISE.model_copy(update={"at": "2026-11-16T00:00:00.000Z"})
    another(store, later, model="80B", prompt_version="generate@2", way="looking")
    for by, (two, one) in GROUPS.items():
        found = verdict_counts(store.read, by)
        assert sorted((row.n, row.group) for row in found) == [(1, one), (2, two)], by
        assert sum(row.n for row in verdict_counts(store.read, by, "2026-11-15T00:00:00.000Z")) == 2


def ended(store: Store, second: float, seconds: float, tokens: int = 10, **more: object) -> None:
    """A call that ended at `second` of the day's start and took `seconds`."""
    about = {"role": Role.GENERATOR, "purpose": "generate", "model": "35B", **more}
    outcome = str(about.pop("outcome", "ok"))
    usage = Usage(prompt_tokens=1000, completion_tokens=tokens, cached_tokens=250, seconds=seconds)
    with patch.object(ledger, "utc_now", lambda: at(second)), store.transaction() as tx:
        call = tx.begin_call(**about)  # type: ignore[arg-type]
        tx.end_call(call, outcome=outcome, usage=usage)


def test_calls_that_overlap_are_not_busy_twice(store: Store) -> None:
    for second, seconds in ((10, 10), (10, 10), (30, 5)):
        ended(store, second, seconds)
    (row,) = call_totals(store.read)
    assert (row.calls, row.seconds, row.busy_seconds) == (3, 25, 15)
    for second, seconds in ((105, 2), (115, 5), (120, 20), (130, 15)):  # around others, and in part
        ended(store, second, seconds, model="other")
    assert call_totals(store.read)[1].busy_seconds == 30
    assert [row.calls for row in call_totals(store.read, at(20))] == [1, 4]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), min_size=1, max_size=12))
def test_busy_seconds_are_the_seconds_in_which_any_call_ran(
    store: Store, spans: list[tuple[int, int]]
) -> None:
    with store.transaction() as tx:
        tx._run("DELETE FROM calls")
    for end, length in sorted(spans):
        ended(store, end, length)
    covered = {second for end, length in spans for second in range(end - length, end)}
    assert call_totals(store.read)[0].busy_seconds == len(covered)


def test_roles_and_models_are_summed_apart(store: Store, task: Task) -> None:
    ended(store, 1, 1, outcome="stalled")
    ended(store, 2, 1, 30, purpose="scan")
    ended(store, 3, 1, 40, outcome="refused")
    ended(store, 3, 1, role=Role.REVIEWER, model="122B", purpose="review")
    with store.transaction() as tx:
        tx.begin_call(Role.GENERATOR, task.id, model="35B")  # runs still
    first, second = call_totals(store.read)
    assert first == CallTotals(
        role=Role.GENERATOR,
        model="35B",
        calls=3,
        failed=1,
        prompt_tokens=3000,
        completion_tokens=80,
        cached_tokens=750,
        seconds=3,
        busy_seconds=3,
        newest=at(3),
        batch_calls=1,  # a scan is no part of a batch
        batch_tokens=50,
    )
    assert (second.role, second.batch_calls) == (Role.REVIEWER, 1)
