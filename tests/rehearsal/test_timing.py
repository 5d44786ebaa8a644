"""The published figures, the model around them, and a scale that multiplies every one of them."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from navigator.engine.summary import read_timing
from navigator.model.errors import UsageError
from navigator.model.states import Role
from navigator.model.timing import distinct_experts
from navigator.rehearsal.engine import pace_of, time_scale

ROLES = [Role.GENERATOR, Role.REVIEWER]


def test_the_share_of_experts_that_tokens_need() -> None:
    shares = [distinct_experts(tokens) / 256 for tokens in (32, 64, 96, 128)]
    assert shares == pytest.approx([0.637945, 0.868916, 0.95254, 0.982817], abs=1e-6)


def test_the_published_figures() -> None:
    writer, reader = pace_of(Role.GENERATOR, 1.0), pace_of(Role.REVIEWER, 1.0)

    assert (writer.load_wait(), reader.load_wait()) == (32.7, 42.7)
    assert writer.decode_wait(184, 1) == pytest.approx(1.0)
    assert reader.decode_wait(48, 1) == pytest.approx(1.0)
    shares = (writer.model.expert_share, reader.model.expert_share)
    assert shares == pytest.approx((0.154018, 0.106027), abs=1e-6), "the active weights at peak bandwidth"


def test_what_a_server_describes_is_read_back_whole_or_not_at_all() -> None:
    pace = pace_of(Role.REVIEWER, 0.5)
    assert read_timing(pace.described()) == pace.model
    told = asdict(pace.model)
    impossible = [told | wrong for wrong in ({"load_seconds": -1}, {"decode": 0}, {"decode": "x"})]
    for spoilt in (None, [], {}, {"decode": 1}, *impossible):
        assert read_timing(spoilt) is None


@pytest.mark.parametrize("role", ROLES)
def test_a_step_is_fixed_experts_and_cache(role: Role) -> None:
    mid = pace_of(role, 1.0).model
    fixed = 1 - mid.expert_share - mid.kv_share
    for streams in (1, 2, 4, 8):
        step = fixed + mid.expert_share * distinct_experts(streams) / 8 + streams * mid.kv_share
        assert mid.step_seconds(streams) == pytest.approx(step / mid.decode)


def test_time_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAVIGATOR_TIME_SCALE", raising=False)
    assert time_scale(None) == 1.0
    monkeypatch.setenv("NAVIGATOR_TIME_SCALE", "0.25")
    assert time_scale(None) == 0.25
    assert time_scale(0.0) == 0.0


@pytest.mark.parametrize("named", ["fast", "-1", "nan", "inf", "1,5"])
def test_a_time_scale_that_is_none(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("NAVIGATOR_TIME_SCALE", named)
    with pytest.raises(UsageError, match="NAVIGATOR_TIME_SCALE"):
        time_scale(None)
    with pytest.raises(UsageError, match="--time-scale"):
        time_scale(-0.5)
