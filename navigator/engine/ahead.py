"""The prompts that the next model is asked first, made while a swap runs.

Nothing here changes a task. A prompt is kept with everything that it was made of and is used only for the same; what was
not needed is made again, and costs nothing but the time that nobody had a use for.
"""

from __future__ import annotations

import asyncio
import logging

from navigator.git.facts import WORKTREE
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.material import made_for, new_base
from navigator.journey.review import prepare_review
from navigator.journey.write import agent_writes
from navigator.model.models import Project, Task
from navigator.model.snapshot import Generate, SchedulerSnapshot
from navigator.model.states import Role
from navigator.schedule.next_actions import first_after_swap

log = logging.getLogger(__name__)


class Ahead:
    """Fills swaps. One at a time; what is begun when the swap ends is finished, and nothing else is begun."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._over = True
        self.prompts = 0

    def end(self) -> None:
        """The swap is over."""
        self._over = True

    async def fill(self, to: Role, snapshot: SchedulerSnapshot, now: float) -> None:
        """Prepare what comes after a swap to `to` until `end`; whatever goes wrong is left to the stage that needs it.

        Args:
            snapshot: what was true when the swap began, at monotonic second `now`.
        """
        self._over, self.prompts = False, 0
        self._deps.prepared.clear()
        for action in first_after_swap(snapshot, to, now):
            if self._over:
                return
            try:
                if isinstance(action, Generate):
                    await self._writing(to, action.task_id)
                else:
                    key, planned = await prepare_review(self._deps, action.task_id)
                    self._keep(key, planned)
            except Exception:
                # The stage that needs it meets the same obstacle, and says it where it belongs.
                log.info("a prompt could not be made ahead", exc_info=True)

    async def _writing(self, writer: Role, task_id: str) -> None:
        deps = self._deps
        task = deps.reader.task(task_id)
        project = deps.project(task.project_id)
        base = None if task.after or agent_writes(deps, task) else await self._base(project, task)
        if base is not None:
            self._keep(*await made_for(deps, task, base, writer))

    def _keep(self, key: object, made: object) -> None:
        self._deps.prepared[key] = made
        self.prompts += 1

    async def _base(self, project: Project, task: Task) -> str | None:
        """The commit that the task will begin on; None where that is not known before it begins."""
        if task.base_commit:
            return task.base_commit
        if project.base == WORKTREE:
            return None
        async with self._deps.project_lock(project.id):
            private = await asyncio.to_thread(self._deps.private, project)
            return await asyncio.to_thread(new_base, project, private)
