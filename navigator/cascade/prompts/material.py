"""What a stage puts before a model about one task: the pinned base, the context, the messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from navigator.cascade.dependencies import Dependencies, at_home
from navigator.cascade.prompts.assemble import OVERHEAD, Elsewhere, Prompted, prompt_for
from navigator.cascade.prompts.blocks import data_block
from navigator.cascade.prompts.library import PromptLibrary
from navigator.cascade.prompts.linked import base_on, change_text
from navigator.cascade.prompts.looks import LookTalk
from navigator.cascade.stages.calls import Message, opening
from navigator.cascade.views.links import changes_before
from navigator.cascade.views.parts import remember_part_base
from navigator.context.looking.looker import Looker
from navigator.git.facts import WORKTREE, read_base, read_facts
from navigator.git.private import PrivateRepo, is_commit_id
from navigator.git.snapshot import take_snapshot
from navigator.git.source import TreeSource
from navigator.model.models import Finding, Project, Proposal, Task
from navigator.model.states import DecisionKind, ReproductionOutcome, Role
from navigator.store.reads.reader import Reader


@dataclass(frozen=True)
class Ground:
    """One task's base, as `source`, and who writes on it."""

    task: Task
    source: TreeSource
    writer: Role = field(default=Role.GENERATOR, kw_only=True)


@dataclass(frozen=True)
class Material(Ground):
    """The base, and the prompt that was made of it for `writer`.

    Attributes:
        talk: the looks of this attempt; None where its writer is not offered any.
    """

    prompted: Prompted
    talk: LookTalk | None = None

    def shown_whole(self) -> frozenset[str]:
        """The files that the writer was shown whole. Reads git: call it in a thread."""
        looked = self.talk.shown_whole() if self.talk else frozenset()
        return self.prompted.context.shown_whole | looked

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
    before = changes_before(deps.reader, task.id) if task.after else []
    elsewhere = await _elsewhere(deps, project, task, before)
    async with deps.project_lock(project.id):
        ground = await _pinned(deps, project, task, before)
        task, source = ground.task, ground.source
        base = source.treeish
        kept = None if elsewhere else deps.prepared.take(_prompt_key(deps, project, task, base, writer))
        if isinstance(kept, Prompted):
            made = kept
        else:
            made = await asyncio.to_thread(
                prompt_for, deps, source, task, project, writer, elsewhere=elsewhere
            )
        talk = await asyncio.to_thread(_talk, deps, source, task, made, writer) if made.looks else None
    return Material(task, source, made, talk, writer=writer)


async def settle(deps: Dependencies, task: Task) -> tuple[Ground, list[Elsewhere]]:
    """The base, pinned if the attempt has none, for a writer that reads by itself, and what changed in other projects
    before; raises as `gather`."""
    project = deps.project(task.project_id)
    before = changes_before(deps.reader, task.id) if task.after else []
    elsewhere = await _elsewhere(deps, project, task, before)
    async with deps.project_lock(project.id):
        return await _pinned(deps, project, task, before), elsewhere


async def _pinned(deps: Dependencies, project: Project, task: Task, before: Sequence[Proposal]) -> Ground:
    here = [change for change in before if change.project_id == project.id]
    shared = _base_of_others(deps, task)
    base, private, on = await asyncio.to_thread(_pinned_base, deps, project, task, shared, here)
    if base != task.base_commit:
        with deps.store.transaction() as tx:
            tx.set_task_base(task.id, base)
            if on:
                remember_part_base(tx, base, on, task.note, linked=True)
        task = task.model_copy(update={"base_commit": base})
    return Ground(task, TreeSource(private, base, project))


async def made_for(deps: Dependencies, task: Task, base: str, writer: Role) -> tuple[Hashable, Prompted]:
    """The prompt of a task on a base that is not pinned yet, and the key under which `gather` finds it."""
    project = deps.project(task.project_id)
    async with deps.project_lock(project.id):
        private = await asyncio.to_thread(deps.private, project)
        source = TreeSource(private, base, project)
        made = await asyncio.to_thread(prompt_for, deps, source, task, project, writer)
    return _prompt_key(deps, project, task, base, writer), made


def _prompt_key(deps: Dependencies, project: Project, task: Task, base: str, writer: Role) -> Hashable:
    """Everything that a prompt depends on and that may change while it is kept."""
    about = (task.id, task.text, task.note, task.kind, task.files)
    return (*about, project.model_dump_json(), base, writer, deps.prompts.versions)


def _talk(deps: Dependencies, source: TreeSource, task: Task, made: Prompted, writer: Role) -> LookTalk:
    rules, count = deps.settings.generator, deps.counter.count
    # One more answer, the one that is repaired or revised, and what is said about it, are in the conversation too.
    room = made.room - made.tokens - deps.settings.server(writer).max_tokens - OVERHEAD
    looker = Looker(deps.maps.get(source), task.text, task.files, made.context, rules.look_tokens, count)
    return LookTalk(
        deps.prompts,
        looker,
        key=made.key,
        marker=made.marker,
        looks=made.looks,
        tokens=rules.look_tokens,
        room=room,
        count=count,
    )


async def _elsewhere(
    deps: Dependencies, project: Project, task: Task, before: Sequence[Proposal]
) -> list[Elsewhere]:
    """The changes in other projects that a task comes after, and the one that the developer sent back."""
    found = []
    sent = sent_back(deps.reader, task)
    for change in (*before, *([sent] if sent else [])):
        if change.project_id == project.id and change is not sent:
            continue
        other = deps.project(change.project_id)
        async with deps.project_lock(other.id):
            private = await asyncio.to_thread(deps.private, other)
            text = await asyncio.to_thread(change_text, other, private, change)
        found.append(Elsewhere(other.name, change.id, change.title, text, sent_back=change is sent))
    return found


def sent_back(reader: Reader, task: Task) -> Proposal | None:
    """The change of the attempt before, where the developer sent it back: the new attempt starts from it."""
    for proposal in reversed(reader.proposals(task_id=task.id)):
        if proposal.attempt == task.attempt - 1 and proposal.decision is not None:
            return proposal if proposal.decision.kind is DecisionKind.SEND_BACK else None
    return None


def _base_of_others(deps: Dependencies, task: Task) -> str:
    """The base of the other variants' present attempts, so that all of them are compared on one; "" where there is none."""
    if not task.variant_of or task.base_commit:
        return ""
    others = [one for one in deps.reader.variants(task.variant_of) if one.attempt == task.attempt]
    return next((one.base_commit for one in others if one.base_commit), "")


def _pinned_base(
    deps: Dependencies, project: Project, task: Task, shared: str, before: Sequence[Proposal]
) -> tuple[str, PrivateRepo, str]:
    private, on = deps.private(project), ""
    with at_home(project):
        base = task.base_commit or shared
        if not base:
            own = task.based(project)
            base, on = base_on(own, private, task, new_base(own, private), before)
    private.pin_base(base)
    return base, private, on


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
