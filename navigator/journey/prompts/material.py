"""What a stage puts before a model about one task: the pinned base, the context, the messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from navigator.context.looker import Looker
from navigator.context.source import TreeSource
from navigator.git.diffs import ABSENT
from navigator.git.facts import read_base, read_facts, resolve_base
from navigator.git.private import PrivateRepo, is_commit_id
from navigator.git.runner import Git
from navigator.journey.calls import Message, opening
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.assemble import OVERHEAD, Prompted, RelatedChange, prompt_for
from navigator.journey.prompts.blocks import data_block, diff_text, finding_row
from navigator.journey.prompts.library import PromptLibrary
from navigator.journey.prompts.looks import LookTalk
from navigator.journey.repositories import Repositories, at_home
from navigator.model.diff import FileDiff
from navigator.model.errors import Conflict
from navigator.model.models import Finding, Project, Proposal, Task
from navigator.model.secrets import secret_in
from navigator.model.states import DecisionKind, LandingState, ReproductionOutcome, Role
from navigator.model.text import safe_line
from navigator.sheet.parts import remember_part_base
from navigator.store.reads.reader import Reader

# What a linked task is written on, and what it is told of changes in other projects that it comes after.

SHOWN = 12_000
"""Characters of a change in another project that are shown at most."""


def base_on(
    project: Project, private: PrivateRepo, task: Task, base: str, before: Sequence[Proposal]
) -> tuple[str, str]:
    """The commit to write a task on, and the proposal that it holds and `base` does not; "" where there is none.

    Runs git: call it in a thread.

    Args:
        base: what the attempt would begin on otherwise.
        before: approved changes to the same project that the task comes after.

    Raises:
        Conflict: several are missing from the base, and no one of their commits holds all of them.
    """
    from navigator.git.hunks import commit_part

    missing = [one for one in before if not _holds(project, private, base, one)]
    if not missing:
        return base, ""
    on = missing[-1]
    if len(missing) > 1:
        on = _holding_all(project, missing, task)
    landing = on.landing
    if landing is not None and landing.state is LandingState.LANDED:
        private.pin_base(landing.commit)
        tree, parent = private.tree_of(landing.commit), landing.commit
    else:
        private.pin_base(on.base_commit)
        tree, parent = on.tree, on.base_commit
    # A commit of its own, so that it can be told from the landed one, which other tasks begin on once it is merged.
    message = f"Base of {task.id}, attempt {task.attempt}: after {on.id}\n"
    return commit_part(private, tree, parent, message), on.id


def _contains(git: Git, tip: str, commit: str) -> bool:
    from navigator.landing.land import contains

    return contains(git, tip, commit)


def _holding_all(project: Project, missing: Sequence[Proposal], task: Task) -> Proposal:
    """The one whose landed commit comes after the others'."""
    git = read_facts(project.path).git()
    commits = {
        one.id: one.landing.commit
        for one in missing
        if one.landing is not None and one.landing.state is LandingState.LANDED
    }
    for one in missing:
        tip = commits.get(one.id, "")
        if len(commits) == len(missing) and all(_contains(git, tip, other) for other in commits.values()):
            return one
    names = ", ".join(f"{one.task_id} ({one.id})" for one in missing)
    raise Conflict(
        f"{task.id} comes after {names}, and no one commit holds all their changes.",
        hint=f"Merge them into the project's base, then `navigator task retry {task.id}`.",
    )


def _holds(project: Project, private: PrivateRepo, base: str, change: Proposal) -> bool:
    """Whether a commit holds a change: its landing is part of the history, or the files are as the change left them."""
    if change.landing is not None and change.landing.state is LandingState.LANDED:
        facts = read_facts(project.path)
        if _contains(facts.git(), resolve_base(facts, project.base)[1], change.landing.commit):
            return True
    there = private.tree_entries(base)
    for made in private.raw_diff(change.base_commit, change.tree):
        entry = there.get(made.path)
        if made.new_mode == ABSENT:
            if entry is not None:
                return False
        elif entry is None or (entry.mode, entry.sha) != (made.new_mode, made.new_sha):
            return False
    return True


def change_text(project: Project, private: PrivateRepo, change: Proposal) -> str:
    """A change in another project as the writer is shown it: never what its own project would not show. Runs git."""
    before = TreeSource(private, change.base_commit, project)
    after = TreeSource(private, change.tree, project)
    shown: list[FileDiff] = []
    left: list[str] = []
    room = SHOWN
    for file in private.diff(change.base_commit, change.tree):
        lines = "\n".join(line.text for hunk in file.hunks for line in hunk.lines)
        hidden = before.why_hidden(file.old_path) or after.why_hidden(file.new_path)
        if hidden or secret_in(lines.encode("utf-8", "surrogateescape")) or len(lines) > room:
            left.append(safe_line(file.path))
            continue
        room -= len(lines)
        shown.append(file)
    more = f"Not shown: {', '.join(left)}\n" if left else ""
    return f"{diff_text(shown)}{more}" if shown else more


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
    project = deps.reader.project(task.project_id)
    ground, elsewhere = await settle(deps, task)
    task, source = ground.task, ground.source
    key = _prompt_key(deps.prompts, project, task, source.treeish, writer)
    kept = None if elsewhere else deps.prepared.pop(key, None)
    async with deps.repositories.lock(project.id):
        made = (
            kept
            if isinstance(kept, Prompted)
            else await asyncio.to_thread(prompt_for, deps, source, task, project, writer, elsewhere=elsewhere)
        )
        talk = await asyncio.to_thread(_talk, deps, source, task, made, writer) if made.looks else None
    return Material(task, source, made, talk, writer=writer)


async def settle(deps: Dependencies, task: Task) -> tuple[Ground, list[RelatedChange]]:
    """The base, pinned if the attempt has none, for a writer that reads by itself, and what changed in other projects
    before; raises as `gather`."""
    project = deps.reader.project(task.project_id)
    before: Sequence[Proposal] = ()
    if task.after:
        from navigator.sheet.variants import changes_before

        before = changes_before(deps.reader, task.id)
    elsewhere = await _elsewhere(deps, project, task, before)
    async with deps.repositories.lock(project.id):
        here = [change for change in before if change.project_id == project.id]
        shared = _base_of_others(deps.reader, task)
        base, private, on = await asyncio.to_thread(
            _pinned_base, deps.repositories, project, task, shared, here
        )
        if base != task.base_commit:
            with deps.store.transaction() as tx:
                tx.set_task_base(task.id, base)
                if on:
                    remember_part_base(tx, base, on, linked=True)
            task = task.model_copy(update={"base_commit": base})
    return Ground(task, TreeSource(private, base, project)), elsewhere


async def made_for(deps: Dependencies, task: Task, base: str, writer: Role) -> tuple[Hashable, Prompted]:
    """The prompt of a task on a base that is not pinned yet, and the key under which `gather` finds it."""
    project = deps.reader.project(task.project_id)
    async with deps.repositories.opened(project) as private:
        source = TreeSource(private, base, project)
        made = await asyncio.to_thread(prompt_for, deps, source, task, project, writer)
    return _prompt_key(deps.prompts, project, task, base, writer), made


def _prompt_key(prompts: PromptLibrary, project: Project, task: Task, base: str, writer: Role) -> Hashable:
    """Everything that a prompt depends on and that may change while it is kept."""
    about = (task.id, task.text, task.note, task.kind, task.files)
    return (*about, project.model_dump_json(), base, writer, prompts.versions)


def _talk(deps: Dependencies, source: TreeSource, task: Task, made: Prompted, writer: Role) -> LookTalk:
    rules, count = deps.settings.generator, deps.counter_for(writer).count
    # One more answer, the one that is repaired or revised, and what is said about it, are in the conversation too.
    room = made.room - made.tokens - deps.settings.server(writer).max_tokens - OVERHEAD
    looker = Looker(deps.map_of(source), task.text, task.files, made.context, rules.look_tokens, count)
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
) -> list[RelatedChange]:
    """The changes in other projects that a task comes after, and the one that the developer sent back."""
    found = []
    sent = sent_back(deps.reader, task)
    for change in (*before, *([sent] if sent else [])):
        if change.project_id == project.id and change is not sent:
            continue
        other = deps.reader.project(change.project_id)
        async with deps.repositories.opened(other) as private:
            text = await asyncio.to_thread(change_text, other, private, change)
        found.append(RelatedChange(other.name, change.id, change.title, text, sent_back=change is sent))
    return found


def sent_back(reader: Reader, task: Task) -> Proposal | None:
    """The change of the attempt before, where the developer sent it back: the new attempt starts from it."""
    for proposal in reversed(reader.proposals(task_id=task.id)):
        if proposal.attempt == task.attempt - 1 and proposal.decision is not None:
            return proposal if proposal.decision.kind is DecisionKind.SEND_BACK else None
    return None


def _base_of_others(reader: Reader, task: Task) -> str:
    """The base of the other variants' present attempts, so that all of them are compared on one; "" where there is none."""
    if not task.variant_of or task.base_commit:
        return ""
    others = [one for one in reader.variants(task.variant_of) if one.attempt == task.attempt]
    return next((one.base_commit for one in others if one.base_commit), "")


def _pinned_base(
    repositories: Repositories, project: Project, task: Task, shared: str, before: Sequence[Proposal]
) -> tuple[str, PrivateRepo, str]:
    private, on = repositories.private(project), ""
    with at_home(project):
        base = task.base_commit or shared
        if not base:
            own = task.based(project)
            base, on = base_on(own, private, task, new_base(own), before)
    private.pin_base(base)
    return base, private, on


def new_base(project: Project) -> str:
    """The commit that an attempt begins on."""
    if is_commit_id(project.base):
        return project.base
    return read_base(project.path, project.base)


def worth_sending(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that a revision answers."""
    return [finding for finding in findings if finding.asked_for]


def findings_block(kind: str, findings: Sequence[Finding], key: str) -> str:
    """Findings as numbered JSON, for the generator ("findings") or the review of a revision ("earlier")."""
    rows: list[dict[str, Any]] = [
        {"number": number} | finding_row(finding) | _test_of(finding)
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
