"""Taking some hunks of a proposal: they become a proposal of their own, and the rest is written anew on top of it or dropped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.socket.wire import Result
from navigator.cascade.verbs.decisions import comment_text
from navigator.cascade.views.parts import (
    comments_on_rest,
    part_name,
    part_note,
    remember_ground,
    rest_note,
)
from navigator.domain.diff import FileDiff
from navigator.domain.errors import Conflict, NavigatorError
from navigator.domain.models import AppliedEdit, Decision, PolicyItem, Proposal, Usage, utc_now
from navigator.domain.states import DecisionKind, PolicyAction, ProposalState, Rung, TaskState
from navigator.store.writes.writer import Transaction
from navigator.workspace.checks.policy import check_policy
from navigator.workspace.git.hunks import Chosen, build_part, commit_part

log = logging.getLogger(__name__)

_TITLE = 72


@dataclass(frozen=True)
class _Built:
    """The part as it stands in the private repository; `ground` is the commit that the rest is written on, "" for none."""

    chosen: Chosen
    files: list[FileDiff]
    part_files: list[FileDiff]
    policy: tuple[PolicyItem, ...]
    ground: str


async def split(
    deps: Dependencies,
    proposal: str,
    hunks: Sequence[str],
    tree: str = "",
    note: str = "",
    drop_rest: bool = False,
) -> Result:
    """Make a proposal of some hunks of an open one.

    It is a task of its own that goes through every gate again and then waits for its own approval; nobody reviews it again.
    What is left becomes a new attempt of the first task on top of it, or is dropped. All of it is one transaction.

    Args:
        hunks: labels of the proposal's diff, as `navigator diff` shows them.
        tree: must be the proposal's, where it is given.
        note: for the attempt that writes the rest; with `drop_rest` it is kept with the decision.
        drop_rest: reject what is left instead of having it written anew.

    Returns:
        `{"part": the derived proposal as JSON, "task": its task as JSON, "rest": {"task", "state", "hunks"}}`.
    """
    parent = deps.reader.proposal(proposal)
    _require_open(deps, parent, tree)
    project = deps.project(parent.project_id)
    async with deps.project_lock(project.id):
        built = await asyncio.to_thread(_build, deps, parent, hunks, drop_rest)
    with deps.store.transaction() as tx:
        # Looked at again: the trees took a moment to make, and somebody may have decided meanwhile.
        _require_open(deps, parent, parent.tree)
        part = _add_part(tx, parent, built)
        if drop_rest:
            _drop_rest(tx, parent, part, built, note)
        else:
            _send_rest_on(tx, parent, part, built, note)
    if not deps.conducting:
        await _check_now(deps, part.task_id)
    rest = deps.reader.task(parent.task_id)
    return {
        "part": deps.reader.proposal(part.id).model_dump(mode="json"),
        "task": deps.reader.task(part.task_id).model_dump(mode="json"),
        "rest": {"task": rest.id, "state": rest.state.value, "hunks": list(built.chosen.rest)},
    }


def _require_open(deps: Dependencies, parent: Proposal, tree: str) -> None:
    now = deps.reader.proposal(parent.id)
    if tree and not now.tree.startswith(tree):
        raise Conflict(
            f"{parent.id} is not the tree you looked at.", hint=f"Look again: `navigator diff {parent.id}`."
        )
    if now.state is not ProposalState.OPEN:
        raise Conflict(
            f"{parent.id} is no longer open ({now.state.value}).",
            hint="`navigator proposals` lists what is open.",
        )
    task = deps.reader.task(parent.task_id)
    if task.state is not TaskState.AWAITING_APPROVAL:
        raise Conflict(
            f"{task.id} is {task.state.value}: {parent.id} does not wait for a decision yet.",
            hint="`navigator run` brings it there.",
        )
    if parent.parent:
        raise Conflict(
            f"{parent.id} is itself a part of {parent.parent}.",
            hint=f"Approve or reject it; `navigator task retry {task.id}` then has it written anew.",
        )


def _build(deps: Dependencies, parent: Proposal, hunks: Sequence[str], drop_rest: bool) -> _Built:
    """Make the part's tree and hold it against the policy. Runs in a thread; writes into the private repository only."""
    project = deps.project(parent.project_id)
    private = deps.private(project)
    chosen = build_part(private, parent.base_commit, parent.tree, hunks)
    raw = private.raw_diff(parent.base_commit, chosen.tree)
    base_paths = private.tree_entries(parent.base_commit).keys()
    policy = check_policy(raw, base_paths, private.read_blob, project=project)
    refused = [item for item in policy if item.action is PolicyAction.REFUSE]
    if refused:
        raise Conflict(
            f"{', '.join(chosen.labels)} of {parent.id} is refused by policy: "
            f"{refused[0].path} {refused[0].detail or refused[0].rule}.",
            hint="Choose other hunks.",
        )
    # Kept before the rows that name them exist: what a crash leaves here is only a name too many.
    private.keep(part_name(parent.id, chosen.tree), chosen.tree, parent.base_commit)
    ground = ""
    if not drop_rest:
        message = f"Part of {parent.id}: {', '.join(chosen.labels)}\n"
        ground = commit_part(private, chosen.tree, parent.base_commit, message)
    files = private.diff(parent.base_commit, parent.tree)
    return _Built(chosen, files, private.diff(parent.base_commit, chosen.tree), policy, ground)


def _add_part(tx: Transaction, parent: Proposal, built: _Built) -> Proposal:
    """The part's task and proposal, on their way to the gates."""
    task = tx.read.task(parent.task_id)
    chosen = built.chosen
    made = tx.add_task(
        task.project_id,
        task.text,
        kind=task.kind,
        complexity=task.complexity,
        priority=task.priority,
        files=task.files,
        origin=task.id,
    )
    tx.set_task_base(made.id, parent.base_commit)
    tx.set_task_state(
        made.id,
        TaskState.CHECKING,
        reason=f"part of {parent.id}: {', '.join(chosen.labels)}",
        note=part_note(parent, built.files, chosen.labels),
    )
    return tx.add_proposal(
        parent.model_copy(
            update={
                "id": "",
                "task_id": made.id,
                "attempt": 0,
                "round": 0,
                "tree": chosen.tree,
                "parent": parent.id,
                "hunks": chosen.labels,
                "title": part_title(parent),
                "edits": _edits(parent, chosen.paths),
                "policy": built.policy,
                "checks": (),
                "overlaps": (),
                "added": sum(file.added for file in built.part_files),
                "removed": sum(file.removed for file in built.part_files),
                "seen": False,
                "usage": Usage(),
                "created": "",
            }
        )
    )


def part_title(parent: Proposal) -> str:
    """`Retry with jitter in client (part of P7)`, in 72 characters."""
    tail = f" (part of {parent.id})"
    title = parent.title
    if len(title) + len(tail) > _TITLE:
        title = title[: _TITLE - len(tail) - 1].rstrip() + "…"
    return title + tail


def _edits(parent: Proposal, paths: Sequence[str]) -> tuple[AppliedEdit, ...]:
    """The parent's edits of these paths; a path that no edit names (the old name of a rename) stands as it is."""
    kept = tuple(edit for edit in parent.edits if edit.path in paths)
    known = {edit.path for edit in kept}
    return (*kept, *(AppliedEdit(path=path, rung=Rung.EXACT) for path in paths if path not in known))


def _drop_rest(tx: Transaction, parent: Proposal, part: Proposal, built: _Built, note: str) -> None:
    said = f"{', '.join(built.chosen.labels)} of it became {part.id}; the rest was dropped."
    full = f"{said}\n{note.strip()}".strip()
    tx.add_decision(parent.id, Decision(kind=DecisionKind.REJECT, note=full, tree=parent.tree, at=utc_now()))
    tx.set_task_state(parent.task_id, TaskState.REJECTED, reason=full)
    _tell(tx, parent, part, built)


def _send_rest_on(tx: Transaction, parent: Proposal, part: Proposal, built: _Built, note: str) -> None:
    """A new attempt on top of the part: its note names what was taken and what was not, then the developer's own words."""
    unsent = tx.read.comments(task_id=parent.task_id, sent=False)
    going = comments_on_rest(parent, unsent, built.files, built.chosen.labels)
    words = "\n".join([note.strip(), *map(comment_text, going)]).strip()
    tx.mark_comments_sent(comment["id"] for comment in going)
    full = rest_note(parent, built.files, built.chosen.labels, words, part=part.id)
    tx.new_attempt(parent.task_id, note=full)
    tx.set_task_base(parent.task_id, built.ground)
    remember_ground(tx, built.ground, part.id, words)
    _tell(tx, parent, part, built)


def _tell(tx: Transaction, parent: Proposal, part: Proposal, built: _Built) -> None:
    said = {"part": part.id, "hunks": list(built.chosen.labels), "rest": list(built.chosen.rest)}
    tx.event("proposal_split", parent.task_id, parent.id, said)


async def _check_now(deps: Dependencies, task_id: str) -> None:
    """Where no conductor will come by, the gates run here."""
    from navigator.cascade.stages.check_dispatch import check_part

    try:
        await check_part(deps, task_id)
    except NavigatorError as error:
        log.warning("%s could not be checked: %s", task_id, error)
        with deps.store.transaction() as tx:
            tx.set_task_state(task_id, TaskState.FAILED, reason=f"It could not be checked: {error}")
