"""The expected effort of reading: what makes it more, what makes it less, and that both ends of the wire agree."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from navigator.model.states import CheckOutcome, Verdict
from navigator.sheet.effort import Effort, about

efforts = st.builds(
    Effort,
    lines=st.integers(1, 5_000),
    files=st.integers(1, 60),
    verdict=st.sampled_from([*Verdict, None]),
    findings=st.integers(0, 8),
    reproduced=st.integers(0, 8),
    tests=st.sampled_from([*CheckOutcome, None]),
    failed=st.booleans(),
    confirm=st.integers(0, 5),
)


@given(efforts)
def test_more_to_read_takes_longer_and_what_is_known_saves_time(one: Effort) -> None:
    for name in ("lines", "files", "confirm"):
        assert replace(one, **{name: getattr(one, name) + 1}).seconds > one.seconds
    assert replace(one, verdict=Verdict.APPROVE).seconds <= one.seconds
    assert replace(one, tests=CheckOutcome.PASSED).seconds <= one.seconds
    assert replace(one, failed=True).seconds <= one.seconds


def test_a_reproduced_finding_takes_less_than_one_that_has_to_be_judged() -> None:
    judged = Effort(lines=40, files=2, verdict=Verdict.REVISE, findings=1)
    assert replace(judged, reproduced=1).seconds < judged.seconds
    assert replace(judged, reproduced=1).why == (
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
