"""Overlaps, and what a batch key may approve."""

from __future__ import annotations

from typing import Any

import pytest

from navigator.cascade.views.inbox import batch_choice, with_overlaps
from navigator.model.models import AppliedEdit, CheckResult, PolicyItem, Proposal, Review
from navigator.model.states import CheckOutcome, PolicyAction, ProposalState, Rung, Verdict


def proposal(number: int, *paths: str, **changes: Any) -> Proposal:
    values: dict[str, Any] = {
        "id": f"P{number}",
        "task_id": f"T{number}",
        "project_id": 1,
        "project": "thing",
        "attempt": 0,
        "round": 0,
        "base_commit": "b",
        "tree": "t",
        "edits": tuple(AppliedEdit(path=path, rung=Rung.EXACT) for path in paths or (f"{number}.py",)),
        "review": Review(verdict=Verdict.APPROVE),
    }
    return Proposal(**values | changes)


def test_overlaps_are_mutual_and_within_one_project() -> None:
    shown = with_overlaps(
        [proposal(1, "a", "b"), proposal(2, "b"), proposal(3, "c"), proposal(4, "a", project_id=2)]
    )
    assert [one.overlaps for one in shown] == [("P2",), ("P1",), (), ()]


def test_only_open_proposals_overlap() -> None:
    shown = with_overlaps([proposal(1, "a"), proposal(2, "a", state=ProposalState.LANDED)])
    assert [one.overlaps for one in shown] == [(), ()]


CONFIRM = PolicyItem(rule="lockfile", path="uv.lock", action=PolicyAction.CONFIRM)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"review": None}, "not reviewed"),
        ({"review": Review(verdict=Verdict.REVISE)}, "REVISE"),
        ({"review": Review(verdict=Verdict.UNREVIEWED)}, "UNREVIEWED"),
        ({"checks": (CheckResult(name="tests", outcome=CheckOutcome.FAILED),)}, "failed check: tests"),
        ({"checks": (CheckResult(name="tests", outcome=CheckOutcome.SKIPPED),)}, ""),
        ({"policy": (CONFIRM,)}, "needs confirmation: lockfile uv.lock"),
    ],
)
def test_what_a_batch_leaves_out(changes: dict[str, Any], reason: str) -> None:
    choice = batch_choice([proposal(1, **changes)])
    assert [why for _, why in choice.left_out] == ([reason] if reason else [])
    assert [one.id for one in choice.taken] == ([] if reason else ["P1"])


def test_a_confirmed_item_is_covered() -> None:
    assert batch_choice([proposal(1, policy=(CONFIRM,))], confirmed=frozenset({"lockfile:uv.lock"})).taken


def test_overlapping_proposals_are_left_out_both() -> None:
    choice = batch_choice([proposal(1, "a"), proposal(2, "a"), proposal(3)])
    assert [one.id for one in choice.taken] == ["P3"]
    assert {one.id: why for one, why in choice.left_out} == {"P1": "overlaps P2", "P2": "overlaps P1"}


def test_no_batch_takes_an_overruled_reviewer_or_a_change_that_stopped_its_own_tests() -> None:
    from navigator.cascade.views.inbox import why_left_out
    from navigator.model.models import CheckResult, Proposal, Review
    from navigator.model.states import CheckOutcome, Role, Verdict

    review = Review(role=Role.REVIEWER, verdict=Verdict.APPROVE, stated_verdict=Verdict.APPROVE, model="m")
    fine = Proposal(
        id="P1",
        task_id="T1",
        project_id=1,
        project="code",
        attempt=1,
        round=0,
        base_commit="a" * 40,
        tree="b" * 40,
        written_by=Role.GENERATOR,
        title="t",
        review=review,
    )
    assert why_left_out(fine) == ""
    overruled = fine.model_copy(
        update={"review": review.model_copy(update={"stated_verdict": Verdict.REVISE})}
    )
    assert why_left_out(overruled) == "needs confirmation: overruled review"
    assert why_left_out(overruled, confirmed=frozenset({"P1:overruled:review"})) == ""
    for before, left_out in ((CheckOutcome.PASSED, True), (CheckOutcome.FAILED, True), (None, False)):
        check = CheckResult(name="tests", outcome=CheckOutcome.UNTESTED, before=before)
        assert bool(why_left_out(fine.model_copy(update={"checks": (check,)}))) is left_out
