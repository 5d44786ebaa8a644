"""What a stage puts before a model about one task: the pinned base, the context, the messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from navigator.cascade.blocks import data_block
from navigator.cascade.calls import Message
from navigator.cascade.stages.shown import context_texts, own_blocks, shared_blocks
from navigator.cascade.world import World, at_home
from navigator.domain.errors import NavigatorError
from navigator.domain.models import Finding, Project, Task
from navigator.domain.states import EITHER_KINDS, Role, Severity
from navigator.workspace.context import Context, build_context
from navigator.workspace.edits import marker_length
from navigator.workspace.facts import WORKTREE, read_base, read_facts
from navigator.workspace.private import PrivateRepo
from navigator.workspace.snapshot import take_snapshot
from navigator.workspace.source import TreeSource

CONTEXT_AIM = 24_000
"""Tokens of context aimed at: solved tasks of this model class stayed under 20-30k (arXiv 2602.16069)."""

_OVERHEAD = 1_500
"""Tokens kept free for the instructions, the task and the feedback."""


@dataclass(frozen=True)
class Material:
    """One task's ground: where it stands and what is shown."""

    task: Task
    project: Project
    private: PrivateRepo
    source: TreeSource
    base_commit: str
    context: Context
    marker: int
    messages: tuple[Message, ...]
    prompt_version: str
    key: str
    writer: Role = Role.GENERATOR


async def gather(world: World, task: Task, writer: Role = Role.GENERATOR) -> Material:
    """Pin the base if the attempt has none, build the context for `writer`, render the prompt.

    Raises:
        NavigatorError: the repository is gone, or cannot be worked on; the message says why.
    """
    project = world.project(task.project_id)
    async with world.project_lock(project.id):
        base, private = await asyncio.to_thread(_ground, world, project, task)
        if base != task.base_commit:
            with world.store.transaction() as tx:
                tx.set_task_base(task.id, base)
            task = task.model_copy(update={"base_commit": base})
        source, context = await asyncio.to_thread(_context, world, project, task, private, base, writer)
    return replace(_render(world, task, project, private, source, base, context), writer=writer)


def _ground(world: World, project: Project, task: Task) -> tuple[str, PrivateRepo]:
    private = world.private(project)
    with at_home(project):
        base = task.base_commit or _new_base(project, private)
    private.pin_base(base)
    return base, private


def _new_base(project: Project, private: PrivateRepo) -> str:
    """The commit that an attempt begins on: the base branch's, or a snapshot of the checkout."""
    if project.base == WORKTREE:
        return take_snapshot(private, read_facts(project.path)).commit
    return read_base(project.path, project.base)


def _context(
    world: World, project: Project, task: Task, private: PrivateRepo, base: str, writer: Role
) -> tuple[TreeSource, Context]:
    server = world.settings.server(writer)
    most = server.context_tokens - server.max_tokens - _OVERHEAD
    room = most - world.counter.count(task.text + task.note)
    if room < 1_000:
        raise NavigatorError(
            f"{task.id}: the task's text leaves no room for files in a context of {server.context_tokens} tokens.",
            hint="Shorten the task, or raise context_tokens.",
        )
    source = TreeSource(private, base, project)
    # The part that all tasks share is reckoned without this task's length, so that it is the same for all of them.
    return source, build_context(
        source,
        project,
        task.text,
        task.files,
        min(CONTEXT_AIM, room),
        world.counter.count,
        shared_budget=min(CONTEXT_AIM, most),
    )


def _render(
    world: World,
    task: Task,
    project: Project,
    private: PrivateRepo,
    source: TreeSource,
    base: str,
    context: Context,
) -> Material:
    texts = context_texts(context)
    key = world.keys.key_for([*texts, task.text, task.note])
    blocks = [*shared_blocks(context, key), *own_blocks(context, key)]
    marker = marker_length(texts)
    words = f"{task.text}\n{task.note}".lower()
    system, user, version = world.prompts.render(
        "generate",
        project=project.name,
        key=key,
        open="<" * marker,
        divider="=" * marker,
        close=">" * marker,
        # Shown only where the task needs them: a model offered DELETE uses it.
        allow_delete=any(word in words for word in ("delete", "remove", "drop")),
        allow_rename=any(word in words for word in ("rename", "move")),
        may_report=task.kind in EITHER_KINDS,
        blocks=blocks,
        task=task_block(task, key),
        note=data_block("note", key, task.note) if task.note else "",
    )
    messages = ({"role": "system", "content": system}, {"role": "user", "content": user})
    return Material(task, project, private, source, base, context, marker, messages, version, key)


def task_block(task: Task, key: str) -> str:
    """The task as data: its text, its kind, the files it names."""
    return data_block("task", key, task.text, kind=task.kind.value, files=list(task.files))


def worth_sending(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that a revision answers: those that stand on a quote and are more than taste."""
    return [finding for finding in findings if finding.anchored and finding.severity is not Severity.NIT]


def findings_block(kind: str, findings: Sequence[Finding], key: str) -> str:
    """Findings as numbered JSON, for the generator ("findings") or the reviewer's second reading ("earlier")."""
    rows: list[dict[str, Any]] = [
        {"number": number}
        | finding.model_dump(
            mode="json",
            include={"kind", "path", "line", "quote", "severity", "criterion", "trigger", "message"},
        )
        for number, finding in enumerate(findings, 1)
    ]
    return data_block(kind, key, json.dumps(rows, ensure_ascii=False, indent=1))
