"""The project's tests on what a landing will leave, where that is not the tree that was tested before the review."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.stages.checking import run_checks
from navigator.domain.errors import NavigatorError
from navigator.domain.models import Proposal, Task
from navigator.domain.states import CheckOutcome
from navigator.workspace.git.landing.plan import LandingPlan
from navigator.workspace.sandbox.compare import NAME


class TestsDue(NavigatorError):
    """A landing waits for tests that take longer than the one who asked wants to wait; the conductor runs them."""

    code: ClassVar[str] = "tests_due"
    __test__ = False


@asynccontextmanager
async def in_turn(deps: Dependencies, task: Task, patience: float | None) -> AsyncIterator[None]:
    """One landing of a project at a time, from its plan to its end.

    Raises:
        TestsDue: the one under way takes longer than `patience` seconds.
    """
    lock = deps.landing_lock(task.project_id)
    try:
        await asyncio.wait_for(lock.acquire(), patience)
    except TimeoutError:
        raise TestsDue(
            f"The project's tests run for another landing in {task.project}.", hint="It lands after that one."
        ) from None
    try:
        yield
    finally:
        lock.release()


def tests_are_due(deps: Dependencies, proposal: Proposal, plan: LandingPlan) -> bool:
    """Whether the result has to be tested: it is another tree than the proposal's, and the developer did not approve a
    change whose tests fail."""
    if plan.tree == proposal.tree or not deps.project(proposal.project_id).check.strip():
        return False
    return not any(check.name == NAME for check in proposal.failed_checks)


async def why_not_on(deps: Dependencies, task: Task, plan: LandingPlan, patience: float | None) -> str:
    """Run the tests on a plan's tree, against the tip it stands on; why it does not land, or "".

    Raises:
        TestsDue: they are expected to take longer than `patience` seconds.
    """
    project = deps.project(task.project_id)
    if patience is not None:
        known = deps.reader.newest_baseline(project.id)
        # Twice: the tip that it stands on may not have been tested either.
        if known is not None and 2 * known.seconds > patience:
            raise TestsDue(
                f"{plan.branch} has moved on since the base: the project's tests run on the result first.",
                hint="It lands when they pass.",
            )
    results = await run_checks(deps, project, plan.parent, plan.tree, task=task, keep=True)
    failed = [result for result in results if result.outcome is CheckOutcome.FAILED]
    if not failed:
        return ""
    line = failed[0].detail.partition("\n")[0]
    return (
        f"On {plan.branch} as it stands now the project's tests fail with this change: {line}. Send it back with a note, "
        "or take the approval back."
    )
