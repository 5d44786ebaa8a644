"""After a crash, or a session that was cut off: every task that a stage held is taken back to where it can go on."""

from __future__ import annotations

import asyncio
import logging

from navigator.journey.change import take_back
from navigator.journey.checking import SCRATCH
from navigator.journey.dependencies import Dependencies
from navigator.journey.land import recover_landings
from navigator.model.states import LOOP_TASK_STATES, TaskState
from navigator.sandbox.suite import sweep

log = logging.getLogger(__name__)


async def recover(deps: Dependencies) -> int:
    """Requeue what was in progress; returns how many tasks moved. Calling it twice changes nothing more.

    A task in `generating` returns to `queued` or, in a later round, to `revising`; its stored answer, if the crash came
    after it, is judged then without a new call. A task in `checking` stays: its answer is stored. A cut landing is
    closed by looking at the reference.
    """
    moved = 0
    swept = await asyncio.to_thread(sweep, deps.paths.root / SCRATCH)
    if swept:
        log.info("recovery: %d folders of cut-off checks taken away", swept)
    wanted = {f"{task.id}-{task.attempt}" for task in deps.reader.tasks(states=LOOP_TASK_STATES)}
    if deps.paths.agents.is_dir():
        from navigator.agents.homes import Homes

        left = await asyncio.to_thread(Homes(deps.paths.agents).sweep, wanted)
        log.info("recovery: %d folders of agents taken away", left)
    for task in deps.reader.tasks(states={TaskState.GENERATING, TaskState.REVIEWING}):
        moved += deps.move(take_back, task)
    moved += await recover_landings(deps)
    if moved:
        log.info("recovery: %d tasks taken back", moved)
    return moved
