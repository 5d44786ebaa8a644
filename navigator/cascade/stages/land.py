"""Landing: an approved tree reaches a branch, journaled before it is acted on; and the way back.

The order is fixed: objects are copied (which moves nothing), the plan is written down, the reference moves by
compare-and-swap, the outcome is written down. After a crash `recover_landings` looks at the reference itself.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import asdict

from navigator.cascade.world import World
from navigator.domain.errors import Conflict, NavigatorError
from navigator.domain.models import Landing, Proposal, Task, utc_now
from navigator.domain.states import DecisionKind, LandingState, TaskState
from navigator.workspace.facts import read_facts
from navigator.workspace.landing import (
    LandingPlan,
    LandingRefused,
    StaleBase,
    execute_landing,
    inspect_landing,
    prepare_landing,
)
from navigator.workspace.undo import undo_landing

log = logging.getLogger(__name__)


async def land(world: World, task_id: str, *, allow_rehearsal: bool = False) -> Landing:
    """Land the approved proposal of a task, or say why not. Landing twice gives the first landing again."""
    task = world.reader.task(task_id)
    async with world.project_lock(task.project_id):
        task = world.reader.task(task_id)
        proposal = approved_proposal(world, task)
        if proposal.landing is not None and proposal.landing.state is not LandingState.PENDING:
            return proposal.landing
        return await _land(world, task, proposal, allow_rehearsal or world.allow_rehearsal_landing)


async def _land(world: World, task: Task, proposal: Proposal, allow_rehearsal: bool) -> Landing:
    project = world.project(task.project_id)
    if proposal.rehearsal and not (project.demo or allow_rehearsal):
        return _refuse(
            world,
            proposal,
            "A rehearsal wrote this; it lands only in repositories that `navigator demo` made, "
            "or with --allow-rehearsal-landing.",
        )
    try:
        plan = await asyncio.to_thread(_prepare, world, task, proposal)
    except StaleBase as error:
        return _stale(world, task, proposal, str(error))
    except NavigatorError as error:
        return _refuse(world, proposal, str(error))
    with world.store.transaction() as tx:
        entry = tx.journal_open(proposal.id, asdict(plan))
    try:
        await asyncio.to_thread(execute_landing, plan)
    except StaleBase as error:
        with world.store.transaction() as tx:
            tx.journal_close(entry, "stale")
        return _stale(world, task, proposal, str(error))
    except LandingRefused as error:
        with world.store.transaction() as tx:
            tx.journal_close(entry, "refused")
        return _refuse(world, proposal, str(error))
    return _landed(world, task, proposal, plan, entry)


def _prepare(world: World, task: Task, proposal: Proposal) -> LandingPlan:
    project = world.project(task.project_id)
    return prepare_landing(
        project,
        read_facts(project.path),
        world.private(project),
        proposal,
        proposal.batch,
        commit_message(task, proposal),
    )


def commit_message(task: Task, proposal: Proposal) -> str:
    """The task's own words, and trailers that name who wrote and who reviewed, with which prompts."""
    lines = [line.rstrip() for line in task.text.strip().splitlines()]
    body = "\n".join(lines[1:]).strip() if proposal.title == lines[0] else "\n".join(lines)
    trailers = [
        f"Navigator-Proposal: {proposal.id}",
        f"Generated-by: {proposal.model} ({proposal.prompt_version})",
    ]
    if proposal.review is not None:
        word = proposal.review.verdict.value
        trailers.append(
            f"Reviewed-by-model: {proposal.review.model} ({proposal.review.prompt_version}) {word}"
        )
    if proposal.rehearsal:
        trailers.append("Rehearsal: true")
    return "\n\n".join(part for part in (proposal.title, body, "\n".join(trailers)) if part) + "\n"


def approved_proposal(world: World, task: Task) -> Proposal:
    """The proposal the developer approved.

    Raises:
        Conflict: the task has none.
    """
    for proposal in reversed(world.reader.proposals(task_id=task.id)):
        if proposal.decision is not None and proposal.decision.kind is DecisionKind.APPROVE:
            return proposal
    raise Conflict(f"{task.id} has no approved proposal.", hint=f"`navigator task show {task.id}` shows it.")


def _landed(world: World, task: Task, proposal: Proposal, plan: LandingPlan, entry: int) -> Landing:
    landing = Landing(
        state=LandingState.LANDED,
        ref=plan.ref,
        commit=plan.commit,
        transplanted=plan.transplanted,
        at=utc_now(),
    )
    with world.store.transaction() as tx:
        tx.journal_close(entry, "landed")
        tx.set_landing(proposal.id, landing)
        tx.set_task_state(task.id, TaskState.LANDED)
    return landing


def _refuse(world: World, proposal: Proposal, reason: str) -> Landing:
    landing = Landing(state=LandingState.REFUSED, reason=reason, at=utc_now())
    with world.store.transaction() as tx:
        tx.set_landing(proposal.id, landing)
    return landing


def _stale(world: World, task: Task, proposal: Proposal, reason: str) -> Landing:
    landing = Landing(state=LandingState.REFUSED, reason=reason, at=utc_now())
    with world.store.transaction() as tx:
        tx.set_landing(proposal.id, landing)
        tx.set_task_state(task.id, TaskState.STALE, reason=reason)
    return landing


async def undo(world: World, proposal_id: str) -> Landing:
    """Take a landing back: by compare-and-swap while the tip is ours, else a revert commit on a new branch.

    Raises:
        Conflict: the proposal has not landed.
    """
    proposal = world.reader.proposal(proposal_id)
    landing = proposal.landing
    if landing is None or landing.state is not LandingState.LANDED:
        raise Conflict(
            f"{proposal.id} has not landed.",
            hint="`navigator proposals --state landed` lists those that have.",
        )
    project = world.project(proposal.project_id)
    async with world.project_lock(project.id):
        plan = LandingPlan(**world.reader.journal_plan(proposal.id))
        result = await asyncio.to_thread(
            lambda: undo_landing(plan, project, read_facts(project.path), world.private(project))
        )
        undone = Landing(
            state=LandingState.UNDONE,
            ref=result.ref,
            commit=result.commit,
            transplanted=landing.transplanted,
            reason=result.how,
            at=utc_now(),
        )
        with world.store.transaction() as tx:
            tx.set_landing(proposal.id, undone)
            tx.set_task_state(proposal.task_id, TaskState.UNDONE)
    return undone


async def recover_landings(world: World) -> int:
    """Finish what a crash cut off between the journal and the outcome; returns how many entries were closed."""
    closed = 0
    for row in world.reader.journal_pending():
        entry, proposal_id, plan = row["id"], row["proposal_id"], LandingPlan(**row["plan"])
        proposal = world.reader.proposal(proposal_id)
        task = world.reader.task(proposal.task_id)
        seen = await asyncio.to_thread(inspect_landing, plan)
        log.info("landing of %s was cut off: %s", proposal_id, seen)
        if seen == "done":
            _landed(world, task, proposal, plan, entry)
        else:
            # Not done: the task is still approved and its landing pending, so the loop lands it anew;
            # what a diverged reference means is judged there, against the tip as it stands.
            with world.store.transaction() as tx:
                tx.journal_close(entry, seen)
        closed += 1
    return closed
