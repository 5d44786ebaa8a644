"""What a swap came to: a strategy that says "done" is believed only once the role's model is seen to answer.

A swap takes the time between the last answer of one model and the first answer of the other. The canary asks for that.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from navigator.engine.canary import CanaryWatch
from navigator.model.errors import NavigatorError
from navigator.model.models import Canary, SwapPhase
from navigator.model.states import Role
from navigator.swap.base import PhaseEvent, Report, SwapResult, SwapStrategy

log = logging.getLogger(__name__)


async def resident_now(strategy: SwapStrategy) -> Role | None:
    """What is loaded; None if that is unknown."""
    try:
        return await strategy.resident()
    except NavigatorError as error:
        log.warning("resident model unknown: %s", error)
        return None


async def confirmed(strategy: SwapStrategy, to: Role, result: SwapResult) -> tuple[SwapResult, Role | None]:
    """How a swap ended, and what is loaded now.

    A swap that is done, and after which another model answers at the role's address, or none, is a failed load: the script
    and the settings disagree about the model or the port. Counted as done it would be made again, without end.
    """
    there = await resident_now(strategy)
    if result.outcome == "done" and there is None and (await strategy.look_at(to)).state == "ready":
        there = await resident_now(strategy)  # the connection to its machine was lost for a moment
    if result.outcome != "done" or there is to or strategy.both_resident:
        return result, there
    return replace(
        result,
        outcome="failed" if there is None else "went_back",
        failure="wrong_model",
        reason=await _difference(strategy, to, there),
    ), there


async def first_answer(
    canary: CanaryWatch, to: Role, result: SwapResult, report: Report
) -> tuple[SwapResult, Canary | None]:
    """A swap that is done with its last phase, in which the model answers the canary; and the answer. None where that is off."""
    began = time.monotonic()
    if canary.enabled:
        report(PhaseEvent("canary", "begin", 0.0))
    found = await canary.loaded(to)
    if found is None:
        return result, None
    seconds = round(time.monotonic() - began, 3)
    report(PhaseEvent("canary", "done", seconds))
    return replace(result, phases=(*result.phases, SwapPhase(name="canary", seconds=seconds))), found


def garbage(found: Canary) -> str:
    """What is wrong with a model whose canary found garbage."""
    return f"It is healthy and answers garbage: {found.reason}."


async def _difference(strategy: SwapStrategy, to: Role, there: Role | None) -> str:
    """Which model was wanted, and which one is there instead, in words."""
    look = await strategy.look_at(to)
    if there is not None:
        found = f"the {there.value}'s model {strategy.server(there).model} is loaded"
    elif look.state == "ready":
        found = f"{look.address} serves {look.served}, but the strategy does not see it as loaded"
    else:
        found = look.problem.rstrip(".") or f"{look.address} is {look.state}"
    return (
        f"The swap reported success, but {found}. The settings name {look.wanted} at {look.address} for the"
        f" {to.value}. Make the swap and the settings agree on model and port."
    )
