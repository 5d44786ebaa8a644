"""Revisions, findings met, repeated reviews and landed commits, counted from rows that the store wrote itself."""

from __future__ import annotations

import pytest

from navigator.figures.outcomes import NOT_LOOKED
from navigator.figures.outcomes import landed as fates
from navigator.model.models import CheckResult, Decision, Finding, Landing, Proposal, Review, Task
from navigator.model.outcomes import Fate, FateCount, FindingTotals, RepeatCount, RevisionCount
from navigator.model.states import (
    CheckOutcome,
    Criterion,
    DecisionKind,
    FindingKind,
    LandingState,
    Severity,
    TaskState,
    Verdict,
)
from navigator.store.writes.writer import Store
from tests.store.conftest import AnswerMaker

PASSED, FAILED = CheckOutcome.PASSED, CheckOutcome.FAILED
APPROVE = Review(verdict=Verdict.APPROVE, model="122B", prompt_version="review@1")
REVISE = APPROVE.model_copy(update={"verdict": Verdict.REVISE})
UNREADABLE = APPROVE.model_copy(update={"verdict": Verdict.UNREVIEWED})


def checks_of(outcome: CheckOutcome) -> tuple[CheckResult, ...]:
    syntax = CheckResult(name="syntax", outcome=PASSED)
    return (syntax, CheckResult(name="tests", outcome=outcome, detail="1 passed"))


def finding(**fields: object) -> Finding:
    values = {
        "kind": FindingKind.WRONG,
        "severity": Severity.MAJOR,
        "criterion": Criterion.CORRECTNESS,
        "message": "m",
        "anchored": True,
    }
    return Finding.model_validate({**values, **fields})


def rounds(store: Store, task: Task, answer: AnswerMaker, *outcomes: CheckOutcome | None) -> list[Proposal]:
    """A task of its own with one round per outcome of its tests; None: they have not run yet."""
    with store.transaction() as tx:
        own = tx.add_task(task.project_id, "one more")
        made = []
        for number, outcome in enumerate(outcomes):
            tree = f"{own.id}{number}".ljust(40, "0")
            made.append(tx.add_proposal(answer(task_id=own.id, round=number, tree=tree)))
            if outcome is not None:
                tx.set_checks(made[-1].id, checks_of(outcome))
        return made


def test_each_revision_is_compared_with_the_round_before_it(
    store: Store, task: Task, answer: AnswerMaker
) -> None:
    rounds(store, task, answer, FAILED, PASSED, FAILED)
    rounds(store, task, answer, FAILED, PASSED)
    rounds(store, task, answer, PASSED, None)
    rounds(store, task, answer, PASSED)
    found = {(row.before, row.after): row.n for row in store.read.revision_counts()}
    assert found == {(FAILED, PASSED): 2, (PASSED, FAILED): 1, (PASSED, None): 1}
    assert store.read.revision_counts("9999") == []


def test_a_repair_of_a_round_replaces_what_its_tests_said(
    store: Store, task: Task, answer: AnswerMaker
) -> None:
    first, second = rounds(store, task, answer, FAILED, FAILED)
    with store.transaction() as tx:
        tx.add_proposal(answer(task_id=second.task_id, round=1, tree="c" * 40))
    assert store.read.revision_counts() == [RevisionCount(before=FAILED, after=None)]
    with store.transaction() as tx:
        tx.set_checks(second.id, checks_of(PASSED))
    assert store.read.revision_counts() == [RevisionCount(before=FAILED, after=PASSED)]
    assert first.task_id == second.task_id


def test_parts_and_new_attempts_are_no_revisions(store: Store, task: Task, answer: AnswerMaker) -> None:
    (first,) = rounds(store, task, answer, FAILED)
    with store.transaction() as tx:
        part = tx.add_task(task.project_id, "a part")
        tx.add_proposal(answer(task_id=part.id, parent=first.id, checks=checks_of(PASSED)))
        tx.set_task_state(first.task_id, TaskState.CANCELLED)
        tx.new_attempt(first.task_id)
        tx.add_proposal(answer(task_id=first.task_id, attempt=1, checks=checks_of(PASSED)))
    assert store.read.revision_counts() == []


def test_findings_are_met_as_the_next_review_says(store: Store, task: Task, answer: AnswerMaker) -> None:
    asked = (
        finding(),
        finding(),
        finding(severity=Severity.MINOR),
        finding(severity=Severity.NIT),
        finding(anchored=False),
        finding(remark=True),
    )
    said = (
        {"finding": 1, "met": True, "why": ""},
        {"finding": 1, "met": True, "why": "in another part"},
        {"finding": 2, "met": True, "why": ""},
        {"finding": 2, "met": False, "why": "in another part"},
    )
    first, second, third = rounds(store, task, answer, PASSED, PASSED, PASSED)
    with store.transaction() as tx:
        tx.add_review(first.id, REVISE.model_copy(update={"findings": asked}))
        tx.add_review(second.id, REVISE.model_copy(update={"addressed": said, "findings": asked[:1]}))
        tx.add_review(third.id, UNREADABLE)
    other, revised = rounds(store, task, answer, PASSED, PASSED)
    with store.transaction() as tx:
        tx.add_review(other.id, REVISE.model_copy(update={"findings": asked}))
        tx.add_review(revised.id, APPROVE.model_copy(update={"addressed": said, "self_review": True}))
    assert store.read.finding_totals() == [
        FindingTotals(round=1, revisions=1, asked=3, met=1, unmet=1),
        FindingTotals(round=2, revisions=1, asked=1, unread=1),
    ]
    assert store.read.finding_totals("9999") == []


def again(store: Store, proposal: Proposal, *reviews: Review) -> None:
    with store.transaction() as tx:
        for review in reviews:
            tx.add_review(proposal.id, review)


def retried(store: Store, first: Proposal, answer: AnswerMaker, **fields: object) -> Proposal:
    with store.transaction() as tx:
        tx.set_task_state(first.task_id, TaskState.CANCELLED)
        tx.new_attempt(first.task_id)
        values = {"task_id": first.task_id, "attempt": first.attempt + 1, "tree": first.tree, **fields}
        return tx.add_proposal(answer(**values))


def test_reviews_of_one_diff_are_paired_once(store: Store, task: Task, answer: AnswerMaker) -> None:
    (read_three_times,) = rounds(store, task, answer, PASSED)
    again(store, read_three_times, REVISE, APPROVE, REVISE)
    (first,) = rounds(store, task, answer, PASSED)
    again(store, first, REVISE)
    again(store, retried(store, first, answer), REVISE)
    (unread,) = rounds(store, task, answer, PASSED)
    again(store, unread, UNREADABLE, APPROVE)
    found = store.read.repeat_counts()
    key = lambda row: (row.first, row.second)  # noqa: E731
    assert sorted(found, key=key) == [
        RepeatCount(first=Verdict.REVISE, second=Verdict.APPROVE),
        RepeatCount(first=Verdict.REVISE, second=Verdict.REVISE),
        RepeatCount(first=Verdict.UNREVIEWED, second=Verdict.APPROVE),
    ]
    assert store.read.repeat_counts("9999") == []


@pytest.mark.parametrize(
    "other",
    [
        {"prompt_version": "review@2"},
        {"model": "35B"},
        {"self_review": True},
    ],
)
def test_reviews_in_other_words_or_by_another_model_are_no_pair(
    store: Store, task: Task, answer: AnswerMaker, other: dict[str, object]
) -> None:
    (first,) = rounds(store, task, answer, PASSED)
    again(store, first, REVISE, APPROVE.model_copy(update=other))
    assert store.read.repeat_counts() == []


def test_another_tree_or_another_base_is_no_pair(store: Store, task: Task, answer: AnswerMaker) -> None:
    (first,) = rounds(store, task, answer, PASSED)
    again(store, first, REVISE)
    second = retried(store, first, answer, tree="d" * 40)
    again(store, second, APPROVE)
    again(store, retried(store, second, answer, base_commit="c" * 40), APPROVE)
    # A revision that changed nothing: it was asked other questions.
    first, second = rounds(store, task, answer, PASSED, PASSED)
    again(store, first, REVISE)
    again(store, second, APPROVE)
    assert store.read.repeat_counts() == []


def landed(store: Store, task: Task, answer: AnswerMaker, review: Review | None, at: str) -> Proposal:
    (made,) = rounds(store, task, answer, PASSED)
    with store.transaction() as tx:
        if review is not None:
            tx.add_review(made.id, review)
        tx.add_decision(made.id, Decision(kind=DecisionKind.APPROVE, tree=made.tree))
        landing = Landing(state=LandingState.LANDED, ref="refs/heads/main", commit=made.tree, at=at)
        return tx.set_landing(made.id, landing)


def test_landed_proposals_are_counted_by_verdict_and_fate(
    store: Store, task: Task, answer: AnswerMaker
) -> None:
    own = APPROVE.model_copy(update={"self_review": True})
    made = [
        landed(store, task, answer, review, f"2026-11-{day}")
        for review, day in ((REVISE, 10), (APPROVE, 11), (APPROVE, 12), (own, 13), (None, 14))
    ]
    with store.transaction() as tx:
        tx.set_landing(made[2].id, Landing(state=LandingState.UNDONE, at="2026-11-20"))
        for proposal, fate, how, reason in (
            (made[0], "reverted", "named", ""),
            (made[1], "kept", "", ""),
            (made[2], "kept", "", ""),
            (made[3], "unknown", "", "not on main"),
        ):
            fields = {"how": how, "reason": reason, "branch": "main", "at": f"look {proposal.id}"}
            known = {"proposal_id": proposal.id, "commit": "c", "fate": fate}
            tx.set_fate(Fate.model_validate(known | fields))
        tx.set_fate(Fate(proposal_id=made[1].id, commit="c", fate="kept", at="a later look"))
    found = sorted(store.read.fate_counts(), key=lambda row: (row.verdict or "", row.fate))
    assert found == [
        FateCount(fate=""),
        FateCount(fate="unknown", reason="not on main", looked=f"look {made[3].id}"),
        FateCount(verdict=Verdict.APPROVE, fate="kept", looked="a later look"),
        FateCount(verdict=Verdict.APPROVE, fate="undone", how="undone", looked=f"look {made[2].id}"),
        FateCount(verdict=Verdict.REVISE, fate="reverted", how="named", looked=f"look {made[0].id}"),
    ]
    assert sum(row.n for row in store.read.fate_counts("2026-11-12")) == 3


def test_what_was_undone_counts_once_the_others_were_looked_at(
    store: Store, task: Task, answer: AnswerMaker
) -> None:
    """Three of 27 were undone: the rate is never 3 of 3."""
    made = [landed(store, task, answer, APPROVE, f"2026-11-{day:02}") for day in range(1, 28)]
    with store.transaction() as tx:
        for one in made[:3]:
            tx.set_landing(one.id, Landing(state=LandingState.UNDONE, at="2026-11-28"))
    before = fates(store.read.fate_counts())
    assert (before.reverted.n, before.how, before.unknown) == (0, {"undone": 3}, {NOT_LOOKED: 27})
    with store.transaction() as tx:
        for one in made[3:]:
            tx.set_fate(Fate(proposal_id=one.id, commit="c", fate="kept", at="2026-11-29"))
    after = fates(store.read.fate_counts())
    assert (after.reverted.k, after.reverted.n, after.unknown) == (3, 27, {})


def test_where_all_was_undone_nothing_is_left_to_look_at(
    store: Store, task: Task, answer: AnswerMaker
) -> None:
    made = landed(store, task, answer, APPROVE, "2026-11-01")
    with store.transaction() as tx:
        tx.set_landing(made.id, Landing(state=LandingState.UNDONE, at="2026-11-28"))
    found = fates(store.read.fate_counts()).reverted
    assert (found.k, found.n) == (1, 1)
