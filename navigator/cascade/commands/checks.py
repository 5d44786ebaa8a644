"""A project's own tests on its base, looked at by themselves: do they run, what is missing, what fails."""

from __future__ import annotations

import asyncio

from navigator.cascade.stages.checking import Ground, baseline_of, stand
from navigator.cascade.wire import Result
from navigator.cascade.world import World
from navigator.domain.errors import Conflict
from navigator.domain.models import Project


async def check_project(world: World, name: str, command: str | None = None) -> Result:
    """Run the baseline once more, and say what stands in the way of it.

    Args:
        command: the project's test command from now on; None leaves it.

    Raises:
        Conflict: the command of a project from the settings file is to be changed.
    """
    project = world.reader.project(name)
    if command is not None:
        if project.source == "config":
            raise Conflict(
                f"{project.name} stands in the settings file.",
                hint="Change its `check` there: `navigator config path`.",
            )
        with world.store.transaction() as tx:
            project = tx.update_project(project.id, check=command.strip())
    ground = await stand(world, project)
    async with world.project_lock(project.id):
        base, tree = await asyncio.to_thread(_base, ground)
    seen = await asyncio.to_thread(_looked_at, ground, tree)
    result: Result = {
        "project": project.name,
        "command": project.check,
        "base": base,
        "tree": tree,
        "sandbox": {
            "works": ground.sandbox.works,
            "unsandboxed": ground.without,
            "reason": ground.sandbox.reason,
            "hint": ground.sandbox.hint,
            "control_group": bool(ground.sandbox.scope),
        },
        "limits": {"seconds": ground.limits.seconds, "memory_mb": ground.limits.memory_mb},
        **seen,
        "baseline": None,
    }
    if project.check.strip():
        found = await baseline_of(world, ground, tree, anew=True)
        result["baseline"] = found.model_dump(mode="json", exclude={"project_id"})
    return result


def _base(ground: Ground) -> tuple[str, str]:
    """The commit that new work of the project starts from, held by the private repository, and its tree."""
    from navigator.cascade.stages.material import new_base

    project: Project = ground.project
    base = new_base(project, ground.private)
    return base, ground.private.pin_base(base)


def _looked_at(ground: Ground, tree: str) -> Result:
    """What the sandbox would show of this machine, and what the manifests ask for beside it."""
    from pathlib import Path

    from navigator.workspace.sandbox.propose import absent_dependencies, proposed_command
    from navigator.workspace.sandbox.suite import prepare

    entries = ground.private.tree_entries(tree)

    def read(path: str) -> bytes | None:
        entry = entries.get(path)
        return ground.private.read_blob(entry.sha) if entry is not None and entry.size < 5_000_000 else None

    room = prepare(ground.project, ground.private, tree)
    return {
        "proposed": ""
        if ground.project.check.strip()
        else proposed_command(entries.keys(), read, Path(ground.project.path)),
        "dependencies": [bind.target for bind in room.dependencies],
        "mounts": [bind.target for bind in room.mounts],
        "toolchains": sorted(bind.target for bind in room.toolchains.binds.values()),
        "mounts_absent": list(room.absent),
        "programs_absent": list(room.missing),
        "hints": absent_dependencies(Path(ground.project.path), entries.keys(), read),
    }
