"""Which model writes a task: by its kind and its complexity, as `[routing]` of the settings says.

An attempt keeps the model that it began with: a change of the settings applies to new attempts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.config.settings import Settings
from navigator.model.states import Complexity, Role, TaskKind

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies
    from navigator.model.models import Task


def writer_of(settings: Settings, kind: TaskKind, complexity: Complexity, wrote: Role | None = None) -> Role:
    """The role that writes.

    Args:
        wrote: the role whose answer the task's present attempt continues; None where there is none.
    """
    return wrote or settings.routing.writer(kind, complexity)


def writer_for(deps: Dependencies, task: Task) -> Role:
    """The role that writes this task now, as the scheduler's snapshot has it, too."""
    return writer_of(deps.settings, task.kind, task.complexity, deps.reader.wrote(task.id))
