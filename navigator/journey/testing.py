"""Between an answer and its review: the project's tests, which of their failures the writer may repair; the gates on what no
model wrote here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from navigator.checks.policy import check_policy
from navigator.checks.syntax import GrammarGate, syntax_check
from navigator.git.diffs import ABSENT
from navigator.git.private import PrivateRepo
from navigator.journey.checking import run_checks
from navigator.journey.dependencies import Dependencies
from navigator.model.models import CheckResult, Proposal, Task
from navigator.model.states import CheckOutcome, PolicyAction
from navigator.model.text import safe_line
from navigator.sandbox.suite import NAME
from navigator.store.writes.ledger import TESTS_FAILED

if TYPE_CHECKING:
    from navigator.journey.prompts.material import Ground
    from navigator.journey.repositories import Repositories
    from navigator.store.reads.ledger import StoredAnswer
    from navigator.store.writes.writer import Transaction

log = logging.getLogger(__name__)

TEST_REPAIRS = 2
"""Repairs of one round that failing tests may ask for."""


def tests_of(proposal: Proposal) -> CheckResult | None:
    """What the project's tests said of a proposal; None where they were not run yet."""
    return next((check for check in proposal.checks if check.name == NAME), None)


async def run_tests(deps: Dependencies, task: Task, proposal: Proposal) -> tuple[CheckResult, ...]:
    """The project's tests on a proposal; on a revision those of earlier findings, too.

    Raises:
        NavigatorError: the private repository cannot be read.
    """
    project = deps.reader.project(task.project_id)
    results = await run_checks(deps, project, proposal.base_commit, proposal.tree, task=task)
    log.info("%s: %s", task.id, "; ".join(f"{check.name} {check.outcome.value}" for check in results))
    if proposal.round:
        from navigator.journey.proving import run_again

        results += await run_again(deps, task, proposal)
    return results


def repairable(
    deps: Dependencies, task: Task, proposal: Proposal, checks: Sequence[CheckResult]
) -> StoredAnswer | None:
    """The answer that failed the project's tests, where its writer is loaded and has a repair left; else None."""
    writer, place = proposal.written_by, (task.id, task.attempt, task.round)
    failed = any(check.name == NAME and check.outcome is CheckOutcome.FAILED for check in checks)
    if not failed or not deps.servers.at_hand(writer):
        return None
    made = deps.reader.answers_judged(*place, writer, TESTS_FAILED)
    return deps.reader.last_answer(*place, role=writer) if made < TEST_REPAIRS else None


def judge_failing(tx: Transaction, task: Task, answer: StoredAnswer) -> None:
    """Note that an answer applied, and that the project's tests fail with it."""
    tx.judge_call(answer.call_id, TESTS_FAILED)
    turns = tx.read.agent_turns(task.id, task.attempt, task.round)
    if turns:
        tx.judge_agent_turn(turns[-1].id, TESTS_FAILED)


async def keep(repositories: Repositories, ground: Ground, tree: str) -> None:
    """Keep a tree from the private repository's own gc, before the row that names it exists."""
    task = ground.task
    name = f"{task.id}-{task.attempt}-{task.round}"
    await repositories.locked(task.project_id, ground.source.private.keep, name, tree, ground.source.treeish)


# A part of a proposal, or a change that exists: no model writes it.

PARSE = "files parse"


async def gates_of(deps: Dependencies, proposal: Proposal) -> tuple[CheckResult, ...]:
    """The gates that need no test run, of a proposal that no model wrote here.

    Raises:
        NavigatorError: the private repository cannot be read.
    """
    async with deps.repositories.opened(deps.reader.project(proposal.project_id)) as private:
        return await asyncio.to_thread(_gates, private, proposal)


def _gates(private: PrivateRepo, proposal: Proposal) -> tuple[CheckResult, ...]:
    """Does each changed file parse, and what does the policy say of the tree."""
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
    return (
        CheckResult(name=PARSE, outcome=parsed, detail="\n".join(problems)),
        CheckResult(
            name="path policy",
            outcome=CheckOutcome.FAILED if refused else CheckOutcome.PASSED,
            detail="\n".join(f"{safe_line(item.path)} {item.detail}" for item in refused),
        ),
    )
