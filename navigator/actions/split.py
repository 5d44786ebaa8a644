"""Split: some hunks of a proposal become one of their own, and the rest another; with a note the rest is written again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from navigator.actions.base import NoteField, Question, Subject, SubjectVerb, Told, refusal_of
from navigator.actions.deciding import TreePin, not_waiting, require_tree
from navigator.actions.send_back import comment_text
from navigator.journey import change
from navigator.model.diff import FileDiff
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import AppliedEdit, Decision, Model, PolicyItem, Proposal, Task, Usage, utc_now
from navigator.model.states import (
    CheckOutcome,
    DecisionKind,
    PolicyAction,
    ProposalState,
    Rung,
    TaskState,
)
from navigator.model.text import cut_title
from navigator.sheet.parts import (
    comments_on_rest,
    part_name,
    part_note,
    remember_part_base,
    rest_note,
)

if TYPE_CHECKING:
    from navigator.git.hunks import Chosen
    from navigator.git.private import PrivateRepo
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction

log = logging.getLogger(__name__)

_TITLE = 72


class SplitArgs(Model):
    """Which hunks of which proposal, by the labels that `navigator diff` shows.

    `tree` must be the proposal's, where it is given. With a `note`, or comments on lines that are not chosen, the rest is written
    again; with `drop_rest` it is rejected, and the note is kept with that decision.
    """

    proposal: str
    hunks: tuple[str, ...]
    tree: TreePin = ""
    note: str = ""
    drop_rest: bool = False


class Rest(Model):
    """The task of what was not chosen: its state, the labels, and its proposal where it became one."""

    task: str
    state: TaskState
    hunks: tuple[str, ...] = ()
    proposal: str = ""


class SplitDone(Model):
    """The new proposal and its task as they are now, and the rest."""

    part: Proposal
    task: Task
    rest: Rest


@dataclass(frozen=True)
class Built:
    """The part as it is in the private repository; `base` is the commit that holds it, for a rest that is written on it.

    `rest` is what was not chosen, and `rest_base` the commit it is on: the proposal's own base where it touches no file of the
    part, so that each can land alone, else the one that holds the part. None where the rest is dropped.
    """

    chosen: Chosen
    files: list[FileDiff]
    part_files: list[FileDiff]
    policy: tuple[PolicyItem, ...]
    base: str
    rest: Chosen | None = None
    rest_base: str = ""
    rest_files: Sequence[FileDiff] = ()
    rest_policy: tuple[PolicyItem, ...] = ()


class Split(SubjectVerb[SplitArgs, SplitDone]):
    """The part is a task of its own: it goes through every check again and then waits for its own approval; its review is that of
    the whole, and `escalate` has it read. What is left becomes a new attempt of the first task. All of it is one transaction."""

    name = "split"
    args = SplitArgs
    result = SplitDone

    def ids(self, args: SplitArgs) -> Iterable[str]:
        return [args.proposal]

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        if not on.waiting:
            return not_waiting(on)
        if on.parent:
            return Conflict(
                f"{on.proposal} is itself a part of {on.parent}; it cannot be split again.",
                hint=f"Approve or reject it. After a rejection, `navigator task retry {on.task}` has it written again.",
            )
        return None

    def refuse(self, reader: Reader, args: SplitArgs) -> NavigatorError | None:
        changed = refusal_of(lambda: require_tree(reader.proposal(args.proposal), args.tree))
        return changed or super().refuse(reader, args)

    def question(self, reader: Reader, args: SplitArgs) -> Question:
        shown = reader.proposal(args.proposal)
        said = shown.review.verdict.value if shown.review is not None else "not reviewed"
        lines = (
            f"The checks run again on it and on the rest, which becomes a proposal too. {shown.id} was read as a whole ({said}).",
            "With a note, or a comment on one of its lines, the rest is written again.",
            "Nothing is approved yet: it opens next; you approve it separately.",
        )
        title = f"Make a proposal of {', '.join(args.hunks)} of {shown.id}?"
        return Question(title, lines, "split", NoteField("a note for the rest (optional)"))

    async def perform(self, deps: Dependencies, args: SplitArgs) -> SplitDone:
        parent = deps.reader.proposal(args.proposal)
        self.require(deps.reader, args)
        project = deps.project(parent.project_id)
        async with deps.project_lock(project.id):
            built = await asyncio.to_thread(_build, deps, parent, args.hunks, args.drop_rest)
        with deps.store.transaction() as tx:
            # Checked again: the user may have decided while the trees were made.
            self.require(deps.reader, args.model_copy(update={"tree": parent.tree}))
            part = add_part(tx, parent, built)
            if args.drop_rest:
                _drop_rest(tx, parent, part, built, args.note)
            else:
                _go_on_with_rest(tx, parent, part, built, args.note)
        rest = deps.reader.task(parent.task_id)
        if not deps.conducting:
            await check_now(deps, part.task_id)
            if rest.state is TaskState.CHECKING:
                await check_now(deps, rest.id)
                rest = deps.reader.task(rest.id)
        kept = deps.reader.proposals({ProposalState.OPEN}, task_id=rest.id)
        return SplitDone(
            part=deps.reader.proposal(part.id),
            task=deps.reader.task(part.task_id),
            rest=Rest(
                task=rest.id,
                state=rest.state,
                hunks=built.chosen.rest,
                proposal=kept[-1].id if kept else "",
            ),
        )

    def tell(self, result: SplitDone) -> list[Told]:
        part, rest = result.part, result.rest
        told = [part_told(part, result.task, f"made from {', '.join(part.hunks)} of {part.parent}")]
        left = ", ".join(rest.hunks)
        if rest.state is TaskState.REJECTED:
            return [*told, Told(rest.task, f"{left} dropped")]
        if rest.proposal:
            return [*told, Told(rest.proposal, f"is the rest of {part.parent}: {left}")]
        return [*told, Told(rest.task, f"rewrites {left} on top of {part.id}")]


def part_told(part: Proposal, task: Task, made: str) -> Told:
    """What became of a part: `made` from what, and how far its checks are."""
    hint = f"To land it: navigator approve {part.id}"
    if task.state is TaskState.CHECKING:
        return Told(part.id, f"{made}; its checks have not run yet", hint=hint)
    if task.state is TaskState.FAILED:
        return Told(part.id, f"{made}; {task.reason}", "error")
    failed = [check.name for check in part.checks if check.outcome is CheckOutcome.FAILED]
    words = f"failed checks: {', '.join(failed)}" if failed else "its checks are done"
    return Told(part.id, f"{made}; {words}", "error" if failed else "information", hint)


def kept_tree(
    deps: Dependencies, parent: Proposal, base: str, tree: str, what: str, hint: str
) -> tuple[PolicyItem, ...]:
    """What the policy asks of a part's tree, which the private repository keeps from now on.

    Kept before the rows that name it exist: a crash here leaves only an unused name.

    Raises:
        Conflict: the policy refuses it; `what` it is, in words.
    """
    from navigator.checks.policy import check_policy

    project = deps.project(parent.project_id)
    private = deps.private(project)
    paths = private.tree_entries(base).keys()
    policy = check_policy(private.raw_diff(base, tree), paths, private.read_blob, project=project)
    refused = [item for item in policy if item.action is PolicyAction.REFUSE]
    if refused:
        why = refused[0].detail or refused[0].rule
        raise Conflict(f"{what} is refused by policy: {refused[0].path} {why}.", hint=hint)
    private.keep(part_name(parent.id, tree), tree, base)
    return policy


def _build(deps: Dependencies, parent: Proposal, hunks: Sequence[str], drop_rest: bool) -> Built:
    """Make the part's tree and check it against the policy. Runs in a thread; writes into the private repository only."""
    from navigator.git.hunks import build_part, commit_part

    private = deps.private(deps.project(parent.project_id))
    chosen = build_part(private, parent.base_commit, parent.tree, hunks)
    what = f"{', '.join(chosen.labels)} of {parent.id}"
    policy = kept_tree(deps, parent, parent.base_commit, chosen.tree, what, "Choose other hunks.")
    base = ""
    if not drop_rest:
        message = f"Part of {parent.id}: {', '.join(chosen.labels)}\n"
        base = commit_part(private, chosen.tree, parent.base_commit, message)
    files = private.diff(parent.base_commit, parent.tree)
    made = Built(chosen, files, private.diff(parent.base_commit, chosen.tree), policy, base)
    return made if drop_rest else _with_rest(deps, private, parent, made)


def _with_rest(deps: Dependencies, private: PrivateRepo, parent: Proposal, made: Built) -> Built:
    """The same with what was not chosen."""
    from navigator.git.hunks import ChoiceRefused, build_part

    base = parent.base_commit
    try:
        rest = build_part(private, base, parent.tree, made.chosen.rest)
        alone = set(made.chosen.paths).isdisjoint(rest.paths)
    except ChoiceRefused:
        alone = False  # it needs the part
    if not alone:
        base = made.base
        raw = private.raw_diff(base, parent.tree)
        paths = tuple(dict.fromkeys(change.path for change in raw))
        rest = replace(made.chosen, tree=parent.tree, paths=paths)
    rest = replace(rest, labels=made.chosen.rest, rest=made.chosen.labels)
    policy = kept_tree(deps, parent, base, rest.tree, f"The rest of {parent.id}", "Choose other hunks.")
    files = private.diff(base, rest.tree)
    return replace(made, rest=rest, rest_base=base, rest_files=files, rest_policy=policy)


def add_part(tx: Transaction, parent: Proposal, built: Built, reason: str = "", title: str = "") -> Proposal:
    """The part's task and proposal, queued for the checks.

    Args:
        reason: in words, what the part is; by default its hunks.
        title: what its title says besides the parent's; by default that it is a part.
    """
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
    said = reason or f"part of {parent.id}: {', '.join(chosen.labels)}"
    change.begin_with_checks(tx, made, said, part_note(parent, built.files, chosen.labels))
    said = part_title(parent, title or f"part of {parent.id}")
    return _derived(tx, parent, made, chosen, built.part_files, built.policy, said)


def _derived(
    tx: Transaction,
    parent: Proposal,
    task: Task,
    chosen: Chosen,
    files: Sequence[FileDiff],
    policy: Sequence[PolicyItem],
    title: str,
    base: str = "",
) -> Proposal:
    """Add a proposal of some hunks of another one to a task that is in its checks."""
    return tx.add_proposal(
        parent.model_copy(
            update={
                "id": "",
                "task_id": task.id,
                "attempt": task.attempt,
                "round": 0,
                "base_commit": base or parent.base_commit,
                "tree": chosen.tree,
                "parent": parent.id,
                "hunks": chosen.labels,
                "title": title,
                "edits": _edits(parent, chosen.paths),
                "policy": tuple(policy),
                "checks": (),
                "overlaps": (),
                "added": sum(file.added for file in files),
                "removed": sum(file.removed for file in files),
                "seen": False,
                "usage": Usage(),
                "created": "",
            }
        )
    )


def part_title(parent: Proposal, what: str) -> str:
    """`Retry with jitter in client (part of P7)`, in 72 characters."""
    tail = f" ({what})"
    title = parent.title
    if len(title) + len(tail) > _TITLE:
        title = cut_title(title, _TITLE - len(tail))
    return title + tail


def _edits(parent: Proposal, paths: Sequence[str]) -> tuple[AppliedEdit, ...]:
    """The parent's edits of these paths; a path that no edit names (the old name of a rename) is kept as it is."""
    kept = tuple(edit for edit in parent.edits if edit.path in paths)
    known = {edit.path for edit in kept}
    return (*kept, *(AppliedEdit(path=path, rung=Rung.EXACT) for path in paths if path not in known))


def _drop_rest(tx: Transaction, parent: Proposal, part: Proposal, built: Built, note: str) -> None:
    said = f"{', '.join(built.chosen.labels)} of it became {part.id}; the rest was dropped."
    full = f"{said}\n{note.strip()}".strip()
    tx.add_decision(parent.id, Decision(kind=DecisionKind.REJECT, note=full, tree=parent.tree, at=utc_now()))
    change.reject(tx, parent.task_id, full)
    _store_part(tx, parent, part, built)


def _go_on_with_rest(tx: Transaction, parent: Proposal, part: Proposal, built: Built, note: str) -> None:
    """A new attempt: the rest as it is, or, where the developer says something about it, written again on top of the part.

    Then its note lists what was taken and what was not, and quotes the developer's note.
    """
    unsent = tx.read.comments(task_id=parent.task_id, sent=False)
    going = comments_on_rest(parent, unsent, built.files, built.chosen.labels)
    words = "\n".join([note.strip(), *map(comment_text, going)]).strip()
    tx.mark_comments_sent(comment["id"] for comment in going)
    if not words and built.rest is not None:
        task = tx.new_attempt(parent.task_id, note=part_note(parent, built.files, built.chosen.rest))
        tx.set_task_base(task.id, built.rest_base)
        if built.rest_base != parent.base_commit:
            remember_part_base(tx, built.rest_base, part.id, "")
        said = f"the rest of {parent.id}: {', '.join(built.chosen.rest)}"
        change.begin_with_checks(tx, task, said)
        title = part_title(parent, f"the rest of {parent.id}")
        _derived(tx, parent, task, built.rest, built.rest_files, built.rest_policy, title, built.rest_base)
        _store_part(tx, parent, part, built)
        return
    full = rest_note(parent, built.files, built.chosen.labels, words, part=part.id)
    tx.new_attempt(parent.task_id, note=full)
    tx.set_task_base(parent.task_id, built.base)
    remember_part_base(tx, built.base, part.id, words)
    _store_part(tx, parent, part, built)


def _store_part(tx: Transaction, parent: Proposal, part: Proposal, built: Built) -> None:
    said = {"part": part.id, "hunks": list(built.chosen.labels), "rest": list(built.chosen.rest)}
    tx.event("proposal_split", parent.task_id, parent.id, said)


async def check_now(deps: Dependencies, task_id: str) -> None:
    """Without a conductor, the checks run here."""
    from navigator.journey.testing import check_part

    try:
        await check_part(deps, task_id)
    except NavigatorError as error:
        log.warning("%s could not be checked: %s", task_id, error)
        deps.move(change.broke, deps.reader.task(task_id), f"It could not be checked: {error}")
