"""The expected effort of reading: what makes it more, and what makes it less."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from navigator.model.states import CheckOutcome, Verdict
from navigator.sheet.waiting import about, reading_seconds
from navigator.store.reads.cards import Card
from tests.sheet.cards import CARD

KNOWN = st.builds(
    CARD._replace,
    added=st.integers(1, 5_000),
    paths=st.integers(1, 60).map(lambda n: tuple(map(str, range(n)))),
    verdict=st.sampled_from([*Verdict, None]),
    blocking=st.integers(0, 8),
    reproduced=st.integers(0, 8),
    tests=st.sampled_from([*CheckOutcome, None]),
)


@given(KNOWN)
def test_more_to_read_takes_longer_and_what_is_known_saves_time(one: Card) -> None:
    assert reading_seconds(one._replace(removed=1)) > reading_seconds(one)
    assert reading_seconds(one._replace(paths=(*one.paths, "another"))) > reading_seconds(one)
    assert reading_seconds(one._replace(confirm=(("rule", "a", "b"),))) > reading_seconds(one)
    # What is not reviewed has to be confirmed besides.
    assert reading_seconds(one._replace(verdict=Verdict.APPROVE)) <= reading_seconds(one)
    assert reading_seconds(one._replace(tests=CheckOutcome.PASSED)) <= reading_seconds(one)


def test_a_reproduced_finding_takes_less_than_one_that_has_to_be_judged() -> None:
    judged = CARD._replace(added=40, paths=("a", "b"), verdict=Verdict.REVISE, blocking=1)
    assert reading_seconds(judged._replace(reproduced=1)) < reading_seconds(judged)


def test_an_estimate_is_told_as_roughly_as_it_is_known() -> None:
    assert [about(seconds) for seconds in (3, 44, 89, 100, 605)] == [
        "~10 s",
        "~40 s",
        "~90 s",
        "~2 min",
        "~10 min",
    ]
