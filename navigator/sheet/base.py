"""Where the bases of the projects are now, so that a proposal can say that its own has moved."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from navigator.git.facts import WORKTREE, read_base
from navigator.model.errors import NavigatorError
from navigator.model.states import TaskState

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader


def tips(reader: Reader, of: Collection[int] | None = None) -> dict[tuple[int, str], str]:
    """The commits that new work starts from, by a project's number and a task's own base; reads git.

    A project whose base is the worktree, and one that cannot be read, is left out: a landing says what is wrong with it.

    Args:
        of: only these projects; None for those of which something waits for a decision.
    """
    projects = {project.id: project for project in reader.projects()}
    found: dict[tuple[int, str], str] = {}
    for task in reader.tasks({TaskState.AWAITING_APPROVAL}):
        place, project = (task.project_id, task.base), projects.get(task.project_id)
        if project is None or place in found or (of is not None and project.id not in of):
            continue
        named = task.base or project.base
        if named == WORKTREE:
            continue
        try:
            found[place] = read_base(project.path, named)
        except NavigatorError:
            continue
    return found
