"""Split a proposal: some of its hunks become one of their own, the rest another."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from navigator.actions.base import Done, Question, SubjectVerb, Told, done, refusal_of
from navigator.actions.deciding import TreePin, not_waiting, require_tree
from navigator.journey import moves
from navigator.model.diff import FileDiff
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import AppliedEdit, PolicyItem, Proposal, Task, Usage
from navigator.model.states import PolicyAction, Rung
from navigator.model.text import TITLE, cut_title
from navigator.sheet.parts import part_name, part_note, remember_part_base

if TYPE_CHECKING:
    from navigator.git.hunks import Chosen
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Built:
    """Some of a proposal as it is in the private repository, on the commit `base`: what was chosen, the diff on that base, and
    what opens the prompt where it has to be written again."""

    chosen: Chosen
    base: str
    files: Sequence[FileDiff]
    policy: tuple[PolicyItem, ...]
    note: str


class Split(SubjectVerb):
    """Make a proposal of the `hunks`, by the labels that `navigator diff` shows, and another of what is left.

    The part is a task of its own: it goes through every check again and then waits for its own approval; its review is that of
    the whole, and `escalate` has it read. What is left becomes a new attempt of the first task. All of it is one transaction.
    `tree` must be the proposal's, where it is given.
    """

    op = "split"
    names = "proposal"

    proposal: str
    hunks: tuple[str, ...]
    tree: TreePin = ""

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        if not on.to_decide:
            return not_waiting(on)
        if on.parent:
            return Conflict(
                f"{on.proposal} is itself made from {on.parent}; nothing further can be made from it.",
                hint=f"Approve or reject it. After a rejection, `navigator task retry {on.task}` has it written again.",
            )
        return None

    def refuse(self, reader: Reader) -> NavigatorError | None:
        changed = refusal_of(lambda: require_tree(reader.proposal(self.proposal), self.tree))
        return changed or super().refuse(reader)

    async def perform(self, deps: Dependencies) -> Done:
        parent = deps.reader.proposal(self.proposal)
        self.require(deps.reader)
        taken, left = await deps.repositories.locked(parent.project_id, self._build, deps, parent)
        with deps.store.transaction() as tx:
            # Checked again: the user may have decided while the trees were made.
            self.model_copy(update={"tree": parent.tree}).require(deps.reader)
            part, rest = self._keep(tx, parent, taken, left)
        for one in (part, rest) if not deps.conducting else ():
            await _check_now(deps, one.task_id)
        return self._became(deps, parent, deps.reader.proposal(part.id), deps.reader.proposal(rest.id))

    def question(self, reader: Reader) -> Question:
        shown = reader.proposal(self.proposal)
        said = shown.review.verdict.value if shown.review is not None else "not reviewed"
        lines = (
            f"The checks run again on it and on the rest, which becomes a proposal too. {shown.id} was read as a whole ({said}).",
            "Nothing is approved yet: it opens next; you approve it separately.",
        )
        return Question(f"Make a proposal of {', '.join(self.hunks)} of {shown.id}?", lines, "split")

    def _build(self, deps: Dependencies, parent: Proposal) -> tuple[_Built, _Built]:
        """The part, and what is left: on the proposal's own base where it touches no file of the part, so that each can land
        alone, else on a commit that holds the part."""
        from navigator.git.hunks import ChoiceRefused, build_part, commit_part

        private, base = deps.repositories.private(deps.reader.project(parent.project_id)), parent.base_commit
        chosen = build_part(private, base, parent.tree, self.hunks)
        part = _check_and_keep(deps, parent, chosen, base, f"{', '.join(chosen.labels)} of {parent.id}")
        try:
            rest = build_part(private, base, parent.tree, chosen.rest)
            alone = set(chosen.paths).isdisjoint(rest.paths)
        except ChoiceRefused:
            alone = False  # it needs the part
        if not alone:
            base = commit_part(
                private, chosen.tree, base, f"Part of {parent.id}: {', '.join(chosen.labels)}\n"
            )
            paths = tuple(dict.fromkeys(one.path for one in private.raw_diff(base, parent.tree)))
            rest = replace(chosen, tree=parent.tree, paths=paths)
        rest = replace(rest, labels=chosen.rest, rest=chosen.labels)
        return part, _check_and_keep(deps, parent, rest, base, f"The rest of {parent.id}")

    def _keep(
        self, tx: Transaction, parent: Proposal, taken: _Built, left: _Built
    ) -> tuple[Proposal, Proposal]:
        """A proposal of each, in one transaction."""
        said = f"part of {parent.id}"
        part = _add_part(tx, parent, taken, f"{said}: {', '.join(taken.chosen.labels)}", said)
        task = tx.new_attempt(parent.task_id, note=left.note)
        tx.set_task_base(task.id, left.base)
        if left.base != parent.base_commit:
            remember_part_base(tx, left.base, part.id)
        said = f"the rest of {parent.id}"
        moves.begin_with_checks(tx, task, f"{said}: {', '.join(left.chosen.labels)}")
        rest = _derived(tx, parent, task, left, said)
        labels = {"hunks": list(taken.chosen.labels), "rest": list(left.chosen.labels)}
        tx.event("proposal_split", parent.task_id, parent.id, {"part": part.id} | labels)
        return part, rest

    def _became(self, deps: Dependencies, parent: Proposal, part: Proposal, rest: Proposal) -> Done:
        told = (
            Told(
                part.id,
                f"made from {', '.join(part.hunks)} of {parent.id}",
                hint=f"To land it: navigator approve {part.id}",
            ),
            Told(rest.id, f"is the rest of {parent.id}: {', '.join(rest.hunks)}"),
        )
        state = deps.reader.task(rest.task_id).state
        beside = {"task": rest.task_id, "state": state, "hunks": rest.hunks, "proposal": rest.id}
        return done(told, proposals=[part], rest=beside)


def _check_and_keep(
    deps: Dependencies,
    parent: Proposal,
    chosen: Chosen,
    base: str,
    what: str,
) -> _Built:
    """Check a part against the policy and keep its tree in the private repository. It is kept before its database rows exist, so
    a crash leaves only an unused ref.

    Raises:
        Conflict: the policy refuses it; `what` it is, in words.
    """
    from navigator.checks.policy import check_policy

    project = deps.reader.project(parent.project_id)
    private = deps.repositories.private(project)
    paths, tree = private.tree_entries(base).keys(), chosen.tree
    policy = check_policy(private.raw_diff(base, tree), paths, private.read_blob, project=project)
    refused = next((item for item in policy if item.action is PolicyAction.REFUSE), None)
    if refused is not None:
        why = refused.detail or refused.rule
        raise Conflict(f"{what} is refused by policy: {refused.path} {why}.", hint="Choose other hunks.")
    private.keep(part_name(parent.id, tree), tree, base)
    whole = private.diff(parent.base_commit, parent.tree)
    return _Built(chosen, base, private.diff(base, tree), policy, part_note(parent, whole, chosen.labels))


def _add_part(tx: Transaction, parent: Proposal, built: _Built, reason: str, title: str) -> Proposal:
    """The part's task and proposal, queued for the checks.

    Args:
        reason: in words, what the part is.
        title: what its title says besides the parent's.
    """
    task = tx.read.task(parent.task_id)
    same = task.model_dump(include={"kind", "complexity", "priority", "files"})
    made = tx.add_task(task.project_id, task.text, origin=task.id, **same)
    tx.set_task_base(made.id, built.base)
    moves.begin_with_checks(tx, made, reason, built.note)
    return _derived(tx, parent, made, built, title)


def _derived(tx: Transaction, parent: Proposal, task: Task, built: _Built, what: str) -> Proposal:
    """Add to `task` a proposal made of part of `parent`. `what` it is, in its title."""
    return tx.add_proposal(
        parent.model_copy(
            update={
                "id": "",
                "task_id": task.id,
                "attempt": task.attempt,
                "round": 0,
                "base_commit": built.base,
                "tree": built.chosen.tree,
                "parent": parent.id,
                "hunks": built.chosen.labels,
                "title": _part_title(parent, what),
                "edits": _edits(parent, built.chosen.paths),
                "policy": built.policy,
                "checks": (),
                "overlaps": (),
                "added": sum(file.added for file in built.files),
                "removed": sum(file.removed for file in built.files),
                "seen": False,
                "usage": Usage(),
                "created": "",
            }
        )
    )


def _part_title(parent: Proposal, what: str) -> str:
    """`Retry with jitter in client (part of P7)`, as long as a title may be."""
    tail = f" ({what})"
    return cut_title(parent.title, TITLE - len(tail)) + tail


def _edits(parent: Proposal, paths: Sequence[str]) -> tuple[AppliedEdit, ...]:
    """The parent's edits of these paths; a path that no edit names (the old name of a rename) is kept as it is."""
    kept = tuple(edit for edit in parent.edits if edit.path in paths)
    known = {edit.path for edit in kept}
    return (*kept, *(AppliedEdit(path=path, rung=Rung.EXACT) for path in paths if path not in known))


async def _check_now(deps: Dependencies, task_id: str) -> None:
    """Without a conductor, the checks run here."""
    from navigator.journey.change import check

    try:
        await check(deps, task_id)
    except NavigatorError as error:
        log.warning("%s could not be checked: %s", task_id, error)
        deps.move(moves.broke, deps.reader.task(task_id), f"It could not be checked: {error}")
