"""Between an answer and its review: the project's tests and what a failure leads to; the gates on what no model wrote here.

A failure that the base does not have goes back to the model that wrote, while that one is resident and has repairs left;
a repair is no round. Otherwise the proposal goes to review with the failure. Everything is in the store before it is
acted on: a restart tests again, or repairs, and asks for nothing twice.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from navigator.checks.policy import check_policy
from navigator.checks.syntax import GrammarGate, syntax_check
from navigator.git.diffs import ABSENT
from navigator.git.private import PrivateRepo
from navigator.journey import change
from navigator.journey.checking import FINDING_TESTS, run_checks
from navigator.journey.dependencies import Dependencies
from navigator.model.models import CheckResult, Proposal, Task
from navigator.model.states import CheckOutcome, PolicyAction, TaskState
from navigator.model.text import safe_line
from navigator.sandbox.suite import NAME

if TYPE_CHECKING:
    from navigator.journey.prompts.material import Ground

log = logging.getLogger(__name__)

TEST_REPAIRS = 2
"""Repairs of one round that failing tests may ask for."""

TESTS_FAILED = "tests_failed"
"""A call's outcome once its answer applied and broke tests that the base passes."""


def tests_of(proposal: Proposal) -> CheckResult | None:
    """What the project's tests said of a proposal; None where they were not run yet."""
    return next((check for check in proposal.checks if check.name == NAME), None)


async def try_proposal(deps: Dependencies, task: Task, proposal: Proposal) -> None:
    """Run the project's tests on a task's proposal; then to the reviewer, or back to the writer."""
    project = deps.project(task.project_id)
    results = await run_checks(deps, project, proposal.base_commit, proposal.tree, task=task)
    again: tuple[CheckResult, ...] = ()
    if proposal.round:
        from navigator.journey.proving import run_again

        again = await run_again(deps, task, proposal)
    old = (check for check in proposal.checks if check.name not in (NAME, FINDING_TESTS))
    checks = (*old, *results, *again)
    failed = any(check.outcome is CheckOutcome.FAILED for check in results)
    answer = deps.reader.last_answer(task.id, task.attempt, task.round, role=proposal.written_by)
    made = deps.reader.answers_judged(
        task.id, task.attempt, task.round, TESTS_FAILED, role=proposal.written_by
    )
    repair = failed and answer is not None and made < TEST_REPAIRS and deps.at_hand(proposal.written_by)
    log.info("%s: %s", task.id, "; ".join(f"{check.name} {check.outcome.value}" for check in results))
    with deps.store.transaction() as tx:
        tx.set_checks(proposal.id, checks)
        if repair and answer is not None:
            tx.judge_call(answer.call_id, TESTS_FAILED)
            turns = tx.read.agent_turns(task.id, task.attempt, task.round)
            if turns:
                tx.judge_agent_turn(turns[-1].id, TESTS_FAILED)
            change.start_writing(tx, task, "tests fail: a repair is due")
        else:
            change.ask_review(tx, task)


async def keep(deps: Dependencies, ground: Ground, tree: str) -> None:
    """Keep a tree from the private repository's own gc, before the row that names it exists."""
    task = ground.task
    name = f"{task.id}-{task.attempt}-{task.round}"
    async with deps.project_lock(task.project_id):
        await asyncio.to_thread(ground.source.private.keep, name, tree, ground.source.treeish)


# A part of a proposal, or a change that exists: no model writes it.

PARSE = "files parse"


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


async def check_existing(deps: Dependencies, task: Task) -> None:
    """Whether the files of an existing change parse; then to the reviewer. Its tests are its author's business.

    Raises:
        NavigatorError: the private repository cannot be read.
    """
    if task.state is not TaskState.CHECKING:
        return
    proposal = deps.reader.open_proposal(task.id)
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
    for file in raw:
        if file.new_mode == ABSENT:
            continue
        now = private.read_blob(file.new_sha)
        was = private.read_blob(file.old_sha) if file.old_mode.startswith("100") else None
        if problem := syntax_check(file.path, now):
            before.append(was is not None and syntax_check(file.path, was) is not None)
        elif problem := grammars.new_fault(file.path, was, now):
            before.append(False)
        else:
            continue
        problems.append(f"{safe_line(file.path)}:{problem}")
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
