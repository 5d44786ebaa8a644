"""Variants and linked tasks as rows of the deck: what stands together, in which order, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from navigator.model.states import TaskState, Verdict
from navigator.sheet.marks import overlapping, places_of
from navigator.sheet.variants import best_first
from navigator.store.reads.cards import Card
from navigator.tui.deck.rows import CARD_ORDERS, flags_of, in_order, work_word

PLAIN = Card(
    task="T1",
    project_id=1,
    project="code",
    title="Do it",
    kind="fix",
    priority=0,
    state=TaskState.AWAITING_APPROVAL,
    round=0,
    since="",
    reason="",
    report=False,
    proposal="P1",
    open=True,
    verdict=Verdict.APPROVE,
    added=5,
    paths=("a.py",),
    tests="passed",
)


def card(number: int, **more: object) -> Card:
    return replace(PLAIN, task=f"T{number}", proposal=f"P{number}", **more)  # type: ignore[arg-type]


GROUP = {"variant_of": "T2", "variants": 3}
ROWS = [
    card(1, added=60),
    card(2, variant=1, verdict=Verdict.REVISE, blocking=1, added=2, **GROUP),
    card(3, added=9),
    card(4, variant=2, added=30, **GROUP),
    card(5, variant=3, added=20, failed=("tests",), tests="failed", **GROUP),
]


@pytest.mark.parametrize("order", CARD_ORDERS)
def test_variants_stay_together_with_the_best_first_in_every_order(order: str) -> None:
    groups = best_first(ROWS)
    rows = [row.task for row in in_order(ROWS, order, groups)]
    start = rows.index("T4")
    # T4 passes and has APPROVE; T2 has a serious finding; the tests of T5 fail.
    assert rows[start : start + 3] == ["T4", "T2", "T5"]
    assert sorted(rows) == [row.task for row in ROWS]


def test_a_filter_that_hides_the_best_shows_the_others() -> None:
    shown = [row for row in ROWS if row.task != "T4"]
    assert [row.task for row in in_order(shown, "effort", best_first(ROWS))] == ["T2", "T5", "T3", "T1"]


def test_variants_of_one_task_do_not_overlap_one_another_but_others_do() -> None:
    met = overlapping(places_of(ROWS[1:]))
    assert met["P3"] == ("P2", "P4", "P5") and met["P4"] == ("P3",)


def test_a_row_says_which_variant_it_is_and_what_a_queued_task_waits_for() -> None:
    assert ("best 2/3", "good") in flags_of(ROWS[3], short=False, best=True)
    assert ("variant 1/3", "muted") in flags_of(ROWS[1], short=False)
    queued = card(6, state=TaskState.QUEUED, waits=(("T1", TaskState.REVIEWING),))
    assert work_word(queued) == ("after T1", "muted")
    stuck = replace(queued, waits=(("T1", TaskState.REVIEWING), ("T3", TaskState.REJECTED)))
    assert work_word(stuck) == ("after T3", "warn")
