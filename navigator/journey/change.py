"""The whole life of a change, in the order in which it is lived: from the first prompt to the developer's decision.

The conductor calls one of these functions when the scheduler has room for it. Each does what takes long, then keeps what came of
it and moves the task on (`moves`), in one transaction: a crash leaves a task between two of them. What is in the store already is
not done again: an answer is judged and not asked for, a review is not read twice. Once the developer has approved,
`land.land` brings the proposal to its branch.

All raise ServingError where the server did not answer, and the task is back where it was; StoreError where nothing can be written
down, and NavigatorError where the private repository cannot be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.client.errors import ServingError
from navigator.journey import moves
from navigator.journey.dependencies import Dependencies
from navigator.journey.drafting import NotApplied, act_on
from navigator.journey.prompts.material import gather
from navigator.journey.reproducing import ask_tests
from navigator.journey.review import is_careful, keep_review, read_proposal
from navigator.journey.testing import PARSE, gates_of, judge_failing, repairable, run_tests, tests_of
from navigator.journey.write import (
    agent_writes,
    answered,
    applied,
    begin,
    is_report,
    repaired,
    report,
    way_of,
)
from navigator.model.models import Proposal, Review, Task
from navigator.model.states import REPORT_KINDS, Escalation, Role, TaskState, Verdict

if TYPE_CHECKING:
    from navigator.config.settings import Settings
    from navigator.store.writes.writer import Transaction


async def write(deps: Dependencies, task_id: str) -> None:
    """The first proposal, or a revision: the writer is asked until its answer applies, or until it has no repair left."""
    task = deps.reader.task(task_id)
    if agent_writes(deps, task):
        from navigator.journey.agent_write import write_with_agent

        await write_with_agent(deps, task)
        return
    material = await begin(deps, task, gather(deps, task, deps.writer_of(task)))
    if material is None:
        return
    if task.kind in REPORT_KINDS:
        await report(deps, material)
        return
    answer = await answered(deps, material)
    if answer is not None and is_report(material, answer):
        deps.move(moves.keep_report, task, answer)
        return
    while answer is not None:
        made = await applied(deps, material, answer)
        if not isinstance(made, NotApplied):
            await act_on(deps, material, made, way=way_of(material), who=material.writer.value)
            return
        answer = await repaired(deps, material, answer, made)


async def check(deps: Dependencies, task_id: str) -> None:
    """What needs no model. Of a part, and of a change that exists, nobody has to write anything: their life begins here."""
    task = deps.reader.task(task_id)
    if task.state is not TaskState.CHECKING:
        return  # cancelled in the meantime
    made = moves.proposal_of_round(deps.reader, task)
    if made is None:
        await write(deps, task_id)  # an interruption left an answer that was not judged
    elif made.parent:
        checks = await gates_of(deps, made) + await run_tests(deps, task, made)
        with deps.store.transaction() as tx:
            tx.set_checks(made.id, checks)
            moves.to_developer(tx, task)
    elif made.review is not None:
        await prove(deps, task, made)
    elif task.ref:
        checks = await gates_of(deps, made)  # its tests are its author's business
        with deps.store.transaction() as tx:
            tx.set_checks(made.id, [check for check in checks if check.name == PARSE])
            moves.ask_review(tx, task)
    elif tests_of(made) is None:
        await try_out(deps, task, made)
    else:
        await write(deps, task_id)


async def try_out(deps: Dependencies, task: Task, made: Proposal) -> None:
    """The project's tests run. A failure that is not the base's goes back to the writer, as long as it is loaded and has a
    repair left; a repair is no round. Else the reviewer sees it."""
    checks = (*made.checks, *await run_tests(deps, task, made))
    answer = repairable(deps, task, made, checks)
    with deps.store.transaction() as tx:
        tx.set_checks(made.id, checks)
        if answer is not None:
            judge_failing(tx, task, answer)
            moves.start_writing(tx, task, "tests fail: a repair is due")
        else:
            moves.ask_review(tx, task)


async def review(deps: Dependencies, task_id: str) -> None:
    """The reviewer reads it. A finding that a test can prove gets one, asked for in the same conversation."""
    task, made = deps.reader.task(task_id), deps.reader.open_proposal(task_id)
    deps.move(moves.start_review, task)
    try:
        read = await read_proposal(deps, task, made)
        if not read.kept:
            with deps.store.transaction() as tx:
                found = keep_review(tx, deps, made, read)
                if not read.tests:
                    after_review(tx, deps.settings, task, found)
                    return
        await ask_tests(deps, task, made, read.talks)
    except ServingError as error:
        deps.move(moves.ask_review, task, str(error))
        raise
    deps.move(moves.test_findings, task)


async def prove(deps: Dependencies, task: Task, made: Proposal) -> None:
    """The tests of the findings run, on the CPU alone; only then does the verdict count."""
    from navigator.journey.proving import run_pending, settled

    held = await run_pending(deps, task, made)
    with deps.store.transaction() as tx:
        after_review(tx, deps.settings, task, settled(tx, deps.settings, made, held))


def after_review(tx: Transaction, settings: Settings, task: Task, found: Review) -> None:
    """To the next revision, to the final model, or to the developer; after a second reading always to the developer."""
    revise = found.verdict is Verdict.REVISE and not found.advice and not task.ref
    if task.escalated is Escalation.AGAIN:
        moves.to_developer(tx, task)
    elif revise and task.round < settings.batch.revisions:
        moves.revise(tx, task)
    elif settings.final.enabled:
        moves.ask_final(tx, task)
    elif is_careful(tx.read, settings, task):
        moves.escalate(tx, task, final=True)
    else:
        moves.to_developer(tx, task)


async def read_last(deps: Dependencies, task_id: str) -> None:
    """The final model reads it, where there is one. What was escalated goes back to the developer without its answer, too."""
    task, made = deps.reader.task(task_id), deps.reader.open_proposal(task_id)
    try:
        read = await read_proposal(deps, task, made, Role.FINAL)
    except ServingError as error:
        if task.escalated:
            deps.move(moves.after_final, task, f"The final model did not answer: {error}")
        raise
    with deps.store.transaction() as tx:
        keep_review(tx, deps, made, read)
        moves.after_final(tx, task)
