"""Projects, tasks, proposals, reviews, decisions and landings as they are written and read again."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from navigator.config.paths import StatePaths
from navigator.model.errors import Conflict, UsageError
from navigator.model.models import (
    AppliedEdit,
    CheckResult,
    Decision,
    Landing,
    PolicyItem,
    Proposal,
    Review,
    Task,
    Usage,
)
from navigator.model.states import (
    CheckOutcome,
    Complexity,
    DecisionKind,
    LandingState,
    PolicyAction,
    ProposalState,
    Role,
    Rung,
    TaskKind,
    TaskState,
    Verdict,
)
from navigator.store.errors import IllegalTransition
from navigator.store.schema import DamagedRow
from navigator.store.writes.writer import Store
from tests.records import finding, proposed, reviews_of

APPROVE = Review(
    verdict=Verdict.APPROVE, stated_verdict=Verdict.APPROVE, model="r", prompt_version="review@1"
)
REVISE = APPROVE.model_copy(update={"verdict": Verdict.REVISE})
UNREADABLE = Review(verdict=Verdict.UNREVIEWED, model="r")


# Projects


def test_a_project_is_read_as_it_was_added(store: Store) -> None:
    with store.transaction() as tx:
        made = tx.add_project(
            name="thing",
            path="/src/thing",
            base="main",
            landing="current",
            check="pytest -q",
            check_mounts=["/opt/sdk"],
            include=["a", "b"],
            exclude=["c"],
            conventions="HOUSE.md",
            root_commit="abc",
            source="config",
        )
    assert store.read.project("thing") == made == store.read.project(made.id)
    assert made.include == ("a", "b")


def test_names_and_paths_are_taken_once(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        other = tx.add_project(name="other", path="/src/other")
    for name, path, told in (
        ("thing", "/x", "'thing' exists"),
        ("x", "/src/thing", "already the project thing"),
    ):
        with pytest.raises(UsageError, match=told), store.transaction() as tx:
            tx.add_project(name=name, path=path)
        with pytest.raises(UsageError, match=told), store.transaction() as tx:
            tx.update_project(other.id, name=name, path=path)
    with store.transaction() as tx:
        assert tx.update_project(other.id, name="other", check="make").check == "make"
    with pytest.raises(Conflict), store.transaction() as tx:
        tx.update_project(other.id, landing="sideways")


def test_a_removed_project_keeps_its_past_and_comes_back_with_it(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        tx.remove_project(task.project_id)
    assert store.read.projects() == []
    assert [project.removed for project in store.read.projects(include_removed=True)] == [True]
    assert store.read.task(task.id).project == "thing"
    with pytest.raises(UsageError, match="was removed"), store.transaction() as tx:
        tx.add_task(task.project_id, "more")
    with store.transaction() as tx:
        same = tx.add_project(name="renamed", path="/src/thing", root_commit="r0")
        # Another history at the same path is another project.
        tx.remove_project(same.id)
        new = tx.add_project(name="thing", path="/src/thing", root_commit="r1")
    assert same.id == task.project_id
    assert new.id != same.id


# Tasks


def test_a_task_is_read_as_it_was_added(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        made = tx.add_task(
            task.project_id,
            "Say: ünï\n\x00 done",
            TaskKind.DOCS,
            Complexity.COMPLEX,
            priority=5,
            files=["a.py", "b c.py"],
        )
    assert store.read.task(made.id) == made
    assert (made.kind, made.complexity, made.priority) == (TaskKind.DOCS, Complexity.COMPLEX, 5)
    assert made.files == ("a.py", "b c.py")
    assert made.text == "Say: ünï\n\x00 done"
    with store.transaction() as tx:  # undecodable arguments are stored readable
        tx.set_task_state(task.id, TaskState.CANCELLED, reason="bad byte: \udcff")
    assert store.read.task(task.id).reason == "bad byte: ?"


def test_tasks_are_found_by_state_project_and_order(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        other = tx.add_project(name="other", path="/o")
        second = tx.add_task(other.id, "second")
        third = tx.add_task(task.project_id, "third")
        tx.set_task_state(third.id, TaskState.GENERATING)

    def ids(*args: Any, **kwargs: Any) -> list[str]:
        return [found.id for found in store.read.tasks(*args, **kwargs)]

    assert ids() == [task.id, second.id, third.id]
    assert ids(limit=1) == [task.id]
    assert ids({TaskState.QUEUED}) == [task.id, second.id]
    assert ids(set()) == []
    assert ids(project="thing") == [task.id, third.id]
    assert ids({TaskState.QUEUED}, project=other.id) == [second.id]


def test_a_new_attempt_starts_clean(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        tx.set_task_base(task.id, "b1")
        tx.set_task_state(task.id, TaskState.GENERATING)
        tx.set_task_state(task.id, TaskState.CHECKING)
        tx.add_proposal(proposed())
        tx.set_task_state(task.id, TaskState.AWAITING_REVIEW)
        tx.set_task_state(task.id, TaskState.STALE, reason="moved", round=1, report="r")
        again = tx.new_attempt(task.id, note="mind the base")
    assert (again.state, again.attempt, again.round) == (TaskState.QUEUED, 1, 0)
    assert (again.note, again.reason, again.report, again.base_commit) == ("mind the base", "", "", "")
    assert store.read.proposal("P1").state is ProposalState.SUPERSEDED
    kinds = [(event.kind, event.proposal_id) for event in store.read.events()[-3:]]
    assert kinds == [("proposal_state", "P1"), ("task_state", ""), ("task_attempt", "")]
    with pytest.raises(IllegalTransition), store.transaction() as tx:
        tx.new_attempt(task.id)
    with pytest.raises(Conflict, match="is in attempt 2"), store.transaction() as tx:
        tx.add_proposal(proposed())  # it comes too late
    assert len(store.read.proposals()) == 1


# Proposals

CONTENT: dict[str, Any] = {
    "written_by": Role.REVIEWER,
    "title": "Say: ünï",
    "summary": "two\nlines \x00",
    "edits": (AppliedEdit(path="a.py", rung=Rung.EXACT), AppliedEdit(path="b c.py", rung=Rung.INDENT)),
    "policy": (PolicyItem(rule="ci", path="x.yml", action=PolicyAction.CONFIRM, detail="it runs"),),
    "checks": (CheckResult(name="tests", outcome=CheckOutcome.FAILED, seconds=1.5, detail="one failed"),),
    "overlaps": ("P1", "P22"),
    "added": 10**9,
    "removed": 3,
    "usage": Usage(prompt_tokens=900, completion_tokens=80, cached_tokens=700, seconds=1.5),
}


@pytest.mark.parametrize("role", [Role.REVIEWER, Role.FINAL])
def test_what_goes_in_comes_out(store: Store, task: Task, role: Role) -> None:
    review = APPROVE.model_copy(
        update={"role": role, "findings": (finding(),), "addressed": ({"finding": 1, "why": "w"},), "at": "a"}
    )
    with store.transaction() as tx:
        made = tx.add_proposal(proposed(task_id=task.id, **CONTENT))
        tx.add_review(made.id, review)
        decision = Decision(
            kind=DecisionKind.APPROVE, note="n", confirmed=("rule:path",), tree=made.tree, at="x"
        )
        tx.add_decision(made.id, decision)
        landing = Landing(state=LandingState.PENDING, ref="r", at="y")
        tx.set_landing(made.id, landing)
    found = store.read.proposal(made.id)
    assert {name: getattr(found, name) for name in CONTENT} == CONTENT
    shown = found.final_review if role is Role.FINAL else found.review
    assert shown == review == reviews_of(store.read, made.id)[0]
    assert (found.decision, found.landing) == (decision, landing)
    assert found.created


def test_a_later_round_supersedes_the_open_one(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        first = tx.add_proposal(proposed(tree="t0"))
        second = tx.add_proposal(proposed(tree="t1", round=1))
    assert store.read.proposal(first.id).state is ProposalState.SUPERSEDED
    assert [found.id for found in store.read.proposals({ProposalState.OPEN})] == [second.id]
    assert [found.id for found in store.read.proposals(task_id=first.task_id)] == [first.id, second.id]
    assert store.read.proposals(project="other") == []
    assert len(store.read.proposals(project="thing")) == 2


def test_a_round_written_again_keeps_its_id_until_somebody_read_it(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        first = tx.add_proposal(proposed(tree="t0"))
        again = tx.add_proposal(proposed(tree="t1"))
    assert again.id == first.id
    assert again.tree == "t1"
    assert store.read.events()[-1].data == {"old_tree": "t0", "tree": "t1"}
    with store.transaction() as tx:
        tx.add_review(first.id, APPROVE)
    with pytest.raises(Conflict, match="was read already"), store.transaction() as tx:
        tx.add_proposal(proposed(tree="t2"))
    with pytest.raises(sqlite3.IntegrityError, match="never altered"):
        store._connection.execute("UPDATE proposals SET tree = 't3'")
    assert store.read.proposal(first.id).tree == "t1"


def test_notes_on_a_proposal(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        made = tx.add_proposal(proposed())
        tx.set_checks(made.id, [CheckResult(name="syntax", outcome=CheckOutcome.PASSED)])
        tx.set_batch([made.id], "2026-11-20-a")
        tx.set_proposal_seen(made.id)
        events = len(tx.events)
        # Nothing changes, so nothing is told.
        tx.set_proposal_seen(made.id)
        tx.set_proposal_state(made.id, ProposalState.OPEN)
        assert len(tx.events) == events
    found = store.read.proposal(made.id)
    assert (found.batch, found.seen) == ("2026-11-20-a", True)
    assert found.checks[0].name == "syntax"


# Reviews


def test_the_first_review_of_a_role_counts_and_the_newest_is_shown(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        made = tx.add_proposal(proposed())
        for review in (UNREADABLE, APPROVE, REVISE, REVISE.model_copy(update={"role": Role.FINAL})):
            tx.add_review(made.id, review)
    rows = list(store.read.export_rows("reviews"))
    assert [(row["role"], row["verdict"], row["counted"]) for row in rows] == [
        ("reviewer", "UNREVIEWED", True),
        ("reviewer", "APPROVE", False),
        ("reviewer", "REVISE", False),
        ("final", "REVISE", True),
    ]
    assert [review.verdict for review in reviews_of(store.read, made.id)][1:3] == [
        Verdict.APPROVE,
        Verdict.REVISE,
    ]
    shown = store.read.proposal(made.id)
    assert (shown.review.role, shown.final_review.role) == (Role.REVIEWER, Role.FINAL)
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        store._connection.execute("UPDATE reviews SET counted = 1")


# Decisions and landings


def decided(store: Store, made: Proposal) -> Proposal:
    with store.transaction() as tx:
        tx.add_decision(made.id, Decision(kind=DecisionKind.APPROVE, tree=made.tree))
        return tx.read.proposal(made.id)


def test_a_decision_is_about_the_tree_that_was_seen(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        made = tx.add_proposal(proposed(tree="t0"))
        tx.add_proposal(proposed(tree="t1"))
    with pytest.raises(Conflict, match="it is tree t1 now, not t0"):
        decided(store, made)
    assert store.read.proposal(made.id).state is ProposalState.OPEN
    assert store.read.proposal(made.id).decision is None


def test_a_decision_taken_back_takes_its_landing_along(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        made = tx.add_proposal(proposed())
    assert decided(store, made).state is ProposalState.DECIDED
    with store.transaction() as tx:
        tx.set_landing(made.id, Landing(state=LandingState.REFUSED, reason="dirty"))
        tx.set_proposal_state(made.id, ProposalState.OPEN)
    reopened = store.read.proposal(made.id)
    assert (reopened.decision, reopened.landing) == (None, None)
    with pytest.raises(Conflict, match="has no decision"), store.transaction() as tx:
        tx.set_landing(made.id, Landing(state=LandingState.LANDED))
    assert decided(store, made).decision is not None
    kept = [row["withdrawn"] for row in store.read.export_rows("decisions")]
    assert kept == [True, False]


def test_a_landing_and_its_undoing(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        made = tx.add_proposal(proposed())
        way = (TaskState.GENERATING, TaskState.CHECKING, TaskState.AWAITING_APPROVAL, TaskState.APPROVED)
        for state in way:
            tx.set_task_state(task.id, state)
    decided(store, made)
    assert store.read.pending_landings() == frozenset()
    with store.transaction() as tx:
        tx.set_landing(made.id, Landing(state=LandingState.PENDING))
    assert store.read.pending_landings() == {task.id}
    with store.transaction() as tx:
        entry = tx.journal_open(made.id, {"ref": "refs/heads/x", "old": "", "new": "c1"})
    pending = store.read.journal_pending()
    assert [(row.id, row.proposal_id) for row in pending] == [(entry, made.id)]
    assert pending[0].plan == {"ref": "refs/heads/x", "old": "", "new": "c1"}
    with store.transaction() as tx:
        tx.journal_close(entry, "done")
        tx.set_landing(made.id, Landing(state=LandingState.LANDED, ref="x", commit="c1"))
    assert store.read.proposal(made.id).state is ProposalState.LANDED
    with pytest.raises(IllegalTransition, match="only an open proposal"):
        decided(store, made)
    assert store.read.pending_landings() == frozenset()
    assert store.read.journal_pending() == []
    with pytest.raises(Exception, match="no open journal entry"), store.transaction() as tx:
        tx.journal_close(entry, "done")
    with store.transaction() as tx:
        tx.set_landing(made.id, Landing(state=LandingState.UNDONE, reason="reverted"))
    undone = store.read.proposal(made.id)
    assert undone.state is ProposalState.DECIDED
    assert undone.landing.state is LandingState.UNDONE
    assert len(list(store.read.export_rows("landings"))) == 3


def test_many_proposals_are_read_in_a_few_queries(
    store: Store, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("navigator.store.reads.queries._CHUNK", 10)
    with store.transaction() as tx:
        for _ in range(15):  # more than one chunk of ids
            own = tx.add_task(task.project_id, "x")
            made = tx.add_proposal(proposed(task_id=own.id))
            tx.add_review(made.id, APPROVE)
    statements: list[str] = []
    store._connection.set_trace_callback(statements.append)
    found = store.read.proposals()
    store._connection.set_trace_callback(None)
    assert len(found) == 15
    assert all(proposal.review is not None for proposal in found)
    assert len(statements) < 18


def test_finished_proposals_are_those_that_no_longer_change(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        waiting = tx.add_proposal(proposed())
        over = tx.add_task(task.project_id, "over")
        finished = tx.add_proposal(proposed(task_id=over.id))
        tx.set_task_state(over.id, TaskState.CANCELLED)
    assert [found.id for found in store.read.finished_proposals("9999")] == [finished.id]
    assert store.read.finished_proposals("2000") == []
    assert waiting.id != finished.id


def test_the_counts_of_one_snapshot(store: Store, task: Task, paths: StatePaths) -> None:
    with store.transaction() as tx:
        for state in (TaskState.GENERATING, TaskState.CHECKING, TaskState.AWAITING_APPROVAL):
            tx.set_task_state(task.id, state)
        tx.add_review(tx.add_proposal(proposed()).id, UNREADABLE)
        tx.set_meta("resident", "reviewer")
    counts = store.read.counts()
    assert counts["waiting"] == 1
    assert counts["oldest_wait"] == store.read.task(task.id).updated
    assert counts["tasks"]["awaiting_approval"] == 1
    assert set(counts["tasks"]) == {state.value for state in TaskState}
    assert counts["proposals"]["open"] == 1
    assert counts["unreviewed"] == 1
    assert counts["resident"] == "reviewer"
    assert counts["last_seq"] == store.read.last_seq()


@pytest.mark.parametrize("touched", [[], ["[id].ts"], ["/a b"], ["ä\n.py"], ["b.py", "a.py", "b.py"]])
def test_a_card_has_each_path_of_its_proposal_once(store: Store, task: Task, touched: list[str]) -> None:
    with store.transaction() as tx:
        edits = tuple(AppliedEdit(path=path, rung=Rung.EXACT) for path in touched)
        tx.add_proposal(proposed(task_id=task.id, edits=edits))
    assert [card.paths for card in store.read.cards("")] == [tuple(dict.fromkeys(touched))]


@pytest.mark.parametrize("column", ["edits", "policy", "checks"])
def test_a_damaged_card_is_told_by_its_task(store: Store, task: Task, column: str) -> None:
    """Cards are made column by column: what stops one of them says which row it was."""
    with store.transaction() as tx:
        others = [tx.add_task(task.project_id, text) for text in ("Fix the sum", "Fix the words")]
        made = [tx.add_proposal(proposed(task_id=one.id)) for one in (task, *others)]
    damaged = '{"outcome": "failed"'
    store.read._connection.execute(
        f"UPDATE proposals SET {column} = ? WHERE id = ?", (damaged, int(made[1].id[1:]))
    )
    with pytest.raises(DamagedRow, match=f"^{others[0].id} or its newest proposal cannot be read$"):
        store.read.cards("")
    assert [card.task for card in store.read.cards_of([task.id, others[1].id])] == [task.id, others[1].id]
