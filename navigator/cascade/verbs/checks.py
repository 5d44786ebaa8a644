"""A project's own tests on its base, looked at by themselves: do they run, what is missing, what fails."""

from __future__ import annotations

import asyncio

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.socket.wire import Result
from navigator.cascade.stages.checking import CheckSetup, baseline_of, check_setup
from navigator.domain.errors import Conflict
from navigator.domain.models import Project


async def check_project(deps: Dependencies, name: str, command: str | None = None) -> Result:
    """Run the baseline once more, and say what stands in the way of it.

    Args:
        command: the project's test command from now on; None leaves it.

    Raises:
        Conflict: the command of a project from the settings file is to be changed.
    """
    project = deps.reader.project(name)
    if command is not None:
        if project.source == "config":
            raise Conflict(
                f"{project.name} stands in the settings file.",
                hint="Change its `check` there: `navigator config path`.",
            )
        with deps.store.transaction() as tx:
            project = tx.update_project(project.id, check=command.strip())
    setup = await check_setup(deps, project)
    async with deps.project_lock(project.id):
        base, tree = await asyncio.to_thread(_base, setup)
    seen = await asyncio.to_thread(_looked_at, setup, tree)
    result: Result = {
        "project": project.name,
        "command": project.check,
        "base": base,
        "tree": tree,
        "sandbox": {
            "works": setup.sandbox.works,
            "unsandboxed": setup.without,
            "reason": setup.sandbox.reason,
            "hint": setup.sandbox.hint,
            "control_group": bool(setup.sandbox.scope),
        },
        "limits": {"seconds": setup.limits.seconds, "memory_mb": setup.limits.memory_mb},
        **seen,
        "baseline": None,
    }
    if project.check.strip():
        found = await baseline_of(deps, setup, tree, rerun=True)
        result["baseline"] = found.model_dump(mode="json", exclude={"project_id"})
    return result


def _base(setup: CheckSetup) -> tuple[str, str]:
    """The commit that new work of the project starts from, held by the private repository, and its tree."""
    from navigator.cascade.prompts.material import new_base

    project: Project = setup.project
    base = new_base(project, setup.private)
    return base, setup.private.pin_base(base)


def _looked_at(setup: CheckSetup, tree: str) -> Result:
    """What the sandbox would show of this machine, and what the manifests ask for beside it."""
    from pathlib import Path

    from navigator.workspace.sandbox.propose import absent_dependencies, proposed_command
    from navigator.workspace.sandbox.suite import prepare

    entries = setup.private.tree_entries(tree)

    def read(path: str) -> bytes | None:
        entry = entries.get(path)
        return setup.private.read_blob(entry.sha) if entry is not None and entry.size < 5_000_000 else None

    room = prepare(setup.project, setup.private, tree)
    return {
        "proposed": ""
        if setup.project.check.strip()
        else proposed_command(entries.keys(), read, Path(setup.project.path)),
        "dependencies": [bind.target for bind in room.dependencies],
        "mounts": [bind.target for bind in room.mounts],
        "toolchains": sorted(bind.target for bind in room.toolchains.binds.values()),
        "mounts_absent": list(room.absent),
        "programs_absent": list(room.missing),
        "hints": absent_dependencies(Path(setup.project.path), entries.keys(), read),
    }
