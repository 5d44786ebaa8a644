"""The generator's turn on one task: write or revise, apply, repair what does not apply, leave a proposal.

One stage covers the states generating and checking, because an answer's checks start as it ends and a repair goes back
while the generator is resident. Every answer is stored before it is judged: a restart judges it, and does not ask again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence

from navigator.cascade.calls import Message, call_model
from navigator.cascade.stages.drafting import POLICY_CODE, Draft, NoChange, NotApplied, draft
from navigator.cascade.stages.limits import FAILED_CALLS_A_ROUND, TASKS_OWN_FAULT
from navigator.cascade.stages.material import Material, findings_block, gather, worth_sending
from navigator.cascade.world import World, is_rehearsal
from navigator.domain.errors import NavigatorError
from navigator.domain.models import Proposal, Task
from navigator.domain.states import NO_CHANGE_NEEDED, EditCode, Role, TaskKind, TaskState
from navigator.domain.text import safe_line
from navigator.serving.errors import CutByLength, Refused, ServingError
from navigator.store.errors import StoreError
from navigator.store.space import require_space

log = logging.getLogger(__name__)

REPAIRS_A_FILE = 2
WHOLE_FILE_LINES = 400
CALLS_A_ROUND = 8
"""Calls in one round at most, whatever the files: a model that never gets there is stopped."""

REFUSED = "refused"
"""A call's outcome once its answer was judged and did not apply."""

REPORT_KINDS = frozenset({TaskKind.SCAN, TaskKind.ARCHITECTURE})
"""Kinds whose output is a report, not a change."""

_TITLE = 72


async def write(world: World, task_id: str) -> None:
    """Take a task from queued, revising or checking to awaiting_review, or to where it ends.

    Raises:
        ServingError: the server did not answer; the task is back where it was, for the conductor to try later.
        StoreError: what happened could not be written down; the task stands where it was last seen.
    """
    task = world.reader.task(task_id)
    resumed = task.state is TaskState.CHECKING
    if not resumed:
        _move(world, task, TaskState.GENERATING)
    try:
        material = await gather(world, task)
    except StoreError:
        raise
    except NavigatorError as error:
        require_space(
            world.paths.root
        )  # a git that found no room says so in many ways: none is the task's fault
        _give_up(world, task, f"{error}")
        return
    if task.kind in REPORT_KINDS:
        await _report(world, material)
        return
    await _write_change(world, material, may_call=not resumed)


async def _write_change(world: World, material: Material, *, may_call: bool) -> None:
    task = material.task
    stored = world.reader.last_answer(task.id, task.attempt, task.round)
    if stored is None:
        first = await _opening(world, material)
        if first is None:
            return
        text = first
    else:
        text = stored.text
    judged = stored is not None and stored.outcome == REFUSED
    while True:
        if not judged:
            _move(world, task, TaskState.CHECKING)
        async with world.project_lock(task.project_id):
            outcome = await asyncio.to_thread(
                draft, text, material.private, material.source, material.base_commit, marker=material.marker
            )
        if isinstance(outcome, Draft):
            await _propose(world, material, outcome)
            return
        if isinstance(outcome, NoChange):
            _no_change(world, task, outcome.reason)
            return
        if not judged:
            _record(world, task, outcome)
        next_step = _repair(world, material, outcome)
        if isinstance(next_step, str):
            _give_up(world, task, next_step)
            return
        if not may_call:
            # Resumed on the CPU alone, perhaps while the reviewer holds the GPU: the repair waits its turn.
            _requeue(world, task, "a repair is due")
            return
        _move(world, task, TaskState.GENERATING)
        answer = await _ask(
            world,
            task,
            "repair",
            next_step[0],
            [*_opening_messages(world, material)[0], {"role": "assistant", "content": text}, *next_step[1]],
        )
        if answer is None:
            return
        text, judged = answer, False


def _opening_messages(world: World, material: Material) -> tuple[list[Message], str, str]:
    """The messages that open this round, the version of the prompt that leads it, and its purpose."""
    task = material.task
    messages = list(material.messages)
    if task.round == 0:
        return messages, material.prompt_version, "generate"
    previous = world.reader.last_answer(task.id, task.attempt, task.round - 1)
    review = world.reader.review_of_round(task.id, task.attempt, task.round - 1)
    findings = worth_sending(review.findings) if review else []
    _, user, version = world.prompts.render(
        "revise", findings=findings_block("findings", findings, material.key)
    )
    if previous is not None:
        messages.append({"role": "assistant", "content": previous.text})
    messages.append({"role": "user", "content": user})
    return messages, version, "revise"


async def _opening(world: World, material: Material) -> str | None:
    messages, version, purpose = _opening_messages(world, material)
    return await _ask(world, material.task, purpose, version, messages)


async def _ask(
    world: World, task: Task, purpose: str, version: str, messages: Sequence[Message]
) -> str | None:
    """One call; None when the task ended here because its answer never fits."""
    server = world.settings.generator
    try:
        answer = await call_model(
            world,
            Role.GENERATOR,
            task,
            purpose=purpose,
            prompt_version=version,
            messages=messages,
            max_tokens=server.max_tokens,
            seq=world.reader.answers_refused(task.id, task.attempt, task.round),
        )
    except CutByLength:
        _give_up(world, task, f"The answer did not end within max_tokens = {server.max_tokens}.")
        return None
    except ServingError as error:
        failed = world.reader.failed_calls(task.id, task.attempt, task.round, Role.GENERATOR)
        if (isinstance(error, Refused) and error.status in TASKS_OWN_FAULT) or failed >= FAILED_CALLS_A_ROUND:
            _give_up(world, task, str(error))
            return None
        _requeue(world, task, str(error))
        raise
    return answer.text


def _repair(world: World, material: Material, refused: NotApplied) -> tuple[str, list[Message]] | str:
    """The next message to the model and its prompt's version, or in words why there is none."""
    task = material.task
    codes = ", ".join(sorted({code for code, _ in refused.failures}))
    where = ", ".join(safe_line(path) for path in refused.paths if path)
    verdict = f"The edits did not apply ({codes}{' in ' + where if where else ''}): {refused.problems[0]}"
    tried = Counter(world.reader.failed_paths(task.id, task.attempt, task.round))
    if world.reader.answers_refused(task.id, task.attempt, task.round) >= CALLS_A_ROUND:
        return verdict
    worst = max(refused.paths, key=lambda path: tried[path])
    whole = ""
    if tried[worst] > REPAIRS_A_FILE:
        code_is_policy = any(code == POLICY_CODE for code, path in refused.failures if path == worst)
        if tried[worst] > REPAIRS_A_FILE + 1 or code_is_policy or not _fits_whole(material, worst):
            return verdict
        whole = worst
    _, user, version = world.prompts.render("repair", problems=refused.problems, whole_file=whole)
    return version, [{"role": "user", "content": user}]


def _fits_whole(material: Material, path: str) -> bool:
    content = material.source.read(path) if path else None
    return content is not None and content.count(b"\n") <= WHOLE_FILE_LINES


async def _propose(world: World, material: Material, made: Draft) -> None:
    task = material.task
    cost = world.reader.round_cost(task.id, task.attempt, task.round)
    proposal = Proposal(
        id="",
        task_id=task.id,
        project_id=task.project_id,
        project=task.project,
        attempt=task.attempt,
        round=task.round,
        base_commit=material.base_commit,
        tree=made.tree,
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
    # The tree is kept from the private repository's own gc before the row that names it exists.
    keep = f"{task.id}-{task.attempt}-{task.round}"
    async with world.project_lock(task.project_id):
        await asyncio.to_thread(material.private.keep, keep, made.tree, material.base_commit)
    with world.store.transaction() as tx:
        tx.add_proposal(proposal)
        tx.set_task_state(task.id, TaskState.AWAITING_REVIEW)


async def _report(world: World, material: Material) -> None:
    """A task whose output is words: they go to the developer as they are."""
    task = material.task
    system, user, version = world.prompts.render(
        "report", kind=task.kind.value, key=material.key, material=material.messages[1]["content"]
    )
    stored = world.reader.last_answer(task.id, task.attempt, task.round)
    messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    text = stored.text if stored else await _ask(world, task, "report", version, messages)
    if text is None:
        return
    with world.store.transaction() as tx:
        tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL, report=text.strip(), reason="report")


def title_of(text: str) -> str:
    """The first line of a task's text, at most 72 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "change")
    return line if len(line) <= _TITLE else line[: _TITLE - 1].rstrip() + "…"


def _record(world: World, task: Task, refused: NotApplied) -> None:
    with world.store.transaction() as tx:
        answer = tx.read.last_answer(task.id, task.attempt, task.round)
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


def _no_change(world: World, task: Task, reason: str) -> None:
    """NO_CHANGE is an answer: in round 0 to the task, later to the reviewer, whose proposal stays open."""
    who = NO_CHANGE_NEEDED if task.round == 0 else "The generator keeps its change"
    with world.store.transaction() as tx:
        tx.event("no_change", task_id=task.id, data={"code": EditCode.NO_OP.value, "round": task.round})
        tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL, reason=f"{who}: {reason}")


def _give_up(world: World, task: Task, reason: str) -> None:
    """In round 0 the task failed; a revision that cannot be made leaves the last proposal to the developer."""
    if task.round == 0:
        _set(world, task, TaskState.FAILED, reason)
        return
    _set(world, task, TaskState.AWAITING_APPROVAL, f"Revision {task.round} could not be made. {reason}")


def _requeue(world: World, task: Task, reason: str) -> None:
    _set(world, task, TaskState.QUEUED if task.round == 0 else TaskState.REVISING, reason)


def _set(world: World, task: Task, state: TaskState, reason: str) -> None:
    with world.store.transaction() as tx:
        tx.set_task_state(task.id, state, reason=reason)


def _move(world: World, task: Task, state: TaskState) -> None:
    if world.reader.task(task.id).state is state:
        return
    with world.store.transaction() as tx:
        tx.set_task_state(task.id, state)
