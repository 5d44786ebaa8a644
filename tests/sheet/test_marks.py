"""Marks: each fact once, the strictest first; what a batch approval covers; which proposals overlap."""

from __future__ import annotations

from typing import Any

import pytest

from navigator.model.states import CheckOutcome, TaskState, Verdict
from navigator.sheet.marks import Kind, head, labels, left_out, marks, overlapping, to_confirm
from navigator.sheet.waiting import row_head, waiting_document, what_to_do
from tests.sheet.cards import APPROVED, CARD


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


REVISE = Verdict.REVISE


@pytest.mark.parametrize(
    ("changes", "word", "kind", "confirm"),
    [
        ({}, "APPROVE", None, ""),
        ({"verdict": None}, "UNREVIEWED", Kind.UNREVIEWED, "unreviewed:review"),
        ({"verdict": REVISE}, "REVISE", Kind.REVISE, ""),
        ({"verdict": Verdict.UNREVIEWED}, "UNREVIEWED", Kind.UNREVIEWED, "unreviewed:review"),
        ({"stated": REVISE}, "said REVISE", Kind.OVERRULED, "overruled:review"),
        ({"final": REVISE}, "final REVISE", Kind.FINAL, "final:review"),
        ({"final": REVISE, "verdict": REVISE}, "REVISE", Kind.REVISE, ""),
        ({"first": REVISE}, "APPROVE", Kind.FIRST, ""),
        ({"failed": ("tests",), "tests": CheckOutcome.FAILED}, "CHECKS", Kind.FAILED, "failed:tests"),
        ({"tests": CheckOutcome.UNTESTED, "lost_tests": True}, "APPROVE", Kind.LOST_TESTS, ""),
        ({"tests": CheckOutcome.UNTESTED}, "APPROVE", None, ""),
        ({"tests": CheckOutcome.FAILED_BEFORE}, "APPROVE", None, ""),
        ({"confirm": (("lockfile", "uv.lock", ""),)}, "APPROVE", Kind.CONFIRM, "lockfile:uv.lock"),
        ({"self_review": True}, "APPROVE", Kind.SELF, ""),
        ({"change": "main..topic"}, "APPROVE", Kind.EXISTING, ""),
        ({"careful": ("auth/**",)}, "APPROVE", Kind.CAREFUL, "careful:paths"),
        ({"careful": ("auth/*.sql", "src/**")}, "APPROVE", None, ""),
        ({"hunks": 7, "unread": 2}, "APPROVE", Kind.UNREAD, ""),
        ({"parent": "P7", "verdict": None}, "PART", Kind.PART, ""),
        ({"seen": False}, "APPROVE", Kind.UNSEEN, ""),
    ],
)
def test_the_first_word_what_a_batch_leaves_out_and_what_is_confirmed(
    changes: dict[str, Any], word: str, kind: Kind | None, confirm: str
) -> None:
    of = APPROVED._replace(**{"paths": ("auth/session.py",)} | changes)
    mark = left_out(of)
    assert (head(of).word, mark.kind if mark else None) == (word, kind)
    assert [one.key for one in to_confirm(of)] == ([confirm] if confirm else [])
    assert left_out(of, {confirm, f"P1:{confirm}"} if confirm else ()) is None or not confirm


def test_the_strictest_mark_comes_first() -> None:
    of = APPROVED._replace(
        stated=REVISE,
        final=REVISE,
        first=REVISE,
        failed=("tests",),
        tests=CheckOutcome.FAILED,
        confirm=(("lockfile", "uv.lock", ""),),
        paths=("auth/session.py",),
        careful=("auth/**",),
        overlaps=("P2",),
        moved=True,
        seen=False,
    )
    assert [mark.kind for mark in marks(of)] == [
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


def test_a_row_counts_what_is_to_confirm_and_has_room_for_less() -> None:
    of = APPROVED._replace(
        confirm=(("build", "Makefile", ""), ("lockfile", "uv.lock", "")),
        overlaps=("P2", "P3"),
        self_review=True,
    )
    assert [words for words, _ in labels(of)] == ["2 to confirm", "overlaps P2 +1", "self-reviewed"]
    assert [words for words, _ in labels(of, short=True)] == ["2 to confirm", "overlaps P2 +1", "self"]


def test_many_careful_paths_are_one_item() -> None:
    of = APPROVED._replace(careful=("*",), paths=("a", "b", "c", "d", "e"))
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
        ({"change": "main..topic"}, "UNREVIEWED", "navigator task done T1"),
        ({"change": "main..topic", "verdict": Verdict.REVISE}, "REVISE", "navigator fix P1"),
    ],
)
def test_everything_that_waits_says_what_to_do(changes: dict[str, Any], word: str, to_do: str) -> None:
    card = CARD._replace(**changes)
    assert card.for_you
    assert row_head(card).word == word and to_do in what_to_do(card)
    assert waiting_document(card)["to_do"] == what_to_do(card)


@pytest.mark.parametrize(
    "changes", [{"landing": "pending"}, {"landing": ""}, {"landing": "landed", "state": TaskState.LANDED}]
)
def test_what_lands_by_itself_waits_for_nobody(changes: dict[str, Any]) -> None:
    assert not CARD._replace(**{"state": TaskState.APPROVED} | changes).for_you
