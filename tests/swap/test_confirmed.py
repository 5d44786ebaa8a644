"""A swap that says it is done is believed once the model is seen; a connection lost for a moment is no other model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from navigator.engine.swapping import confirmed
from navigator.model.states import Role
from navigator.swap.base import SwapResult, SwapStrategy


def strategy(*residents: Role | None, state: str = "ready") -> Any:
    """One that sees these, one after the other, and whose server is in this state."""
    seen = iter(residents)

    async def resident() -> Role | None:
        return next(seen)

    async def look_at(role: Role) -> SimpleNamespace:
        return SimpleNamespace(state=state, address="x", served="m", wanted="m", problem="It is away.")

    return SimpleNamespace(resident=resident, look_at=look_at, both_resident=False)


@pytest.mark.parametrize(
    ("residents", "state", "outcome"),
    [
        ((Role.REVIEWER,), "ready", "done"),
        ((None, Role.REVIEWER), "ready", "done"),
        ((None, None), "ready", "failed"),
        ((None,), "silent", "failed"),
    ],
    ids=["seen", "seen again", "never seen", "silent"],
)
async def test_what_a_swap_is_believed(residents: tuple[Role | None, ...], state: str, outcome: str) -> None:
    seen = cast("SwapStrategy", strategy(*residents, state=state))
    result, there = await confirmed(seen, Role.REVIEWER, SwapResult("done", (), 1.0))
    assert (result.outcome, there) == (outcome, residents[-1])
