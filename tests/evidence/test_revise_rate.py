"""What counts towards the revise rate, and what stands beside it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.domain.errors import UsageError
from navigator.domain.states import Complexity, TaskKind, Verdict
from navigator.evidence.rates import GROUPINGS, RateTables, revise_rate
from navigator.evidence.rows import FirstVerdict

APPROVE = FirstVerdict(
    project="billing",
    kind=TaskKind.FIX,
    complexity=Complexity.MEDIUM,
    model="Qwen3.5-122B",
    prompt_version="review@a91e",
    verdict=Verdict.APPROVE,
    stated_verdict=Verdict.APPROVE,
    self_review=False,
    rehearsal=False,
    at="2026-11-10T12:00:00.000Z",
)
REVISE = replace(APPROVE, verdict=Verdict.REVISE, stated_verdict=Verdict.REVISE)
UNREAD = replace(APPROVE, verdict=Verdict.UNREVIEWED, stated_verdict=None)


def test_a_row_says_all_that_belongs_to_the_figure() -> None:
    tables = revise_rate([REVISE] * 12 + [APPROVE] * 28 + [UNREAD] * 3)
    (row,) = tables.rows
    assert (row.group, row.n, row.revise, row.approve, row.unreviewed) == ("all", 40, 12, 28, 3)
    assert row.rate == 0.3
    assert (round(row.low, 3), round(row.high, 3)) == (0.181, 0.454)
    assert (row.stated_rate, row.note, row.unit) == (0.3, "", "first-round verdict")
    assert tables.rehearsal == ()
    assert tables.excluded == {}


@pytest.mark.parametrize(("n", "note"), [(29, "anecdotal"), (30, "")])
def test_below_thirty_it_is_an_anecdote(n: int, note: str) -> None:
    unread_do_not_help = [UNREAD] * 10
    assert revise_rate([APPROVE] * n + unread_do_not_help).rows[0].note == note


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("later_round", {"round": 1}),
        ("later_round", {"attempt": 1}),
        ("self_review", {"self_review": True}),
        ("derived", {"derived": True}),
        ("audit", {"audit": True}),
    ],
)
def test_what_is_no_independent_first_verdict_is_left_out_and_counted(
    reason: str, change: dict[str, object]
) -> None:
    tables = revise_rate([APPROVE, replace(REVISE, **change)])
    assert (tables.rows[0].n, tables.rows[0].revise) == (1, 0)
    assert tables.excluded == {reason: 1}
    rehearsed = revise_rate([replace(REVISE, rehearsal=True, **change)])
    assert rehearsed == RateTables((), ())


def test_the_rehearsal_has_its_own_table() -> None:
    tables = revise_rate([APPROVE] * 2 + [replace(REVISE, rehearsal=True)] * 3)
    assert (tables.rows[0].n, tables.rows[0].rate) == (2, 0.0)
    assert (tables.rehearsal[0].n, tables.rehearsal[0].rate) == (3, 1.0)


def test_only_unreadable_answers_make_no_rate() -> None:
    (row,) = revise_rate([UNREAD]).rows
    assert (row.n, row.unreviewed, row.rate, row.stated_rate) == (0, 1, None, None)
    assert (row.low, row.high) == (0.0, 1.0)


def test_the_models_own_word_is_kept_apart_from_the_derived_verdict() -> None:
    lenient = replace(REVISE, stated_verdict=Verdict.APPROVE)
    silent = replace(REVISE, stated_verdict=None)
    (row,) = revise_rate([lenient, silent, REVISE, APPROVE]).rows
    assert row.rate == 0.75
    assert row.stated_rate == pytest.approx(1 / 3)


def test_a_row_that_pools_different_reviewers_says_so() -> None:
    rows = [APPROVE, replace(APPROVE, prompt_version="review@b000"), replace(APPROVE, model="other")]
    (pooled,) = revise_rate(rows).rows
    assert (pooled.prompt_versions, pooled.models) == (2, 2)
    assert [row.prompt_versions for row in revise_rate(rows, by="prompt").rows] == [1, 1]


@pytest.mark.parametrize(
    ("by", "other", "groups"),
    [
        ("prompt", {"prompt_version": "review@0000"}, ["review@0000", "review@a91e"]),
        ("project", {"project": "aurora-api"}, ["aurora-api", "billing"]),
        ("kind", {"kind": TaskKind.DOCS}, ["docs", "fix"]),
        ("complexity", {"complexity": Complexity.COMPLEX}, ["complex", "medium"]),
        ("model", {"model": "A"}, ["A", "Qwen3.5-122B"]),
    ],
)
def test_groups(by: str, other: dict[str, object], groups: list[str]) -> None:
    rows = revise_rate([APPROVE, REVISE, replace(APPROVE, **other)], by=by).rows
    assert [row.group for row in rows] == groups
    assert sorted(row.n for row in rows) == [1, 2]


@pytest.mark.parametrize(
    ("since", "n"),
    [
        ("2026-11-10", 1),
        ("2026-11-11", 0),
        ("2026-11-10T12:00:00Z", 1),
        ("2026-11-10T12:00:01Z", 0),
        ("2026-11-10T13:00:00+01:00", 1),
        (date(2026, 11, 11), 0),
        (datetime(2026, 11, 10, 11, tzinfo=UTC), 1),
        (None, 1),
    ],
)
def test_since(since: str | date | None, n: int) -> None:
    assert sum(row.n for row in revise_rate([APPROVE], since=since).rows) == n


def test_unknown_words_are_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="prompt, project, kind, complexity, model"):
        revise_rate([], by="author")
    with pytest.raises(UsageError, match="2026-11-03"):
        revise_rate([], since="last week")


ROWS = st.builds(
    replace,
    st.sampled_from((APPROVE, REVISE, UNREAD)),
    project=st.sampled_from(("a", "b", "c")),
    rehearsal=st.booleans(),
    self_review=st.booleans(),
    audit=st.booleans(),
    derived=st.booleans(),
    round=st.integers(0, 2),
    attempt=st.integers(0, 1),
)


@given(st.lists(ROWS, max_size=40), st.sampled_from((None, *GROUPINGS)))
def test_every_row_is_counted_once_or_left_out_once(rows: list[FirstVerdict], by: str | None) -> None:
    tables = revise_rate(rows, by=by)
    counted = sum(row.n + row.unreviewed for row in tables.rows)
    assert counted + sum(tables.excluded.values()) == sum(not row.rehearsal for row in rows)
    for row in tables.rows + tables.rehearsal:
        assert row.n == row.revise + row.approve
        assert row.rate is None or row.low <= row.rate <= row.high
