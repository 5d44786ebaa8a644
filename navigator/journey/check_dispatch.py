"""How a task in `checking` continues, and the gates on a part of a proposal: no model writes or reviews it."""

from __future__ import annotations

import asyncio

from navigator.checks.policy import check_policy
from navigator.checks.syntax import GrammarGate, syntax_check
from navigator.git.diffs import ABSENT
from navigator.git.private import PrivateRepo
from navigator.journey import change
from navigator.journey.checking import run_checks
from navigator.journey.dependencies import Dependencies
from navigator.journey.testing import try_proposal, untested
from navigator.journey.write import write
from navigator.model.models import CheckResult, Proposal, Task
from navigator.model.states import CheckOutcome, PolicyAction, TaskState
from navigator.model.text import safe_line

PARSE = "files parse"


async def check(deps: Dependencies, task_id: str) -> None:
    """Take a task on from checking: a part through its gates, a reviewed proposal through the tests of its findings, any
    other through its own tests, an answer as the writing stage left it."""
    if is_part(deps, task_id):
        await check_part(deps, task_id)
        return
    task = deps.reader.task(task_id)
    if task.ref:
        await check_existing(deps, task)
        return
    reviewed = change.proposal_of_round(deps.reader, task)
    if reviewed is not None and reviewed.review is not None and task.state is TaskState.CHECKING:
        await _settle(deps, task, reviewed)
        return
    proposal = untested(deps, task)
    if proposal is not None and task.state is TaskState.CHECKING:
        await try_proposal(deps, task, proposal)
    else:
        await write(deps, task_id)


def is_part(deps: Dependencies, task_id: str) -> bool:
    """Whether the task's current proposal is a part of another proposal."""
    task = deps.reader.task(task_id)
    held = deps.reader.proposals(task_id=task.id)
    return bool(held) and bool(held[-1].parent) and held[-1].attempt == task.attempt


async def check_part(deps: Dependencies, task_id: str) -> None:
    """Run every gate on a part's own tree; whatever they say, the developer sees it with the part.

    Raises:
        NavigatorError: the private repository cannot be read.
    """
    task = deps.reader.task(task_id)
    if task.state is not TaskState.CHECKING:
        return
    proposal = deps.reader.open_proposal(task.id)
    project = deps.project(task.project_id)
    async with deps.project_lock(project.id):
        private = await asyncio.to_thread(deps.private, project)
        checks = await asyncio.to_thread(gates, private, proposal)
    checks += await run_checks(deps, project, proposal.base_commit, proposal.tree, task=task)
    with deps.store.transaction() as tx:
        tx.set_checks(proposal.id, checks)
        change.to_developer(tx, task)


async def _settle(deps: Dependencies, task: Task, proposal: Proposal) -> None:
    from navigator.journey.proving import settle  # few proposals have tests of findings

    await settle(deps, task, proposal)


async def check_existing(deps: Dependencies, task: Task) -> None:
    """Whether the files of an existing change parse; then to the reviewer. Its tests are its author's business.

    Raises:
        NavigatorError: the private repository cannot be read.
    """
    if task.state is not TaskState.CHECKING:
        return
    proposal = deps.reader.open_proposal(task.id)
    if proposal.review is not None:
        await _settle(deps, task, proposal)
        return
    async with deps.project_lock(task.project_id):
        private = await asyncio.to_thread(deps.private, deps.project(task.project_id))
        checks = await asyncio.to_thread(gates, private, proposal)
    with deps.store.transaction() as tx:
        tx.set_checks(proposal.id, [check for check in checks if check.name == PARSE])
        change.ask_review(tx, task)


def gates(private: PrivateRepo, proposal: Proposal) -> list[CheckResult]:
    """The gates that need no test run: does each changed file parse, and what does the policy say of the tree."""
    raw = private.raw_diff(proposal.base_commit, proposal.tree)
    problems: list[str] = []
    before: list[bool] = []
    grammars = GrammarGate()
    for touched in raw:
        if touched.new_mode == ABSENT:
            continue
        now = private.read_blob(touched.new_sha)
        was = private.read_blob(touched.old_sha) if touched.old_mode.startswith("100") else None
        if problem := syntax_check(touched.path, now):
            before.append(was is not None and syntax_check(touched.path, was) is not None)
        elif problem := grammars.new_fault(touched.path, was, now):
            before.append(False)
        else:
            continue
        problems.append(f"{safe_line(touched.path)}:{problem}")
    parsed = CheckOutcome.PASSED
    if problems:
        parsed = CheckOutcome.FAILED_BEFORE if all(before) else CheckOutcome.FAILED
    items = check_policy(raw, private.tree_entries(proposal.base_commit).keys(), private.read_blob)
    refused = [item for item in items if item.action is PolicyAction.REFUSE]
    return [
        CheckResult(name=PARSE, outcome=parsed, detail="\n".join(problems)),
        CheckResult(
            name="path policy",
            outcome=CheckOutcome.FAILED if refused else CheckOutcome.PASSED,
            detail="\n".join(f"{safe_line(item.path)} {item.detail}" for item in refused),
        ),
    ]
