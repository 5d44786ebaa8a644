"""The expected effort of reading: what makes it more, what makes it less, and that both ends of the wire agree."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from navigator.model.states import CheckOutcome, Verdict
from navigator.sheet.effort import about, reading_seconds, reading_words
from navigator.sheet.marks import Facts

KNOWN = st.builds(
    Facts,
    id=st.just("P1"),
    lines=st.integers(1, 5_000),
    files=st.integers(1, 60),
    verdict=st.sampled_from([*Verdict, None]),
    serious=st.integers(0, 8),
    reproduced=st.integers(0, 8),
    tests=st.sampled_from([*CheckOutcome, None]),
)


@given(KNOWN)
def test_more_to_read_takes_longer_and_what_is_known_saves_time(one: Facts) -> None:
    for name in ("lines", "files"):
        assert reading_seconds(replace(one, **{name: getattr(one, name) + 1})) > reading_seconds(one)
    assert reading_seconds(replace(one, confirm=(("rule", "a", "b"),))) > reading_seconds(one)
    # What is not reviewed has to be confirmed besides.
    assert reading_seconds(replace(one, verdict=Verdict.APPROVE)) <= reading_seconds(one)
    assert reading_seconds(replace(one, tests=CheckOutcome.PASSED)) <= reading_seconds(one)


def test_a_reproduced_finding_takes_less_than_one_that_has_to_be_judged() -> None:
    judged = Facts(id="P1", lines=40, files=2, verdict=Verdict.REVISE, serious=1)
    assert reading_seconds(replace(judged, reproduced=1)) < reading_seconds(judged)
    assert reading_words(replace(judged, reproduced=1)) == (
        "40 lines in 2 files, REVISE, 1 serious finding, 1 reproduced, not tested"
    )


def test_an_estimate_is_told_as_roughly_as_it_is_known() -> None:
    assert [about(seconds) for seconds in (3, 44, 89, 100, 605)] == [
        "~10 s",
        "~40 s",
        "~90 s",
        "~2 min",
        "~10 min",
    ]
