"""Projects: take a repository into care, and let go of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.socket.wire import Result
from navigator.domain.errors import Conflict
from navigator.domain.states import LOOP_TASK_STATES


async def add_project(
    deps: Dependencies,
    path: str,
    name: str = "",
    check: str = "",
    landing: str = "branch",
    base: str = "",
    demo: bool = False,
) -> Result:
    """Take a git repository into care; nothing in it is touched."""
    from navigator.workspace.git.facts import WORKTREE, read_facts, resolve_base
    from navigator.workspace.git.snapshot import require_worktree

    facts = await asyncio.to_thread(read_facts, path)
    if base == WORKTREE:
        require_worktree(facts)
    elif base:
        resolve_base(facts, base)  # a branch that is not there is said now, not when the first task fails
    home = str(Path(facts.path).resolve())
    for project in deps.reader.projects():
        if project.path == home:
            raise Conflict(
                f"{home} is already here, as {project.name}.", hint="`navigator project list` shows all."
            )
    taken = {project.name for project in deps.reader.projects()}
    if name and name in taken:
        raise Conflict(f"There is already a project {name!r}.", hint="Choose another --name.")
    with deps.store.transaction() as tx:
        project = tx.add_project(
            name=name or _free_name(Path(home).name, taken),
            path=home,
            base=base,
            landing=landing,
            check=check,
            root_commit=facts.root_commit,
            demo=demo,
        )
    return {"project": project.model_dump(mode="json")}


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


async def move_project(deps: Dependencies, name: str, path: str) -> Result:
    """Follow a repository to where it stands now: the same history, by its first commit.

    Raises:
        Conflict: another history stands there, the settings file names the path, or another project has it.
    """
    from navigator.workspace.git.facts import read_facts

    project = deps.reader.project(name)
    if project.source == "config":
        raise Conflict(
            f"{project.name} stands in the settings file.",
            hint="Change its path there: `navigator config path`.",
        )
    facts = await asyncio.to_thread(read_facts, path)
    if project.root_commit and facts.root_commit and project.root_commit != facts.root_commit:
        raise Conflict(
            f"{facts.path} holds a different repository than {project.name}.",
            hint="Add it as a project of its own: `navigator project add PATH`.",
        )
    async with deps.project_lock(project.id):
        with deps.store.transaction() as tx:
            moved = tx.update_project(project.id, path=str(facts.path))
        deps.forget_private(project.id)
    return {"project": moved.model_dump(mode="json")}


async def remove_projects(deps: Dependencies, names: Sequence[str]) -> Result:
    """Let go of projects; their history stays in the store."""
    projects = [deps.reader.project(name) for name in names]
    for project in projects:
        busy = deps.reader.tasks(states=LOOP_TASK_STATES, project=project.name)
        if busy:
            raise Conflict(
                f"{project.name} has {len(busy)} tasks in work.",
                hint="Cancel them first: `navigator task cancel T…`.",
            )
    with deps.store.transaction() as tx:
        for project in projects:
            tx.remove_project(project.id)
    return {"removed": [project.name for project in projects]}
