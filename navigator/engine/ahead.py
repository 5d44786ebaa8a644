"""Work that needs no model, done while a swap runs: the prompts that the next model is asked first, and tests on bases.

Nothing here changes a task. A prompt is kept with everything that it was made of and is used only for the same; what was
not needed is made again, and costs nothing but the time that nobody had a use for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from navigator.git.facts import WORKTREE
from navigator.journey.checking import baseline_of, check_setup
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.material import made_for, new_base
from navigator.journey.recovery import Storage
from navigator.journey.review import prepare_review
from navigator.journey.write import agent_writes
from navigator.model.models import Project, Task
from navigator.model.snapshot import Generate, ReviewTask, SchedulerSnapshot
from navigator.model.states import Phase, Role
from navigator.schedule.next_actions import first_after_swap

log = logging.getLogger(__name__)


class Ahead:
    """Fills swaps. One at a time; what is begun when the swap ends is finished, and nothing else is begun."""

    def __init__(self, deps: Dependencies, storage: Storage) -> None:
        self._deps = deps
        self._storage = storage
        self._over = True
        self.prompts = 0
        self.baselines = 0

    def end(self) -> None:
        """The swap is over."""
        self._over = True

    async def fill(self, to: Role, snapshot: SchedulerSnapshot, now: float) -> None:
        """Prepare what comes after a swap to `to` until `end`; whatever goes wrong is left to the stage that needs it.

        Args:
            snapshot: what was true when the swap began, at monotonic second `now`.
        """
        self._over, self.prompts, self.baselines = False, 0, 0
        self._deps.prepared.clear()
        first = first_after_swap(snapshot, to, now)
        await asyncio.gather(self._prompts(to, first), self._baselines(snapshot))

    async def _prompts(self, to: Role, first: Sequence[Generate | ReviewTask]) -> None:
        for action in first:
            if self._over:
                return
            make = self._review if isinstance(action, ReviewTask) else partial(self._writing, to)
            self.prompts += await self._tried("prompts", partial(make, action.task_id))

    async def _review(self, task_id: str) -> bool:
        key, planned = await prepare_review(self._deps, task_id)
        self._deps.prepared[key] = planned
        return True

    async def _writing(self, writer: Role, task_id: str) -> bool:
        deps = self._deps
        task = deps.reader.task(task_id)
        project = deps.project(task.project_id)
        base = None if task.after or agent_writes(deps, task) else await self._base(project, task)
        if base is None:
            return False
        key, prompt = await made_for(deps, task, base, writer)
        deps.prepared[key] = prompt
        return True

    async def _baselines(self, snapshot: SchedulerSnapshot) -> None:
        """Each project's tests on the bases of what is left to write, the project with the most tasks first."""
        waiting: dict[int, list[str]] = {}
        for task in snapshot.tasks:
            if task.standing.phase is Phase.WRITE and not task.standing.running:
                waiting.setdefault(task.project_id, []).append(task.id)
        for project_id, tasks in sorted(waiting.items(), key=lambda item: -len(item[1])):
            project = self._deps.project(project_id)
            if self._over:
                return
            if project.check.strip():
                self.baselines += await self._tried("baselines", partial(self._baseline, project, tasks[0]))

    async def _baseline(self, project: Project, task_id: str) -> bool:
        deps = self._deps
        base = await self._base(project, deps.reader.task(task_id))
        if base is None:
            return False
        setup = await check_setup(deps, project)
        before = deps.reader.newest_baseline(project.id)
        await baseline_of(deps, setup, await asyncio.to_thread(setup.private.tree_of, base))
        return deps.reader.newest_baseline(project.id) != before

    async def _base(self, project: Project, task: Task) -> str | None:
        """The commit that the task will begin on; None where that is not known before it begins."""
        if task.base_commit:
            return task.base_commit
        if project.base == WORKTREE:
            return None
        async with self._deps.project_lock(project.id):
            private = await asyncio.to_thread(self._deps.private, project)
            return await asyncio.to_thread(new_base, project, private)

    async def _tried(self, kind: str, work: Callable[[], Awaitable[bool]]) -> bool:
        try:
            with self._storage.writing(f"{kind} that were made ahead"):
                return await self._deps.cpu_work.during(kind, work)
        except Exception:
            # The stage that needs it meets the same obstacle, and says it where it belongs.
            log.info("%s could not be made ahead", kind, exc_info=True)
        return False
