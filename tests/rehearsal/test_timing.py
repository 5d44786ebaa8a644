"""The published figures, and a scale that multiplies every one of them."""

from __future__ import annotations

import pytest

from navigator.domain.states import Role
from navigator.rehearsal.timing import estimate_tokens, pace_of


def test_the_published_figures() -> None:
    writer, reader = pace_of(Role.GENERATOR, 1.0), pace_of(Role.REVIEWER, 1.0)

    assert (writer.load_wait(), reader.load_wait()) == (32.7, 42.7)
    assert writer.decode_wait(184, 1) == pytest.approx(1.0)
    assert reader.decode_wait(48, 1) == pytest.approx(1.0)


def test_scale_zero_waits_for_nothing() -> None:
    pace = pace_of(Role.REVIEWER, 0.0)

    assert (pace.load_wait(), pace.prefill_wait(10_000), pace.decode_wait(10_000, 8)) == (0, 0, 0)


def test_more_streams_are_slower_each_and_faster_together() -> None:
    pace = pace_of(Role.GENERATOR, 1.0)
    speeds = [pace.stream_speed(n) for n in range(1, 9)]

    assert speeds == sorted(speeds, reverse=True)
    assert [n * s for n, s in enumerate(speeds, 1)] == sorted(n * s for n, s in enumerate(speeds, 1))


def test_the_estimate() -> None:
    assert [estimate_tokens("x" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
