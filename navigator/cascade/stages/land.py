"""Landing: an approved tree reaches a branch, journaled before it is acted on; and the way back.

The order is fixed: the plan is made beside the user's repository, the plan is written down, the reference moves by
compare-and-swap, the outcome is written down. After a crash `recover_landings` looks at the reference itself; so does
the next landing in the same project, before it plans anything, whoever makes it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import TypeVar

from navigator.cascade.parts import landing_batch, lost_ground, renewed_note, waits_for
from navigator.cascade.repairs import repair_prompts
from navigator.cascade.stages.land_tests import in_turn, tests_are_due, why_not_on
from navigator.cascade.world import World, at_home
from navigator.domain.errors import Conflict, NavigatorError
from navigator.domain.models import Landing, Proposal, Task, utc_now
from navigator.domain.states import DecisionKind, LandingState, TaskState
from navigator.workspace.facts import read_facts
from navigator.workspace.landing import execute_landing, inspect_landing, prepare_landing
from navigator.workspace.plan import LandingPlan, LandingRefused, StaleBase
from navigator.workspace.ref_locks import clear_plan_locks
from navigator.workspace.undo import prepare_undo, undo_result

log = logging.getLogger(__name__)

_UNDO = "undo"
"""Marks a journal entry that takes a landing back."""

TIPS = 3
"""How often a landing is planned anew because somebody moved the branch while its tests ran."""

_T = TypeVar("_T")


async def land(
    world: World, task_id: str, *, allow_rehearsal: bool = False, patience: float | None = None
) -> Landing:
    """Land the approved proposal of a task, or say why not. Landing twice gives the first landing again.

    Where the branch's tip is no longer the proposal's base, the project's tests run on the result first; while they do,
    only other landings of the project wait.

    Args:
        patience: seconds that those tests may be expected to take; None for as long as they do.

    Raises:
        TestsDue: they are expected to take longer; the landing stays pending.
    """
    task = world.reader.task(task_id)
    sound = ""
    async with in_turn(world, task, patience):
        for _ in range(TIPS):
            async with world.project_lock(task.project_id):
                # While the lock is held, an open entry of this project can only be what a crash cut off.
                await recover_landings(world, task.project_id)
                task = world.reader.task(task_id)
                proposal = approved_proposal(world, task)
                if proposal.landing is not None and proposal.landing.state is not LandingState.PENDING:
                    return proposal.landing
                made = await _land(
                    world, task, proposal, allow_rehearsal or world.allow_rehearsal_landing, sound
                )
            if isinstance(made, Landing):
                return made
            refusal = await why_not_on(world, task, made, patience)
            if refusal:
                return _refuse(world, proposal, refusal)
            sound = made.tree
    return _refuse(
        world, proposal, "The branch moved each time the tests had passed on its tip. Approve again."
    )


async def _land(
    world: World, task: Task, proposal: Proposal, allow_rehearsal: bool, sound: str
) -> Landing | LandingPlan:
    """One landing under the project's lock; or its plan, where the tests have to pass on the result first.

    Args:
        sound: the tree on which they passed already.
    """
    try:
        _require_nothing_open(world, proposal)
        _require_ground(world, proposal)
        plan = await asyncio.to_thread(_prepare, world, task, proposal, allow_rehearsal)
    except StaleBase as error:
        return _stale(world, task, proposal, str(error))
    except NavigatorError as error:
        return _refuse(world, proposal, str(error))
    if plan.tree != sound and tests_are_due(world, proposal, plan):
        return plan
    with world.store.transaction() as tx:
        entry = tx.journal_open(proposal.id, asdict(plan))
    try:
        await _to_the_end(partial(execute_landing, plan))
    except StaleBase as error:
        _close(world, entry, "stale")
        return _stale(world, task, proposal, str(error))
    except LandingRefused as error:
        _close(world, entry, "refused")
        return _refuse(world, proposal, str(error))
    except (NavigatorError, OSError) as error:
        # Not a refusal but a failure, perhaps half-way (a full disk, git killed): what happened is seen, not guessed.
        await recover_landings(world, task.project_id)
        after = world.reader.proposal(proposal.id).landing
        if after is not None and after.state is LandingState.LANDED:
            return after
        return _refuse(world, proposal, str(error))
    return _landed(world, task, proposal, plan, entry)


async def _to_the_end(work: Callable[[], _T]) -> _T:
    """Run `work` in a thread. A cancellation waits for its end: a reference must not move after its journal was read."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def _require_nothing_open(world: World, proposal: Proposal) -> None:
    for row in world.reader.journal_pending():
        if row["proposal_id"] == proposal.id:
            raise LandingRefused(
                f"An earlier landing of {proposal.id} was cut off and cannot be looked at.",
                hint="Is the repository where it was? Then approve again; the log says what stood in the way.",
            )


def _require_ground(world: World, proposal: Proposal) -> None:
    """What was written on top of a part lands after it, and on its branch."""
    part = waits_for(world.reader, proposal)
    if part is not None:
        raise LandingRefused(
            f"{proposal.id} was written on top of {part.id}, which has not landed yet.",
            hint=f"Approve {part.id} first, then {proposal.id} again.",
        )
    lost = lost_ground(world.reader, proposal)
    if lost:
        raise StaleBase(lost, paths=proposal.paths, hint="The task starts a new attempt on today's files.")


def _prepare(world: World, task: Task, proposal: Proposal, allow_rehearsal: bool) -> LandingPlan:
    project = world.project(task.project_id)
    with at_home(project):
        facts = read_facts(project.path)
    return prepare_landing(
        project,
        facts,
        world.private(project),
        proposal,
        landing_batch(world.reader, proposal),
        commit_message(task, proposal),
        trailers=_trailers(proposal, repair_prompts(world.reader, proposal)),
        landed=world.reader.landed_commits(project.id),
        allow_rehearsal=allow_rehearsal,
    )


def commit_message(task: Task, proposal: Proposal) -> str:
    """The task's own words: its first line as the subject, the rest below."""
    text = task.text.strip()
    first, _, rest = text.partition("\n")
    body = rest.strip() if proposal.title == first.strip() else text
    return f"{proposal.title}\n\n{body}".strip() + "\n"


def _trailers(proposal: Proposal, repairs: tuple[str, ...]) -> dict[str, str]:
    """Who wrote and who reviewed, with which prompts; those of the repairs follow the one that led the round."""
    lines = {"Generated-By": " ".join((proposal.model, proposal.prompt_version, *repairs))}
    if proposal.review is not None:
        review = proposal.review
        lines["Reviewed-By-Model"] = f"{review.model} {review.prompt_version} {review.verdict.value}"
    if proposal.parent:
        lines["Navigator-Part-Of"] = f"{proposal.parent} ({', '.join(proposal.hunks)}), reviewed as a whole"
    if proposal.rehearsal:
        lines["Rehearsal"] = "true"
    return lines


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
        tx.set_task_state(task.id, TaskState.STALE, reason=reason, note=renewed_note(tx.read, task))
    return landing


def _close(world: World, entry: int, outcome: str) -> None:
    with world.store.transaction() as tx:
        tx.journal_close(entry, outcome)


async def undo(world: World, proposal_id: str) -> Landing:
    """Take a landing back: by compare-and-swap while the tip is ours, else a revert commit on a new branch.

    Raises:
        Conflict: the proposal has not landed.
        LandingRefused: it can not be taken back any more, in words.
    """
    proposal = world.reader.proposal(proposal_id)
    if proposal.landing is None or proposal.landing.state is not LandingState.LANDED:
        raise Conflict(
            f"{proposal.id} has not landed.",
            hint="`navigator proposals --state landed` lists those that have.",
        )
    project = world.project(proposal.project_id)
    async with world.project_lock(project.id):
        await recover_landings(world, project.id)
        landed = LandingPlan.from_dict(world.reader.landing_plan(proposal.id))

        def prepare() -> LandingPlan:
            with at_home(project):
                facts = read_facts(project.path)
            return prepare_undo(landed, facts, world.private(project))

        plan = await asyncio.to_thread(prepare)
        with world.store.transaction() as tx:
            entry = tx.journal_open(proposal.id, asdict(plan) | {_UNDO: True})
        try:
            await _to_the_end(partial(execute_landing, plan))
        except LandingRefused:
            _close(world, entry, "refused")
            raise
        except (NavigatorError, OSError):
            await recover_landings(world, project.id)
            raise
        return _undone(world, proposal, plan, entry)


def _undone(world: World, proposal: Proposal, plan: LandingPlan, entry: int) -> Landing:
    result = undo_result(plan)
    undone = Landing(
        state=LandingState.UNDONE,
        ref=result.ref,
        commit=result.commit,
        reason=_HOW[result.kind].format(branch=plan.branch),
        at=utc_now(),
    )
    with world.store.transaction() as tx:
        tx.journal_close(entry, "undone")
        tx.set_landing(proposal.id, undone)
        tx.set_task_state(proposal.task_id, TaskState.UNDONE)
    return undone


_HOW = {
    "moved_back": "{branch} stands where it stood before",
    "branch_deleted": "{branch}, which the landing had made, is gone",
    "revert_branch": "a revert commit stands on {branch}",
}


async def recover_landings(world: World, project_id: int | None = None) -> int:
    """Finish what a crash cut off between the journal and the outcome; returns how many entries were closed.

    An entry whose repository cannot be read stays open, and nothing of its proposal lands before it can.

    Args:
        project_id: only this project's; the caller holds its lock. None: all, and nothing else runs.
    """
    closed = 0
    for row in world.reader.journal_pending():
        plan = LandingPlan.from_dict(row["plan"])
        proposal = world.reader.proposal(row["proposal_id"])
        if project_id is not None and proposal.project_id != project_id:
            continue
        task = world.reader.task(proposal.task_id)
        try:
            seen = await _to_the_end(partial(_finish, plan, row["opened"]))
        except (NavigatorError, OSError) as error:
            log.warning("what was cut off for %s cannot be looked at: %s", proposal.id, error)
            continue
        log.info("what was cut off for %s: %s", proposal.id, seen)
        if seen != "done":
            # The task is still approved and its landing pending (or still landed, for an undo): it is tried anew, and
            # what a reference that moved away means is judged then, against the tip as it stands.
            _close(world, row["id"], seen)
        elif row["plan"].get(_UNDO):
            _undone(world, proposal, plan, row["id"])
        else:
            _landed(world, task, proposal, plan, row["id"])
        closed += 1
    return closed


def _finish(plan: LandingPlan, opened: str) -> str:
    """How far a journaled plan got; one that began to write files is carried to its end first.

    Locks that a git of the plan left when it was killed go before anything is looked at: with them, nobody's git could
    move the branch again.
    """
    for path in clear_plan_locks(plan, since=datetime.fromisoformat(opened).timestamp()):
        log.warning("%s: took away %s, which a killed git had left", plan.proposal, path)
    seen = inspect_landing(plan)
    if seen != "partial":
        return seen
    try:
        execute_landing(plan)
    except LandingRefused as error:
        log.warning("%s stays unfinished: %s", plan.proposal, error)
        return "diverged"
    return inspect_landing(plan)
