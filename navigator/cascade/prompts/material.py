"""What a stage puts before a model about one task: the pinned base, the context, the messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from navigator.cascade.dependencies import Dependencies, at_home
from navigator.cascade.prompts.assemble import Prompted, prompt_for
from navigator.cascade.prompts.blocks import data_block
from navigator.cascade.prompts.library import PromptLibrary
from navigator.cascade.stages.calls import Message, opening
from navigator.domain.models import Finding, Project, Task
from navigator.domain.states import ReproductionOutcome, Role
from navigator.workspace.git.facts import WORKTREE, read_base, read_facts
from navigator.workspace.git.private import PrivateRepo, is_commit_id
from navigator.workspace.git.snapshot import take_snapshot
from navigator.workspace.git.source import TreeSource


@dataclass(frozen=True)
class Material:
    """One task's base, as `source`, and the prompt that was made of it for `writer`."""

    task: Task
    source: TreeSource
    prompted: Prompted
    writer: Role = Role.GENERATOR

    def asking(self, prompts: PromptLibrary, name: str, **values: object) -> tuple[list[Message], str]:
        """The same material under other instructions, and the version of that prompt: for a report or a scan."""
        shown = self.prompted.messages[1]["content"]
        system, user, version = prompts.render(name, key=self.prompted.key, material=shown, **values)
        return list(opening(system, user)), version


async def gather(deps: Dependencies, task: Task, writer: Role = Role.GENERATOR) -> Material:
    """Pin the base if the attempt has none, build the context for `writer`, render the prompt.

    Raises:
        NavigatorError: the repository is gone, or cannot be worked on; the message says why.
    """
    project = deps.project(task.project_id)
    async with deps.project_lock(project.id):
        base, private = await asyncio.to_thread(_pinned_base, deps, project, task)
        if base != task.base_commit:
            with deps.store.transaction() as tx:
                tx.set_task_base(task.id, base)
            task = task.model_copy(update={"base_commit": base})
        source = TreeSource(private, base, project)
        made = await asyncio.to_thread(prompt_for, deps, source, task, project, writer)
    return Material(task, source, made, writer)


def _pinned_base(deps: Dependencies, project: Project, task: Task) -> tuple[str, PrivateRepo]:
    private = deps.private(project)
    with at_home(project):
        base = task.base_commit or new_base(task.based(project), private)
    private.pin_base(base)
    return base, private


def new_base(project: Project, private: PrivateRepo) -> str:
    """The commit that an attempt begins on: the base branch's, or a snapshot of the checkout."""
    if project.base == WORKTREE:
        return take_snapshot(private, read_facts(project.path)).commit
    if is_commit_id(project.base):
        return project.base
    return read_base(project.path, project.base)


def worth_sending(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that a revision answers."""
    return [finding for finding in findings if finding.asked_for]


def findings_block(kind: str, findings: Sequence[Finding], key: str) -> str:
    """Findings as numbered JSON, for the generator ("findings") or the review of a revision ("earlier")."""
    rows: list[dict[str, Any]] = [
        {"number": number}
        | finding.model_dump(
            mode="json",
            include={"kind", "path", "line", "quote", "severity", "criterion", "trigger", "message"},
        )
        | _test_of(finding)
        for number, finding in enumerate(findings, 1)
    ]
    return data_block(kind, key, json.dumps(rows, ensure_ascii=False, indent=1))


def _test_of(finding: Finding) -> dict[str, Any]:
    """The test that was to prove a finding, where it was run."""
    made = finding.reproduction
    if made is None or not made.text or made.outcome not in _RUN:
        return {}
    told: dict[str, Any] = {"path": made.path, "outcome": made.outcome.value, "reason": made.reason}
    if made.outcome is not ReproductionOutcome.NOT_REPRODUCED:
        told |= {"text": made.text, "failure": made.failure}
    return {"test": told}


_RUN = frozenset(
    {ReproductionOutcome.REGRESSION, ReproductionOutcome.UNMET, ReproductionOutcome.NOT_REPRODUCED}
)
