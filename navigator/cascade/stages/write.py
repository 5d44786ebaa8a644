"""The writing model's turn on one task: write or revise, apply, repair what does not apply, leave a proposal.

One stage covers the states generating and checking, because an answer's checks start as it ends and a repair goes back
while the generator is resident. Every answer is stored before it is judged: a restart judges it, and does not ask again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

from navigator.cascade.dependencies import Dependencies, is_rehearsal
from navigator.cascade.prompts.material import Material, findings_block, gather, worth_sending
from navigator.cascade.routing import writer_for
from navigator.cascade.stages.calls import Message
from navigator.cascade.stages.checking import UNTESTED
from navigator.cascade.stages.drafting import POLICY_CODE, Draft, NoChange, NotApplied, draft
from navigator.cascade.stages.report import is_report, keep_report, report
from navigator.cascade.stages.scan import scan
from navigator.cascade.stages.testing import TESTS_FAILED, as_it_stands, keep, repair_messages
from navigator.cascade.stages.turn import ask, give_up, move, requeue
from navigator.domain.errors import NavigatorError
from navigator.domain.models import Proposal
from navigator.domain.states import NO_CHANGE_NEEDED, REPORT_KINDS, EditCode, TaskKind, TaskState
from navigator.domain.text import cut_title, safe_line
from navigator.store.errors import StoreError
from navigator.store.space import require_space

log = logging.getLogger(__name__)

REPAIRS_A_FILE = 2
WHOLE_FILE_LINES = 400
CALLS_A_ROUND = 8
"""Calls in one round at most, whatever the files: a model that never gets there is stopped."""

REFUSED = "refused"
"""A call's outcome once its answer was judged and did not apply."""

_TITLE = 72


async def write(deps: Dependencies, task_id: str) -> None:
    """Take a task from queued, revising or checking to awaiting_review, or to where it ends.

    Raises:
        ServingError: the server did not answer; the task is back where it was, for the conductor to try later.
        StoreError: what happened could not be written down; the task stands where it was last seen.
    """
    task = deps.reader.task(task_id)
    writer = writer_for(deps, task)
    resumed = task.state is TaskState.CHECKING
    if not resumed:
        move(deps, task, TaskState.GENERATING)
    try:
        material = await gather(deps, task, writer)
    except StoreError:
        raise
    except NavigatorError as error:
        require_space(
            deps.paths.root
        )  # a git that found no room says so in many ways: none is the task's fault
        give_up(deps, task, f"{error}")
        return
    if task.kind is TaskKind.SCAN:
        await scan(deps, material)
        return
    if task.kind in REPORT_KINDS:
        await report(deps, material)
        return
    await _write_change(deps, material, may_call=not resumed)


async def _write_change(deps: Dependencies, material: Material, *, may_call: bool) -> None:
    task = material.task
    stored = deps.reader.last_answer(task.id, task.attempt, task.round, role=material.writer)
    if stored is None:
        first = await _opening(deps, material)
        if first is None:
            return
        text = first
    else:
        text = stored.text
    if is_report(task, text, marker=material.marker):
        keep_report(deps, task, text)
        return
    judged = stored is not None and stored.outcome == REFUSED
    if stored is not None and stored.outcome == TESTS_FAILED:
        mended = await _mend(deps, material, text)
        if mended is None:
            return
        text = mended
    while True:
        if not judged:
            move(deps, task, TaskState.CHECKING)
        async with deps.project_lock(task.project_id):
            outcome = await asyncio.to_thread(
                draft,
                text,
                material.private,
                material.source,
                material.base_commit,
                marker=material.marker,
                kind=task.kind,
                shown=material.context.shown_whole,
            )
        if isinstance(outcome, Draft):
            await _propose(deps, material, outcome)
            return
        if isinstance(outcome, NoChange):
            if as_it_stands(deps, task, f"The {material.writer.value} keeps its change: {outcome.reason}"):
                return
            _no_change(deps, material, outcome.reason)
            return
        if not judged:
            _record(deps, material, outcome)
        next_step = _repair(deps, material, outcome)
        if isinstance(next_step, str):
            give_up(deps, task, next_step)
            return
        if not may_call:
            # Resumed on the CPU alone, perhaps while the reviewer holds the GPU: the repair waits its turn.
            requeue(deps, task, "a repair is due")
            return
        move(deps, task, TaskState.GENERATING)
        answer = await ask(
            deps,
            task,
            material.writer,
            "repair",
            next_step[0],
            [*_opening_messages(deps, material)[0], {"role": "assistant", "content": text}, *next_step[1]],
        )
        if answer is None:
            return
        text, judged = answer, False


def _opening_messages(deps: Dependencies, material: Material) -> tuple[list[Message], str, str]:
    """The messages that open this round, the version of the prompt that leads it, and its purpose."""
    task = material.task
    messages = list(material.messages)
    if task.round == 0:
        return messages, material.prompt_version, "generate"
    previous = deps.reader.last_answer(task.id, task.attempt, task.round - 1, role=material.writer)
    review = deps.reader.review_of_round(task.id, task.attempt, task.round - 1)
    findings = worth_sending(review.findings) if review else []
    _, user, version = deps.prompts.render(
        "revise", findings=findings_block("findings", findings, material.key)
    )
    if previous is not None:
        messages.append({"role": "assistant", "content": previous.text})
    messages.append({"role": "user", "content": user})
    return messages, version, "revise"


async def _mend(deps: Dependencies, material: Material, text: str) -> str | None:
    """Ask for the change again, with what the tests said of it; None when the task went on without."""
    asked = repair_messages(deps, material)
    if asked is None:
        give_up(deps, material.task, "What the tests said is not kept.")
        return None
    opening = _opening_messages(deps, material)[0]
    messages = [*opening, {"role": "assistant", "content": text}, *asked[1]]
    return await ask(deps, material.task, material.writer, "repair-tests", asked[0], messages)


async def _opening(deps: Dependencies, material: Material) -> str | None:
    messages, version, purpose = _opening_messages(deps, material)
    return await ask(deps, material.task, material.writer, purpose, version, messages)


def _repair(deps: Dependencies, material: Material, refused: NotApplied) -> tuple[str, list[Message]] | str:
    """The next message to the model and its prompt's version, or in words why there is none."""
    task = material.task
    codes = ", ".join(sorted({code for code, _ in refused.failures}))
    where = ", ".join(safe_line(path) for path in refused.paths if path)
    verdict = f"The edits did not apply ({codes}{' in ' + where if where else ''}): {refused.problems[0]}"
    tried = Counter(deps.reader.failed_paths(task.id, task.attempt, task.round))
    if deps.reader.answers_refused(task.id, task.attempt, task.round, material.writer) >= CALLS_A_ROUND:
        return verdict
    worst = max(refused.paths, key=lambda path: tried[path])
    whole = ""
    if tried[worst] > REPAIRS_A_FILE:
        code_is_policy = any(code == POLICY_CODE for code, path in refused.failures if path == worst)
        if tried[worst] > REPAIRS_A_FILE + 1 or code_is_policy or not _fits_whole(material, worst):
            return verdict
        whole = worst
    _, user, version = deps.prompts.render("repair", problems=refused.problems, whole_file=whole)
    return version, [{"role": "user", "content": user}]


def _fits_whole(material: Material, path: str) -> bool:
    """Whether a file may be asked for whole: it is short, and the model was shown all of it."""
    if path not in material.context.shown_whole:
        return False
    content = material.source.read(path)
    return content is not None and content.count(b"\n") <= WHOLE_FILE_LINES


async def _propose(deps: Dependencies, material: Material, made: Draft) -> None:
    task = material.task
    cost = deps.reader.round_cost(task.id, task.attempt, task.round, material.writer)
    proposal = Proposal(
        id="",
        task_id=task.id,
        project_id=task.project_id,
        project=task.project,
        attempt=task.attempt,
        round=task.round,
        base_commit=material.base_commit,
        tree=made.tree,
        written_by=material.writer,
        title=title_of(task.text),
        summary=made.prose,
        edits=made.edits,
        policy=made.policy,
        checks=made.checks,
        added=sum(file.added for file in made.files),
        removed=sum(file.removed for file in made.files),
        prompt_version=cost.prompt_version,
        model=cost.model,
        rehearsal=is_rehearsal(cost.model),
        usage=cost.usage,
    )
    await keep(deps, material, made.tree)
    with deps.store.transaction() as tx:
        added = tx.add_proposal(proposal)
        if not material.project.check.strip():
            tx.set_checks(added.id, (*made.checks, UNTESTED))
            tx.set_task_state(task.id, TaskState.AWAITING_REVIEW)
        # Else it stays in `checking`: its tests run apart from this stage, which holds the writer's place.


def title_of(text: str) -> str:
    """The first line of a task's text, at most 72 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "change")
    return cut_title(line, _TITLE)


def _record(deps: Dependencies, material: Material, refused: NotApplied) -> None:
    task = material.task
    with deps.store.transaction() as tx:
        answer = tx.read.last_answer(task.id, task.attempt, task.round, role=material.writer)
        assert answer is not None
        tx.judge_call(answer.call_id, REFUSED)
        for code, path in refused.failures:
            tx.add_edit_failure(
                task.id,
                task.attempt,
                task.round,
                EditCode(code),
                path,
                model=answer.model,
                rehearsal=is_rehearsal(answer.model),
            )
        tx.event("edits_refused", task_id=task.id, data={"problems": [p[:500] for p in refused.problems]})


def _no_change(deps: Dependencies, material: Material, reason: str) -> None:
    """NO_CHANGE is an answer: in round 0 to the task, later to the reviewer, whose proposal stays open."""
    task = material.task
    who = NO_CHANGE_NEEDED if task.round == 0 else f"The {material.writer.value} keeps its change"
    with deps.store.transaction() as tx:
        tx.event("no_change", task_id=task.id, data={"code": EditCode.NO_OP.value, "round": task.round})
        tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL, reason=f"{who}: {reason}")
