"""What a swap came to: a strategy that says "done" is believed only once the role's model is seen at its address.

During a swap the prompts that the next model is asked first are made. That changes no task. A prompt is kept with everything
that it was made of and is used only for the same; what was not needed is made again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from navigator.config.settings import Settings
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.material import made_for, new_base
from navigator.journey.recovery import Storage
from navigator.journey.review import prepare_review
from navigator.journey.write import agent_writes
from navigator.model.errors import NavigatorError
from navigator.model.snapshot import Generate, ReviewTask
from navigator.model.states import Role
from navigator.swap.base import SwapResult, SwapStrategy

if TYPE_CHECKING:
    from navigator.swap.page_cache import CachedBytes
    from navigator.swap.read_ahead import ReadAhead

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


_NEXT = {Role.GENERATOR: Role.REVIEWER, Role.REVIEWER: Role.GENERATOR}


class WeightReadAhead:
    """What the conductor asks for around a swap. Without weight files on this machine it does nothing.

    Args:
        settings: the whole settings.
        strategy: how the GPU changes hands.
    """

    def __init__(self, settings: Settings, strategy: SwapStrategy) -> None:
        self._settings = settings
        self._wanted = strategy.reads_weights and not strategy.elsewhere
        self._ahead: ReadAhead | None = None

    async def rest(self, resident: Role | None) -> None:
        """A role is resident and no swap is in progress: begin to read what the next one will need. Returns at once."""
        following = _NEXT.get(resident) if resident is not None else None
        if following is None or not self._wanted:
            return
        await (await self._reader()).start(following)

    async def before(self, to: Role) -> asyncio.Task[CachedBytes] | None:
        """A swap begins: stop reading, so that the disk is the server's, and measure what there is.

        Returns:
            The measurement, which is over long before the old server is gone; None where there is nothing to measure.
        """
        if not self._wanted:
            return None
        reader = await self._reader()
        await reader.stop()
        return asyncio.create_task(reader.residency(to))

    async def measured(self, task: asyncio.Task[CachedBytes] | None) -> tuple[int, int]:
        """Weight bytes and warm bytes of a measurement; 0 and 0 where nothing was measured."""
        if task is None:
            return 0, 0
        seen = await task
        if not seen.known or not seen.total:
            return 0, 0
        # Pages are counted whole, so a file's last one may count more than the file has.
        warm = min(seen.resident, seen.total)
        log.info("weights: %d of %d MB were in memory when the swap began", warm >> 20, seen.total >> 20)
        return seen.total, warm

    async def close(self) -> None:
        """Stop reading."""
        if self._ahead is not None:
            await self._ahead.stop()

    async def _reader(self) -> ReadAhead:
        from navigator.setup.plan import weight_files
        from navigator.swap.read_ahead import ReadAhead, ReadLimits

        dirs = self._settings.swap.model_dirs
        # Looked up each time: a model may be downloaded, moved or updated while the conductor works.
        files = {
            role: await asyncio.to_thread(weight_files, self._settings.server(role).model, dirs)
            for role in _NEXT
        }
        if self._ahead is None:
            self._ahead = ReadAhead(files, ReadLimits())
        self._ahead.files = files
        return self._ahead


# What comes after the swap, made while no model answers.


async def make_prompts(
    deps: Dependencies,
    storage: Storage,
    to: Role,
    first: Sequence[Generate | ReviewTask],
    over: asyncio.Event,
) -> None:
    """Make the prompts of what `to` is asked first, until the swap is `over`. What goes wrong is left to its stage."""
    deps.prepared.clear()
    for action in first:
        if over.is_set():
            return
        try:
            with storage.writing("a prompt that was made ahead"):
                if isinstance(action, ReviewTask):
                    key, planned = await prepare_review(deps, action.task_id)
                    deps.prepared[key] = planned
                else:
                    await _writing(deps, to, action.task_id)
        except Exception:
            # The stage that needs it meets the same obstacle, and says it where it belongs.
            log.info("the prompt of %s could not be made ahead", action.task_id, exc_info=True)


async def _writing(deps: Dependencies, writer: Role, task_id: str) -> None:
    task = deps.reader.task(task_id)
    project = deps.project(task.project_id)
    if task.after or agent_writes(deps, task):
        return
    base = task.base_commit or await asyncio.to_thread(new_base, project)
    key, prompt = await made_for(deps, task, base, writer)
    deps.prepared[key] = prompt
