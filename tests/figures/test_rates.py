"""The revise rate, and whether a writer's uncertainty says anything about the verdict."""

from __future__ import annotations

import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.rates import EntropyRanks, VerdictCount, auc_interval, relation, revise_rate
from navigator.model.states import Verdict


def counted(verdict: Verdict, n: int = 1, **more: object) -> VerdictCount:
    values: dict[str, object] = {"model": "Qwen3.5-122B", "prompt_version": "review@a91e"}
    stated = None if verdict is Verdict.UNREVIEWED else verdict
    return VerdictCount.model_validate(
        {"verdict": verdict, "stated_verdict": stated, "n": n, **values, **more}
    )


approve = partial(counted, Verdict.APPROVE)
revise = partial(counted, Verdict.REVISE)
unread = partial(counted, Verdict.UNREVIEWED)


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


BITS = st.lists(st.integers(0, 6), min_size=1, max_size=12)


def ranks(revise: list[float], approve: list[float]) -> EntropyRanks:
    both = sorted(revise + approve)
    place = {value: both.index(value) + (both.count(value) + 1) / 2 for value in both}
    return EntropyRanks(
        model="m", revise=len(revise), approve=len(approve),
        revise_ranks=sum(place[value] for value in revise), revise_sum=sum(revise), approve_sum=sum(approve),
    )  # fmt: skip


@given(BITS, BITS)
def test_the_area_is_the_share_of_pairs_in_the_right_order(revise: list[int], approve: list[int]) -> None:
    found = relation(ranks([float(x) for x in revise], [float(x) for x in approve]))
    pairs = [(x > y) + (x == y) / 2 for x in revise for y in approve]
    assert found.auc == pytest.approx(sum(pairs) / len(pairs))
    assert 0 <= found.low <= found.auc <= found.high <= 1


def test_the_interval_holds_the_true_area_about_as_often_as_it_says() -> None:
    """Normal entropies one standard deviation apart: the area is 0.760."""
    rng = random.Random(1)
    held = 0
    for _ in range(300):
        found = relation(ranks([rng.gauss(1, 1) for _ in range(15)], [rng.gauss(0, 1) for _ in range(30)]))
        held += found.low <= 0.760 <= found.high
    assert 0.91 <= held / 300 <= 0.99


def test_what_is_said_follows_from_the_interval_and_the_count() -> None:
    high, low = [float(x) for x in range(30, 50)], [float(x) for x in range(20)]
    assert relation(ranks(high, low)).related
    assert not relation(ranks(high[:9], low[:9])).related, "too few"
    assert not relation(ranks(low[::2] + high[::2], low[1::2] + high[1::2])).related
    only = relation(ranks(high, []))
    assert (only.auc, only.related, only.approve_mean) == (None, False, None)
    assert auc_interval(1.0, 20, 20)[1] == 1.0
