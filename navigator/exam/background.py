"""Prepares the exam beside the conductor's work, on the CPU alone: behind every check of a task, and within a bound."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from contextlib import suppress
from functools import partial

from navigator.exam.prepare import ACCEPTED, prepare_project
from navigator.journey.dependencies import Dependencies
from navigator.journey.storage_faults import Storage
from navigator.store.space import is_low

log = logging.getLogger(__name__)

_FIRST = 60.0
"""Seconds until it begins: a session that is over by then prepares nothing."""

_PAUSE = 600.0
"""Seconds between two rounds through the projects, unless a swap begins before."""


async def keep_preparing(deps: Dependencies, storage: Storage, swapped: asyncio.Event) -> None:
    """Make items of every project that can have some, until the session ends or its time for that is used up.

    Nobody has an exam who never asked for one: nothing is made before the first `navigator exam prepare`.

    Args:
        swapped: set when a swap begins, in which the CPU has the least to do: the next round begins at once then.
    """
    if not deps.settings.exam.share:
        return
    left: defaultdict[int, float] = defaultdict(lambda: float(deps.settings.exam.prepare_seconds))
    await asyncio.sleep(_FIRST)
    while True:
        for project in deps.reader.projects() if deps.reader.meta(ACCEPTED, bool) else ():
            if left[project.id] <= 0 or not project.check.strip() or is_low(deps.paths.root):
                continue
            began = time.monotonic()
            try:
                with storage.writing(f"the exam items of {project.name}"):
                    making = partial(prepare_project, deps, project, seconds=left[project.id], behind=True)
                    made = await deps.cpu_work.during("exam items", making)
                    if made.problem:
                        log.info("no exam items of %s: %s", project.name, made.problem)
            except Exception:
                # A defect here must not end the session that goes well without an exam.
                log.exception("preparing the exam of %s broke", project.name)
                left[project.id] = 0
            left[project.id] -= time.monotonic() - began
        swapped.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(swapped.wait(), _PAUSE)
