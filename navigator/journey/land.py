"""Landing: an approved tree reaches a branch, journaled before it is acted on; and the way back.

The order is fixed: the plan is made beside the user's repository, the plan is written down, the reference moves by
compare-and-swap, the outcome is written down. After a crash `recover_landings` looks at the reference itself; so does
the next landing in the same project, before it plans anything, whoever makes it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import ClassVar, TypeVar

from navigator.git.facts import read_facts
from navigator.journey import moves
from navigator.journey.checking import run_checks
from navigator.journey.dependencies import Dependencies
from navigator.journey.repositories import Repositories, at_home
from navigator.landing.checkout import holds_lock
from navigator.landing.land import execute_landing, inspect_landing, prepare_landing
from navigator.landing.plan import LandingPlan, LandingRefused, StaleBase, clear_plan_locks
from navigator.landing.undo import prepare_undo, undo_result
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Landing, Proposal, Task, utc_now
from navigator.model.states import CheckOutcome, DecisionKind, LandingState
from navigator.sandbox.suite import NAME
from navigator.sheet.parts import landing_batch, note_after_part, waits_for, why_part_is_lost
from navigator.sheet.writing import repair_prompts
from navigator.store.reads.reader import Reader
from navigator.store.writes.writer import Store

log = logging.getLogger(__name__)

_UNDO = "undo"
"""Marks a journal entry of an undo."""

TIPS = 3
"""How often a landing is planned again because the branch moved while its tests ran."""

_T = TypeVar("_T")


class TestsDue(NavigatorError):
    """A landing waits for tests that take longer than the caller is willing to wait; the conductor runs them."""

    code: ClassVar[str] = "tests_due"
    __test__ = False


async def land(deps: Dependencies, task_id: str, *, patience: float | None = None) -> Landing:
    """Land the approved proposal of a task, or say why not. Landing twice gives the first landing again.

    Where the branch's tip is no longer the proposal's base, the project's tests run on the result first; while they do,
    only other landings of the project wait.

    Args:
        patience: seconds that those tests may be expected to take; None for as long as they do.

    Raises:
        TestsDue: they are expected to take longer; the landing stays pending.
    """
    task = deps.reader.task(task_id)
    sound = ""
    async with _in_turn(deps.repositories, task, patience):
        for _ in range(TIPS):
            async with deps.repositories.lock(task.project_id):
                # While the lock is held, an open entry of this project can only be what a crash cut off.
                await recover_landings(deps, task.project_id)
                task = deps.reader.task(task_id)
                proposal = approved_proposal(deps.reader, task)
                if proposal.landing is not None and proposal.landing.state is not LandingState.PENDING:
                    return proposal.landing
                made = await _land(deps, task, proposal, sound)
            if isinstance(made, Landing):
                return made
            refusal = await _why_not_on(deps, task, made, patience)
            if refusal:
                return _refuse(deps.store, proposal, refusal)
            sound = made.tree
    return _refuse(deps.store, proposal, "The branch kept moving while the tests ran. Approve again.")


async def _land(deps: Dependencies, task: Task, proposal: Proposal, sound: str) -> Landing | LandingPlan:
    """One landing under the project's lock; or its plan, where the tests have to pass on the result first.

    Args:
        sound: the tree on which they passed already.
    """
    try:
        _require_nothing_open(deps.reader, proposal)
        _require_parent_landed(deps.reader, proposal)
        plan = await asyncio.to_thread(_prepare, deps, task, proposal)
    except StaleBase as error:
        return _refuse(deps.store, proposal, str(error), stale=task)
    except NavigatorError as error:
        return _refuse(deps.store, proposal, str(error))
    if plan.tree != sound and _tests_are_due(deps.reader, proposal, plan):
        return plan
    with deps.store.transaction() as tx:
        entry = tx.journal_open(proposal.id, asdict(plan))
    try:
        await _to_the_end(partial(execute_landing, plan))
    except StaleBase as error:
        _close(deps.store, entry, "stale")
        return _refuse(deps.store, proposal, str(error), stale=task)
    except LandingRefused as error:
        _close(deps.store, entry, "refused")
        return _refuse(deps.store, proposal, str(error))
    except (NavigatorError, OSError) as error:
        # Not a refusal but a failure, perhaps half-way (a full disk, git killed): what happened is seen, not guessed.
        await recover_landings(deps, task.project_id)
        after = deps.reader.proposal(proposal.id).landing
        if after is not None and after.state is LandingState.LANDED:
            return after
        return _refuse(deps.store, proposal, str(error))
    return _landed(deps.store, task, proposal, plan, entry)


@asynccontextmanager
async def _in_turn(repositories: Repositories, task: Task, patience: float | None) -> AsyncIterator[None]:
    """One landing of a project at a time, from its plan to its end.

    Raises:
        TestsDue: the tests of another one run, and `patience` is not None.
    """
    lock = repositories.landing_locks[task.project_id]
    turn = asyncio.ensure_future(lock.acquire())
    tests = asyncio.ensure_future(repositories.landing_tests[task.project_id].wait())
    try:
        await asyncio.wait([turn] if patience is None else [turn, tests], return_when=asyncio.FIRST_COMPLETED)
        if not turn.done():
            raise TestsDue(f"It lands after another one in {task.project}, whose tests run now.")
        yield
    finally:
        tests.cancel()
        if not turn.cancel() and not turn.cancelled():
            lock.release()


def _tests_are_due(reader: Reader, proposal: Proposal, plan: LandingPlan) -> bool:
    """Whether the result has to be tested: it is another tree than the proposal's, and the developer did not approve a
    change whose tests fail."""
    if plan.tree == proposal.tree or not reader.project(proposal.project_id).check.strip():
        return False
    return not any(check.name == NAME for check in proposal.failed_checks)


async def _why_not_on(deps: Dependencies, task: Task, plan: LandingPlan, patience: float | None) -> str:
    """Run the tests on a plan's tree, against its parent; why it does not land, or "".

    Raises:
        TestsDue: they are expected to take longer than `patience` seconds.
    """
    project = deps.reader.project(task.project_id)
    if patience is not None:
        known = deps.reader.newest_baseline(project.id)
        # Twice: its parent may not have been tested either.
        if known is not None and 2 * known.seconds > patience:
            raise TestsDue(
                f"{plan.branch} has moved on since the base: it lands once the project's tests pass on the result."
            )
    under_way = deps.repositories.landing_tests[project.id]
    under_way.set()
    try:
        results = await run_checks(deps, project, plan.parent, plan.tree, task=task, keep=True)
    finally:
        under_way.clear()
    failed = [result for result in results if result.outcome is CheckOutcome.FAILED]
    if not failed:
        return ""
    line = failed[0].detail.partition("\n")[0]
    return (
        f"On the current tip of {plan.branch} the project's tests fail with this change: {line}. Send it back with a note, "
        "or take the approval back."
    )


async def _to_the_end(work: Callable[[], _T]) -> _T:
    """Run `work` in a thread. A cancellation waits for its end: a reference must not move after its journal was read."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def _require_nothing_open(reader: Reader, proposal: Proposal) -> None:
    for entry in reader.journal_pending():
        if entry.proposal_id == proposal.id:
            raise LandingRefused(
                f"An earlier landing of {proposal.id} was interrupted and cannot be inspected.",
                hint="Check that the repository is still at its path, then approve again; the log has the reason.",
            )


def _require_parent_landed(reader: Reader, proposal: Proposal) -> None:
    """What was written on top of a part lands after it, and on its branch."""
    part = waits_for(reader, proposal)
    if part is not None:
        raise LandingRefused(
            f"{proposal.id} was written on top of {part.id}, which has not landed yet.",
            hint=f"Approve {part.id} first, then {proposal.id} again.",
        )
    lost = why_part_is_lost(reader, proposal)
    if lost:
        raise StaleBase(
            lost, paths=proposal.paths, hint="The task starts a new attempt on the current files."
        )


def _prepare(deps: Dependencies, task: Task, proposal: Proposal) -> LandingPlan:
    project = deps.reader.project(task.project_id)
    with at_home(project):
        facts = read_facts(project.path)
    batch = landing_batch(deps.reader, proposal)
    own = task.base if task.base in facts.branches else ""
    if own:
        project = task.based(project)
        batch = f"{batch}-{own}"  # what is based on another branch has a branch of its own
    return prepare_landing(
        project,
        facts,
        deps.repositories.private(project),
        proposal,
        batch,
        commit_message(task, proposal),
        mode="branch" if own and own != facts.branch else None,
        trailers=_trailers(deps.reader, proposal),
        landed=deps.reader.landed_commits(project.id),
    )


def commit_message(task: Task, proposal: Proposal) -> str:
    """The task's own words: its first line as the subject, the rest below."""
    text = task.text.strip()
    first, _, rest = text.partition("\n")
    body = rest.strip() if proposal.title == first.strip() else text
    return f"{proposal.title}\n\n{body}".strip() + "\n"


def _trailers(reader: Reader, proposal: Proposal) -> dict[str, str]:
    """Who wrote and who reviewed, with which prompts; those of the repairs follow the one that led the round."""
    lines = {
        "Generated-By": " ".join((proposal.model, proposal.prompt_version, *repair_prompts(reader, proposal)))
    }
    if proposal.review is not None:
        review = proposal.review
        lines["Reviewed-By-Model"] = f"{review.model} {review.prompt_version} {review.verdict.value}"
    if proposal.parent:
        lines["Navigator-Part-Of"] = f"{proposal.parent} ({', '.join(proposal.hunks)}), reviewed as a whole"
    if reader.rehearsal:
        lines["Rehearsal"] = "true"
    return lines


def approved_proposal(reader: Reader, task: Task) -> Proposal:
    """The proposal the developer approved.

    Raises:
        Conflict: the task has none.
    """
    for proposal in reversed(reader.proposals(task_id=task.id)):
        if proposal.decision is not None and proposal.decision.kind is DecisionKind.APPROVE:
            return proposal
    raise Conflict(f"{task.id} has no approved proposal.", hint=f"`navigator task show {task.id}` shows it.")


def _landed(store: Store, task: Task, proposal: Proposal, plan: LandingPlan, entry: int) -> Landing:
    landing = Landing(
        state=LandingState.LANDED,
        ref=plan.ref,
        commit=plan.commit,
        transplanted=plan.transplanted,
        at=utc_now(),
    )
    with store.transaction() as tx:
        tx.journal_close(entry, "landed")
        tx.set_landing(proposal.id, landing)
        moves.landed(tx, task.id)
    return landing


def _refuse(store: Store, proposal: Proposal, reason: str, *, stale: Task | None = None) -> Landing:
    """Keep why it does not land; `stale` is its task where that needs a new attempt."""
    landing = Landing(state=LandingState.REFUSED, reason=reason, at=utc_now())
    with store.transaction() as tx:
        tx.set_landing(proposal.id, landing)
        if stale is not None:
            moves.base_moved(tx, stale.id, reason, note_after_part(tx.read, stale))
    return landing


def _close(store: Store, entry: int, outcome: str) -> None:
    with store.transaction() as tx:
        tx.journal_close(entry, outcome)


async def undo(deps: Dependencies, proposal_id: str) -> Landing:
    """Take a landing back: by compare-and-swap while the tip is ours, else a revert commit on a new branch.

    Raises:
        Conflict: the proposal has not landed.
        LandingRefused: it cannot be taken back any more; the message says why.
    """
    proposal = deps.reader.proposal(proposal_id)
    if proposal.landing is None or proposal.landing.state is not LandingState.LANDED:
        raise Conflict(
            f"{proposal.id} has not landed.",
            hint="`navigator proposals --state landed` lists those that have.",
        )
    project = deps.reader.project(proposal.project_id)
    async with deps.repositories.lock(project.id):
        await recover_landings(deps, project.id)
        landed = LandingPlan.from_dict(deps.reader.landing_plan(proposal.id))

        def prepare() -> LandingPlan:
            with at_home(project):
                facts = read_facts(project.path)
            return prepare_undo(landed, facts, deps.repositories.private(project))

        plan = await asyncio.to_thread(prepare)
        with deps.store.transaction() as tx:
            entry = tx.journal_open(proposal.id, asdict(plan) | {_UNDO: True})
        try:
            await _to_the_end(partial(execute_landing, plan))
        except LandingRefused:
            _close(deps.store, entry, "refused")
            raise
        except (NavigatorError, OSError):
            await recover_landings(deps, project.id)
            raise
        return _undone(deps.store, proposal, plan, entry)


def _undone(store: Store, proposal: Proposal, plan: LandingPlan, entry: int) -> Landing:
    result = undo_result(plan)
    undone = Landing(
        state=LandingState.UNDONE,
        ref=result.ref,
        commit=result.commit,
        reason=_HOW[result.kind].format(branch=plan.branch),
        at=utc_now(),
    )
    with store.transaction() as tx:
        tx.journal_close(entry, "undone")
        tx.set_landing(proposal.id, undone)
        moves.undone(tx, proposal.task_id)
    return undone


_HOW = {
    "moved_back": "{branch} is back at its previous commit",
    "branch_deleted": "{branch}, created by the landing, was deleted",
    "revert_branch": "a revert commit is on {branch}",
}


async def recover_landings(deps: Dependencies, project_id: int | None = None) -> int:
    """Finish what a crash cut off between the journal and the outcome; returns how many entries were closed.

    An entry whose repository cannot be read stays open, and nothing of its proposal lands before it can.

    Args:
        project_id: only this project's; the caller holds its lock. None: all, and nothing else runs.
    """
    closed = 0
    for entry in deps.reader.journal_pending():
        plan = LandingPlan.from_dict(entry.plan)
        proposal = deps.reader.proposal(entry.proposal_id)
        if project_id is not None and proposal.project_id != project_id:
            continue
        task = deps.reader.task(proposal.task_id)
        try:
            seen = await _to_the_end(partial(_finish, plan, entry.opened))
        except (NavigatorError, OSError) as error:
            log.warning("what was cut off for %s cannot be looked at: %s", proposal.id, error)
            continue
        log.info("what was cut off for %s: %s", proposal.id, seen)
        if seen != "done":
            # The task is still approved and its landing pending (or still landed, for an undo): it is tried again, and
            # what a reference that moved away means is judged then, against the current tip.
            _close(deps.store, entry.id, seen)
        elif entry.plan.get(_UNDO):
            _undone(deps.store, proposal, plan, entry.id)
        else:
            _landed(deps.store, task, proposal, plan, entry.id)
        closed += 1
    return closed


def _finish(plan: LandingPlan, opened: str) -> str:
    """How far a journaled plan got; one that began to write files is carried to its end first.

    Locks that a git of the plan left when it was killed go before anything is looked at: with them, no git could
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
        if holds_lock(plan):
            raise  # it could not go on, and only this entry tells whose lock that is
        log.warning("%s stays unfinished: %s", plan.proposal, error)
        return "diverged"
    return inspect_landing(plan)
