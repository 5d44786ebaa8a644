"""The reviewer's turn on one proposal: read, ground every finding, derive the verdict, say where the task goes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from navigator.cascade.blocks import data_block, diff_text
from navigator.cascade.calls import Message, call_model, usage_of
from navigator.cascade.grounding import (
    RawReview,
    Shown,
    UnreadableReview,
    derive_verdict,
    ground,
    read_review,
)
from navigator.cascade.review_schema import MAX_FINDINGS, review_schema
from navigator.cascade.stages.limits import FAILED_CALLS_A_ROUND, TASKS_OWN_FAULT
from navigator.cascade.stages.material import findings_block, task_block, worth_sending
from navigator.cascade.views import open_proposal
from navigator.cascade.world import World, is_rehearsal
from navigator.domain.diff import FileDiff
from navigator.domain.models import CheckResult, Finding, Proposal, Review, Task, utc_now
from navigator.domain.states import Role, TaskState, Verdict
from navigator.serving.client import ChatAnswer
from navigator.serving.errors import BadAnswer, CutByLength, Refused, ServingError
from navigator.workspace.diffs import decode_lines

log = logging.getLogger(__name__)

REVIEW_TOKENS = 2_000
"""max_tokens of a review: the paper's are 500-1,000 long, and a schema bounds each string."""

WHOLE_FILE_LINES = 400
AROUND = 40
"""Lines shown on each side of a hunk where the file is too long to be shown whole."""


@dataclass(frozen=True)
class _Prompt:
    messages: list[Message]
    version: str
    shown: Shown
    labels: list[str]
    earlier: list[Finding]


async def review(world: World, task_id: str, role: Role = Role.REVIEWER) -> None:
    """Take a task from awaiting_review (or final_review) to its next state.

    Raises:
        ServingError: the reviewer did not answer; the task is back in awaiting_review.
    """
    task = world.reader.task(task_id)
    proposal = open_proposal(world.reader, task_id)
    if role is Role.REVIEWER:
        _set(world, task, TaskState.REVIEWING)
    prompt = await _prompt(world, task, proposal, role)
    try:
        review = await _read(world, task, proposal, prompt, role)
    except ServingError as error:
        if role is Role.REVIEWER:
            _set(world, task, TaskState.AWAITING_REVIEW, str(error))
        raise
    _record(world, task, proposal, review, role)


async def _prompt(world: World, task: Task, proposal: Proposal, role: Role) -> _Prompt:
    project = world.project(task.project_id)
    async with world.project_lock(project.id):
        private = await asyncio.to_thread(world.private, project)
        files = await asyncio.to_thread(private.diff, proposal.base_commit, proposal.tree)
        context = await asyncio.to_thread(_surroundings, private, proposal, files)
    earlier: list[Finding] = []
    if task.round > 0 and role is Role.REVIEWER:
        before = world.reader.review_of_round(task.id, task.attempt, task.round - 1)
        earlier = worth_sending(before.findings) if before else []
    diff = diff_text(files)
    pieces = [text for parts in context.values() for _, text in parts]
    key = world.keys.key_for([diff, task.text, *pieces])
    blocks = [
        data_block("excerpt", key, text, path=path, first=first)
        for path, parts in context.items()
        for first, text in parts
    ]
    system, user, version = world.prompts.render(
        "review-again" if earlier else "review",
        key=key,
        max_findings=MAX_FINDINGS,
        blocks=blocks,
        task=task_block(task, key),
        checks=data_block("checks", key, checks_text(proposal.checks)),
        earlier=findings_block("earlier", earlier, key),
        diff=data_block("diff", key, diff),
    )
    labels = [hunk.label for file in files for hunk in file.hunks]
    messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return _Prompt(messages, version, Shown(files, task.text, context), labels or ["H1"], earlier)


def checks_text(checks: Sequence[CheckResult]) -> str:
    """The checks' results, one a line, as people and models read them."""
    return "\n".join(f"{check.name}: {check.outcome.value}  {check.detail}".rstrip() for check in checks)


def _surroundings(
    private: object, proposal: Proposal, files: Sequence[FileDiff]
) -> dict[str, list[tuple[int, str]]]:
    """The new text around each change: the whole file where it is short, else the lines about each hunk."""
    from navigator.workspace.private import PrivateRepo

    assert isinstance(private, PrivateRepo)
    entries = private.tree_entries(proposal.tree)
    shown: dict[str, list[tuple[int, str]]] = {}
    for file in files:
        entry = entries.get(file.new_path)
        if entry is None or file.binary:
            continue
        lines = decode_lines(private.read_blob(entry.sha)).splitlines()
        if len(lines) <= WHOLE_FILE_LINES:
            shown[file.new_path] = [(1, "\n".join(lines))]
            continue
        shown[file.new_path] = [
            (first, "\n".join(lines[first - 1 : last])) for first, last in _windows(file, len(lines))
        ]
    return shown


def _windows(file: FileDiff, length: int) -> list[tuple[int, int]]:
    """Line ranges about the hunks, 1-based and inclusive, joined where they touch."""
    windows: list[tuple[int, int]] = []
    for hunk in file.hunks:
        first = max(1, hunk.new_start - AROUND)
        last = min(length, hunk.new_start + max(hunk.new_count, 1) + AROUND)
        if windows and first <= windows[-1][1] + 1:
            windows[-1] = (windows[-1][0], max(last, windows[-1][1]))
        else:
            windows.append((first, last))
    return windows


async def _read(world: World, task: Task, proposal: Proposal, prompt: _Prompt, role: Role) -> Review:
    """Ask, and once more if the answer cannot be read; then UNREVIEWED, never APPROVE."""
    answers: list[ChatAnswer] = []
    why = ""
    for attempt in range(2):
        try:
            answer = await call_model(
                world,
                role,
                task,
                purpose="review" if role is Role.REVIEWER else "final",
                prompt_version=prompt.version,
                messages=prompt.messages,
                max_tokens=min(REVIEW_TOKENS, world.settings.server(role).max_tokens),
                schema=review_schema(prompt.labels, again=len(prompt.earlier)),
                seq=attempt,
            )
        except (CutByLength, BadAnswer) as error:
            why = error.message
            continue
        except ServingError as error:
            if not _never_answered(world, task, error, role):
                raise
            why = error.message
            break
        answers.append(answer)
        try:
            return _grounded(read_review(answer.text, answer.reasoning), prompt, proposal, answers, role)
        except UnreadableReview as error:
            why = str(error)
            with world.store.transaction() as tx:
                tx.event("review_unreadable", task_id=task.id, proposal_id=proposal.id, data={"why": why})
    model = answers[-1].model if answers else world.settings.server(role).model
    return Review(
        role=role,
        verdict=Verdict.UNREVIEWED,
        self_review=proposal.written_by is Role.REVIEWER,
        summary=f"The reviewer's answer could not be read: {why}.",
        prompt_version=prompt.version,
        model=model,
        rehearsal=is_rehearsal(model) or proposal.rehearsal,
        usage=usage_of(answers),
        at=utc_now(),
    )


def _never_answered(world: World, task: Task, error: ServingError, role: Role) -> bool:
    """Whether this prompt, not the server, is at fault: asking again later would change nothing."""
    if isinstance(error, Refused) and error.status in TASKS_OWN_FAULT:
        return True
    return world.reader.failed_calls(task.id, task.attempt, task.round, role) >= FAILED_CALLS_A_ROUND


def _grounded(
    raw: RawReview, prompt: _Prompt, proposal: Proposal, answers: Sequence[ChatAnswer], role: Role
) -> Review:
    findings = ground(raw, prompt.shown)
    model = answers[-1].model
    return Review(
        role=role,
        verdict=derive_verdict(findings),
        stated_verdict=raw.verdict,
        self_review=proposal.written_by is Role.REVIEWER,
        summary=raw.summary,
        findings=findings,
        addressed=tuple(entry.model_dump() for entry in raw.addressed),
        prompt_version=prompt.version,
        model=model,
        rehearsal=is_rehearsal(model) or proposal.rehearsal,
        usage=usage_of(answers),
        at=utc_now(),
    )


def _record(world: World, task: Task, proposal: Proposal, review: Review, role: Role) -> None:
    revise = review.verdict is Verdict.REVISE and role is Role.REVIEWER
    with world.store.transaction() as tx:
        tx.add_review(proposal.id, review)
        if revise and task.round < world.settings.batch.revisions:
            tx.set_task_state(task.id, TaskState.REVISING, round=task.round + 1)
        elif role is Role.REVIEWER and world.settings.final.enabled:
            tx.set_task_state(task.id, TaskState.FINAL_REVIEW)
        else:
            tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL)


def _set(world: World, task: Task, state: TaskState, reason: str = "") -> None:
    with world.store.transaction() as tx:
        tx.set_task_state(task.id, state, reason=reason)
