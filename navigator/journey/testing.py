"""Between an answer and its review: the project's tests, and what a failure leads to.

A failure that the base does not have goes back to the model that wrote, while that one is resident and has repairs left;
a repair is no round. Otherwise the proposal goes to review with the failure. Everything is in the store before it is
acted on: a restart tests again, or repairs, and asks for nothing twice.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from navigator.journey import change
from navigator.journey.calls import Message
from navigator.journey.change import proposal_of_round
from navigator.journey.checking import FINDING_TESTS, run_checks
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.blocks import data_block
from navigator.model.models import CheckResult, Proposal, Task
from navigator.model.states import CheckOutcome
from navigator.model.text import safe_line
from navigator.sandbox.suite import NAME

if TYPE_CHECKING:
    from navigator.journey.prompts.material import Ground, Material

log = logging.getLogger(__name__)

TEST_REPAIRS = 2
"""Repairs of one round that failing tests may ask for."""

TESTS_FAILED = "tests_failed"
"""A call's outcome once its answer applied and broke tests that the base passes."""


def tests_of(proposal: Proposal) -> CheckResult | None:
    """What the project's tests said of a proposal; None where they were not run yet."""
    return next((check for check in proposal.checks if check.name == NAME), None)


def untested(deps: Dependencies, task: Task) -> Proposal | None:
    """The proposal of a task in `checking` whose tests are due; None where its newest answer is no proposal yet."""
    proposal = proposal_of_round(deps.reader, task)
    return proposal if proposal is not None and tests_of(proposal) is None else None


async def try_proposal(deps: Dependencies, task: Task, proposal: Proposal) -> None:
    """Run the project's tests on a task's proposal; then to the reviewer, or back to the writer."""
    project = deps.project(task.project_id)
    results = await run_checks(deps, project, proposal.base_commit, proposal.tree, task=task)
    again: tuple[CheckResult, ...] = ()
    if proposal.round:
        from navigator.journey.proving import run_again

        again = await run_again(deps, task, proposal)
    checks = (
        *(check for check in proposal.checks if check.name not in (NAME, FINDING_TESTS)),
        *results,
        *again,
    )
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


def repair_messages(deps: Dependencies, material: Material) -> tuple[str, list[Message]] | None:
    """The message to the writer after its answer broke tests, with the prompt's version; None without a test result."""
    proposal = proposal_of_round(deps.reader, material.task)
    result = tests_of(proposal) if proposal is not None else None
    if result is None:
        return None
    key = deps.keys.key_for([result.detail])
    _, user, version = deps.prompts.render(
        "repair-tests",
        command=safe_line(material.source.project.check),
        output=data_block("output", key, result.detail),
    )
    return version, [{"role": "user", "content": user}]


async def keep(deps: Dependencies, ground: Ground, tree: str) -> None:
    """Keep a tree from the private repository's own gc, before the row that names it exists."""
    task = ground.task
    name = f"{task.id}-{task.attempt}-{task.round}"
    async with deps.project_lock(task.project_id):
        await asyncio.to_thread(ground.source.private.keep, name, tree, ground.source.treeish)
