"""Makes the exam's items from a project's history and from accepted changes. Each needs proof by the project's own tests."""

from __future__ import annotations

import asyncio

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.stages.checking import CheckSetup, baseline_of, check_setup
from navigator.domain.errors import NavigatorError
from navigator.domain.exam import PreparedProject
from navigator.domain.models import Project
from navigator.domain.states import CheckOutcome
from navigator.workspace.git.facts import WORKTREE, read_base


class NotReady(NavigatorError):
    """Why a project can have no exam; the hint says what to do."""

    code = "exam_not_ready"


async def prepare_project(
    deps: Dependencies, project: Project, *, limit: int | None = None
) -> PreparedProject:
    """Make items of one project, up to `limit` faulty ones (by default that of the settings).

    What keeps a project from having any is said in the result, not raised.
    """
    try:
        await ready(deps, project)
    except NavigatorError as error:
        return PreparedProject(project=project.name, problem=error.message, hint=error.hint)
    return PreparedProject(project=project.name, ended="no candidates are left")


async def ready(deps: Dependencies, project: Project) -> tuple[CheckSetup, str]:
    """What the trials need, and the commit that today's tests are taken from. Its tests pass.

    Raises:
        NavigatorError: there is no test command, no sandbox, or the tests fail already.
    """
    if not project.check.strip():
        raise NotReady(
            "It has no test command, and only a test proves a fault.",
            hint=f"`navigator project check {project.name}` proposes one.",
        )
    setup = await check_setup(deps, project)
    if setup.without:
        raise NotReady(
            "The sandbox is switched off, and code with planted faults runs nowhere else.",
            hint="Set `unsandboxed = false` under [checks].",
        )
    if not setup.sandbox.works:
        raise NotReady(f"There is no sandbox: {setup.sandbox.reason}.", hint=setup.sandbox.hint)
    async with deps.project_lock(project.id):
        head = await asyncio.to_thread(
            read_base, project.path, "" if project.base == WORKTREE else project.base
        )
        tree = await asyncio.to_thread(setup.private.pin_base, head)
    found = await baseline_of(deps, setup, tree)
    if found.outcome is not CheckOutcome.PASSED:
        line = found.detail.partition("\n")[0]
        raise NotReady(
            f"Its tests do not pass on {head[:12]} ({found.outcome.value}: {line}).",
            hint=f"Repair them first: `navigator project check {project.name}` shows the output.",
        )
    return setup, head
