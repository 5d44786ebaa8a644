"""The project's own tests on a tree, and on its base: run beside the models' work, each base once.

Nothing here asks a model or changes a task's state. A run that is cancelled is killed with everything it started.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from navigator.context.source import learn_withheld
from navigator.git.private import PrivateRepo
from navigator.journey.dependencies import Dependencies
from navigator.model.models import Baseline, CheckResult, Project, Task
from navigator.model.secrets import Redactor
from navigator.model.states import CheckOutcome
from navigator.process.runner import cancellable
from navigator.sandbox.probe import Sandbox, probe
from navigator.sandbox.spec import SandboxSpec
from navigator.sandbox.suite import NAME, SuiteRun, compared, environment_digest, prepare, run_suite
from navigator.sandbox.supervise import Limits
from navigator.store.writes.writer import Store

UNTESTED = CheckResult(name=NAME, outcome=CheckOutcome.UNTESTED, detail="no test command")
"""Of a project that has none."""

FINDING_TESTS = "finding tests"
"""The check of a revision that runs the tests of the findings before it."""


SCRATCH = "checks"
"""The folder of the state folder below which each run has one of its own, until it ends."""


@dataclass(frozen=True, slots=True)
class CheckSetup:
    """What one run of a project's tests needs."""

    project: Project
    private: PrivateRepo
    limits: Limits
    sandbox: Sandbox
    without: bool
    scratch: Path


async def run_checks(
    deps: Dependencies,
    project: Project,
    base_commit: str,
    tree: str,
    *,
    task: Task | None = None,
    keep: bool = False,
) -> tuple[CheckResult, ...]:
    """Run the project's tests on `tree`, and on its base where that was not done yet; say whose doing a failure is.

    Args:
        base_commit: the commit that the tree was made on. It must be pinned, and the tree kept from gc.
        task: whose tree it is, for the screens; None where it belongs to none.
        keep: remember the result as one of `tree` itself, which is about to be somebody's base.

    Returns:
        One result named "tests". UNTESTED, with the reason, where there is no command, no sandbox, or a part is missing.
    """
    if not project.check.strip():
        return (UNTESTED,)
    setup = await check_setup(deps, project)
    base_tree = await asyncio.to_thread(setup.private.tree_of, base_commit)
    before = await baseline_of(deps, setup, base_tree)
    if tree == base_tree:
        run = SuiteRun(before.outcome, before.failures, before.detail, before.seconds)
        return (compared(before, run),)
    deps.on_live({"task": task.id if task else "", "checking": project.name})
    spec = await asyncio.to_thread(prepare, project, setup.private, tree)
    after = await _run_suite(deps, setup, tree, spec)
    if keep:
        await _remember(deps.store, setup, spec, tree, after)
    return (compared(before, after),)


async def check_setup(deps: Dependencies, project: Project) -> CheckSetup:
    """Look at the sandbox and the settings."""
    checks = deps.settings.checks
    private = await asyncio.to_thread(deps.repositories.private, project)
    return CheckSetup(
        project=project,
        private=private,
        limits=Limits(seconds=checks.timeout_seconds, memory_mb=checks.memory_mb),
        sandbox=Sandbox(reason="switched off") if checks.unsandboxed else await asyncio.to_thread(probe),
        without=checks.unsandboxed,
        scratch=deps.paths.root / SCRATCH,
    )


async def baseline_of(
    deps: Dependencies, setup: CheckSetup, base_tree: str, *, rerun: bool = False
) -> Baseline:
    """What the project's tests say of an unchanged tree: known, or found out now, once for all who ask.

    Args:
        rerun: run them whatever is known.
    """
    project = setup.project
    async with deps.repositories.baseline_locks[project.id]:
        spec = await asyncio.to_thread(prepare, project, setup.private, base_tree)
        environment = await asyncio.to_thread(environment_digest, setup.sandbox, spec, setup.limits)
        known = deps.reader.baseline(project.id, base_tree, project.check, environment)
        if known is not None and not rerun:
            return known
        return await _remember(
            deps.store, setup, spec, base_tree, await _run_suite(deps, setup, base_tree, spec)
        )


async def _remember(store: Store, setup: CheckSetup, spec: SandboxSpec, tree: str, run: SuiteRun) -> Baseline:
    """Keep what the tests said of a tree that is, or will be, a base."""
    environment = await asyncio.to_thread(environment_digest, setup.sandbox, spec, setup.limits)
    found = Baseline(
        project_id=setup.project.id,
        tree=tree,
        command=setup.project.check,
        environment=environment,
        outcome=run.outcome,
        failures=run.failures,
        detail=run.detail,
        seconds=round(run.seconds, 3),
    )
    if not run.ran:
        # Nothing was started: the obstacle may be gone the next time.
        return found
    with store.transaction() as tx:
        return tx.set_baseline(found)


async def _run_suite(deps: Dependencies, setup: CheckSetup, tree: str, spec: SandboxSpec) -> SuiteRun:
    """One run, when there is room for one more beside those under way. What it prints is redacted."""
    async with deps.cpu_work.room_for_check():
        return await run_tree(deps.redact, setup, tree, spec)


async def run_tree(redact: Redactor, setup: CheckSetup, tree: str, spec: SandboxSpec) -> SuiteRun:
    """The project's tests on one tree, at once. A cancellation kills them. What they print is redacted."""
    await asyncio.to_thread(learn_withheld, redact, setup.project, setup.private, tree)
    return await cancellable(
        partial(
            run_suite,
            spec,
            setup.private,
            tree,
            setup.limits,
            setup.sandbox,
            setup.scratch,
            without=setup.without,
            redact=redact,
        )
    )
