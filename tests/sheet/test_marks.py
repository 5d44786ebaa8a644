"""Marks: each fact once, the strictest first; what a batch approval covers; which proposals overlap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from navigator.model.models import AppliedEdit, CheckResult, PolicyItem, Proposal, Review
from navigator.model.states import CheckOutcome, PolicyAction, Role, Rung, TaskState, Verdict
from navigator.sheet.marks import Facts, Kind, head, labels, left_out, marks, overlapping, to_confirm
from navigator.sheet.waiting import Waiting, row_head, what_to_do
from navigator.store.reads.cards import Card

APPROVED = Facts("P1", Verdict.APPROVE, stated=Verdict.APPROVE)
CONFIRM = PolicyItem(rule="lockfile", path="uv.lock", action=PolicyAction.CONFIRM)


def proposal(**changes: Any) -> Proposal:
    values: dict[str, Any] = {
        "id": "P1",
        "task_id": "T1",
        "project_id": 1,
        "project": "thing",
        "attempt": 0,
        "round": 0,
        "base_commit": "b",
        "tree": "t",
        "seen": True,
        "review": Review(verdict=Verdict.APPROVE),
    }
    return Proposal(**values | changes)


def test_overlaps_are_mutual_and_within_one_project() -> None:
    found = overlapping(
        [
            (1, "P1", "T1", "", ("a", "b")),
            (1, "P2", "T2", "", ("b",)),
            (1, "P3", "T3", "", ("c",)),
            (2, "P4", "T4", "", ("a",)),
        ]
    )
    assert found == {"P1": ("P2",), "P2": ("P1",)}


def test_variants_and_rounds_of_one_task_do_not_overlap() -> None:
    places = [(1, "P1", "T1", "T1", ("a",)), (1, "P2", "T2", "T1", ("a",)), (1, "P3", "T2", "", ("a",))]
    assert overlapping(places) == {"P1": ("P3",), "P3": ("P1",)}


def said_by_tests(outcome: CheckOutcome, before: CheckOutcome | None = None) -> tuple[CheckResult, ...]:
    return (CheckResult(name="tests", outcome=outcome, before=before),)


UNTESTED, REVISE = CheckOutcome.UNTESTED, Review(verdict=Verdict.REVISE)
OVERRULED = Review(verdict=Verdict.APPROVE, stated_verdict=Verdict.REVISE)
FINAL = Review(role=Role.FINAL, verdict=Verdict.REVISE)


TOUCHED = (AppliedEdit(path="auth/session.py", rung=Rung.EXACT),)


@pytest.mark.parametrize(
    ("changes", "word", "kind", "confirm"),
    [
        ({}, "APPROVE", None, ""),
        ({"review": None}, "UNREVIEWED", Kind.UNREVIEWED, "unreviewed:review"),
        ({"review": REVISE}, "REVISE", Kind.REVISE, ""),
        (
            {"review": Review(verdict=Verdict.UNREVIEWED)},
            "UNREVIEWED",
            Kind.UNREVIEWED,
            "unreviewed:review",
        ),
        ({"review": OVERRULED}, "said REVISE", Kind.OVERRULED, "overruled:review"),
        ({"final_review": FINAL}, "final REVISE", Kind.FINAL, "final:review"),
        ({"final_review": FINAL, "review": REVISE}, "REVISE", Kind.REVISE, ""),
        ({"first_review": REVISE}, "APPROVE", Kind.FIRST, ""),
        ({"checks": said_by_tests(CheckOutcome.FAILED)}, "CHECKS", Kind.FAILED, "failed:tests"),
        ({"checks": said_by_tests(UNTESTED, CheckOutcome.PASSED)}, "APPROVE", Kind.LOST_TESTS, ""),
        ({"checks": said_by_tests(UNTESTED)}, "APPROVE", None, ""),
        ({"checks": said_by_tests(CheckOutcome.FAILED_BEFORE)}, "APPROVE", None, ""),
        ({"policy": (CONFIRM,)}, "APPROVE", Kind.CONFIRM, "lockfile:uv.lock"),
        (
            {"review": Review(verdict=Verdict.APPROVE, self_review=True)},
            "APPROVE",
            Kind.SELF,
            "",
        ),
        ({"way": "existing"}, "APPROVE", Kind.EXISTING, ""),
        ({"edits": TOUCHED, "careful": ("auth/**",)}, "APPROVE", Kind.CAREFUL, "careful:paths"),
        ({"edits": TOUCHED, "careful": ("auth/*.sql", "src/**")}, "APPROVE", None, ""),
        ({"parent": "P7", "review": None}, "PART", Kind.PART, ""),
        ({"seen": False}, "APPROVE", Kind.UNSEEN, ""),
        ({"own_review": Review(role=Role.GENERATOR, verdict=Verdict.REVISE)}, "APPROVE", None, ""),
    ],
)
def test_the_first_word_what_a_batch_leaves_out_and_what_is_confirmed(
    changes: dict[str, Any], word: str, kind: Kind | None, confirm: str
) -> None:
    of = Facts.of(proposal(**changes))
    mark = left_out(of)
    assert (head(of).word, mark.kind if mark else None) == (word, kind)
    assert [one.key for one in to_confirm(of)] == ([confirm] if confirm else [])
    assert left_out(of, {confirm, f"P1:{confirm}"} if confirm else ()) is None or not confirm


def test_a_row_and_a_proposal_give_the_same_marks() -> None:
    shown = proposal(
        review=OVERRULED,
        final_review=FINAL,
        first_review=REVISE,
        checks=said_by_tests(CheckOutcome.FAILED),
        policy=(CONFIRM,),
        edits=TOUCHED,
        careful=("auth/**",),
        seen=False,
    )
    card = replace(
        CARD,
        verdict=Verdict.APPROVE,
        stated=Verdict.REVISE,
        final=Verdict.REVISE,
        first=Verdict.REVISE,
        failed=("tests",),
        tests="failed",
        confirm=(("lockfile", "uv.lock", ""),),
        paths=("auth/session.py",),
        careful=("auth/**",),
    )
    said = marks(Facts.of(shown, overlaps=("P2",), moved=True))
    assert said == marks(Facts.of_card(card, ("P2",), moved=True))
    assert [mark.kind for mark in said] == [
        Kind.FAILED,
        Kind.FINAL,
        Kind.OVERRULED,
        Kind.FIRST,
        Kind.CAREFUL,
        Kind.CONFIRM,
        Kind.OVERLAP,
        Kind.MOVED,
        Kind.UNSEEN,
    ]


CARD = Card(
    task="T1",
    project_id=1,
    project="thing",
    title="Retry",
    kind="implement",
    complexity="medium",
    priority=0,
    state=TaskState.AWAITING_APPROVAL,
    attempt=0,
    round=0,
    since="",
    created="",
    reason="",
    report=False,
    proposal="P1",
    open=True,
)


def test_a_row_counts_what_is_to_confirm_and_has_room_for_less() -> None:
    of = replace(
        APPROVED,
        confirm=(("build", "Makefile", ""), ("lockfile", "uv.lock", "")),
        overlaps=("P2", "P3"),
        self_review=True,
    )
    assert [words for words, _ in labels(of)] == ["2 to confirm", "overlaps P2 +1", "self-reviewed"]
    assert [words for words, _ in labels(of, short=True)] == ["2 to confirm", "overlaps P2 +1", "self"]


def test_many_careful_paths_are_one_item() -> None:
    of = replace(APPROVED, careful=("a", "b", "c", "d", "e"))
    (mark,) = marks(of)
    assert mark.words == "careful: it touches a, b, c and 2 more; never in a batch"
    assert labels(of) == [("careful", "warn")]


@pytest.mark.parametrize(
    ("changes", "word", "to_do"),
    [
        ({}, "UNREVIEWED", "navigator diff P1"),
        (
            {"state": TaskState.APPROVED, "landing": "refused", "open": False},
            "NOT LANDED",
            "navigator undo P1",
        ),
        ({"state": TaskState.STALE, "open": False}, "STALE", "navigator run"),
        ({"state": TaskState.FAILED, "proposal": "", "open": False}, "FAILED", "navigator task retry T1"),
        ({"proposal": "", "open": False}, "NO CHANGE", "navigator task done T1"),
        ({"proposal": "", "open": False, "report_length": 9}, "REPORT", "navigator task show T1"),
        ({"proposal": "", "open": False, "suggestions": 2}, "CHOOSE 2", "accept or dismiss"),
        ({"change": "main..topic"}, "UNREVIEWED", "navigator fix P1"),
    ],
)
def test_everything_that_waits_says_what_to_do(changes: dict[str, Any], word: str, to_do: str) -> None:
    card = replace(CARD, **changes)
    facts = Facts.of_card(card) if card.proposal else None
    assert card.for_you
    assert row_head(card, facts).word == word and to_do in what_to_do(card)
    assert Waiting(card, facts).document()["to_do"] == what_to_do(card)


@pytest.mark.parametrize(
    "changes", [{"landing": "pending"}, {"landing": ""}, {"landing": "landed", "state": TaskState.LANDED}]
)
def test_what_lands_by_itself_waits_for_nobody(changes: dict[str, Any]) -> None:
    assert not replace(CARD, **{"state": TaskState.APPROVED} | changes).for_you
