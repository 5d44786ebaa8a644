"""What counts towards the revise rate, and what is shown beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.rates import revise_rate
from navigator.model.records import VerdictCount
from navigator.model.states import Verdict


def counted(verdict: Verdict, n: int = 1, **more: object) -> VerdictCount:
    values: dict[str, object] = {"model": "Qwen3.5-122B", "prompt_version": "review@a91e"}
    stated = None if verdict is Verdict.UNREVIEWED else verdict
    return VerdictCount.model_validate(
        {"verdict": verdict, "stated_verdict": stated, "n": n, **values, **more}
    )


def approve(n: int = 1, **more: object) -> VerdictCount:
    return counted(Verdict.APPROVE, n, **more)


def revise(n: int = 1, **more: object) -> VerdictCount:
    return counted(Verdict.REVISE, n, **more)


def unread(n: int = 1, **more: object) -> VerdictCount:
    return counted(Verdict.UNREVIEWED, n, **more)


def test_a_row_says_all_that_belongs_to_the_figure() -> None:
    tables = revise_rate([revise(12), approve(28), unread(3)])
    (row,) = tables.rows
    assert (row.group, row.n, row.revise, row.approve, row.unreviewed) == ("all", 40, 12, 28, 3)
    assert row.rate == 0.3
    assert (round(row.low, 3), round(row.high, 3)) == (0.181, 0.454)
    assert (row.stated_rate, row.note, row.unit) == (0.3, "", "first-round verdict")
    assert tables.excluded == {}


@pytest.mark.parametrize(("n", "note"), [(29, "anecdotal"), (30, "")])
def test_below_thirty_it_is_an_anecdote(n: int, note: str) -> None:
    unread_do_not_help = unread(10)
    assert revise_rate([approve(n), unread_do_not_help]).rows[0].note == note


def test_self_reviewed_verdicts_are_left_out_and_counted() -> None:
    tables = revise_rate([approve(), revise(4, self_review=True)])
    assert (tables.rows[0].n, tables.rows[0].revise) == (1, 0)
    assert tables.excluded == {"self_review": 4}
    (own,) = revise_rate([approve(), revise(4, self_review=True)], own=True).rows
    assert (own.revise, own.n) == (4, 4)


def test_only_unreadable_answers_make_no_rate() -> None:
    (row,) = revise_rate([unread()]).rows
    assert (row.n, row.unreviewed, row.rate, row.stated_rate) == (0, 1, None, None)
    assert (row.low, row.high) == (0.0, 1.0)


def test_the_models_own_word_is_kept_apart_from_the_derived_verdict() -> None:
    lenient, silent = revise(stated_verdict="APPROVE"), revise(stated_verdict=None)
    (row,) = revise_rate([lenient, silent, revise(), approve()]).rows
    assert row.rate == 0.75
    assert row.stated_rate == pytest.approx(1 / 3)


def test_a_row_that_pools_different_reviewers_says_so() -> None:
    rows = [approve(), approve(prompt_version="review@b000", group="b"), approve(model="other", group="b")]
    (pooled,) = revise_rate(rows, whole=True).rows
    assert (pooled.group, pooled.n, pooled.versions) == ("all", 3, 3)
    assert [(row.group, row.n, row.versions) for row in revise_rate(rows).rows] == [
        ("all", 1, 1),
        ("b", 2, 2),
    ]


ROWS = st.builds(
    counted,
    st.sampled_from(Verdict),
    st.integers(1, 40),
    group=st.sampled_from(("a", "b", "c")),
    self_review=st.booleans(),
)


@given(st.lists(ROWS, max_size=40), st.booleans())
def test_every_verdict_is_counted_once_or_left_out_once(rows: list[VerdictCount], whole: bool) -> None:
    tables = revise_rate(rows, whole=whole)
    counted = sum(row.n + row.unreviewed for row in tables.rows)
    real = sum(row.n for row in rows)
    assert counted + sum(tables.excluded.values()) == real
    for row in tables.rows:
        assert row.n == row.revise + row.approve
        assert row.rate is None or row.low <= row.rate <= row.high
