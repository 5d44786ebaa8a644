"""Undoing a landing: while the tip is the landed commit the reference moves back, otherwise a revert commit is made.

An undo is a plan like a landing's, with the same journal, execution and inspection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from navigator.git.diffs import ABSENT
from navigator.git.facts import RepoFacts
from navigator.git.private import PathRefused, PrivateRepo
from navigator.landing import checkout
from navigator.landing.land import branch_name, contains, free_branch
from navigator.landing.plan import (
    LandingPlan,
    LandingRefused,
    UndoRefused,
    compose_message,
    make_commit,
    read_identity,
)
from navigator.model.text import safe_line

UndoKind = Literal["moved_back", "branch_deleted", "revert_branch"]


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What an undo did: which reference it moved, deleted or made, and the commit it points to now ("" if none)."""

    kind: UndoKind
    ref: str
    commit: str


def prepare_undo(plan: LandingPlan, facts: RepoFacts, private: PrivateRepo) -> LandingPlan:
    """Decide how to undo a landing. Writes into the private repository only.

    While the branch points at the landed commit it moves back to where it was, or is deleted when the landing
    created it. With further commits on top, while the branch is checked out, or once the commit is on another branch
    too, the reverse change becomes a commit on a new branch.

    Args:
        plan: the landing's plan, from the journal.
        facts: the user's repository, read just now.

    Raises:
        UndoRefused: the commit is on no branch any more, or the touched files changed since.
    """
    tip = facts.branches.get(plan.branch, "")
    backwards = replace(
        plan,
        git_dir=str(facts.git_dir),
        common_dir=str(facts.common_dir),
        work_tree=str(facts.work_tree or ""),
        private=str(private.git_dir),
        old=plan.commit,
        commit=plan.old,
        paths=tuple(move.reversed() for move in plan.paths),
    )
    if tip == plan.commit and not _on_other_branches(facts, plan):
        if plan.branch not in facts.checked_out:
            return replace(backwards, mode="branch")
        if plan.mode == "current" and facts.branch == plan.branch and _clean(facts, backwards, private):
            return backwards
    return _revert(plan, backwards, facts, private, tip)


def _on_other_branches(facts: RepoFacts, plan: LandingPlan) -> bool:
    """Whether the landed commit was merged: moving its own branch back would undo nothing there."""
    holding = facts.git().run(
        "for-each-ref", "--format=%(refname)", f"--contains={plan.commit}", "refs/heads"
    )
    return any(ref != plan.ref for ref in holding.text.splitlines())


def _clean(facts: RepoFacts, backwards: LandingPlan, private: PrivateRepo) -> bool:
    try:
        checkout.require_branch(facts)
        checkout.require_clean(facts, backwards.paths, private.read_blobs)
    except LandingRefused:
        return False
    return True


def _revert(
    plan: LandingPlan, backwards: LandingPlan, facts: RepoFacts, private: PrivateRepo, tip: str
) -> LandingPlan:
    """A plan for a new branch with the reverse of the landed change on top of what holds it."""
    git = facts.git()
    onto = next((c for c in (tip, facts.head_commit) if contains(git, c, plan.commit)), "")
    if not onto:
        raise UndoRefused(
            f"The commit of {plan.proposal} is neither on {plan.branch} nor on the current branch.",
            hint="If it was merged elsewhere, `git revert` it there.",
        )
    there = private.tree_entries(onto)
    changed = [
        move.path
        for move in backwards.paths
        if ((e.mode, e.sha) if (e := there.get(move.path)) is not None else (ABSENT, "0" * len(move.old_sha)))
        != (move.old_mode, move.old_sha)
    ]
    if changed:
        raise UndoRefused(
            f"Changed since {plan.proposal} landed: {', '.join(safe_line(path) for path in changed[:5])}.",
            hint=f"`git revert {plan.commit[:12]}` merges manually.",
        )
    try:
        tree = private.place(onto, backwards.paths)
    except PathRefused as error:
        raise UndoRefused(error.message, hint=f"`git revert {plan.commit[:12]}` merges manually.") from error
    identity = read_identity(facts)
    message = f"Revert what {plan.proposal} changed\n\nThis takes back commit {plan.commit}."
    text = compose_message(message, {"Navigator-Undo": plan.proposal})
    branch = free_branch(facts, branch_name(f"undo-{plan.proposal}"))
    return replace(
        backwards,
        mode="branch",
        ref=f"refs/heads/{branch}",
        old="",
        parent=onto,
        tree=tree,
        commit=make_commit(private, identity, tree, onto, text),
        committer=(identity.committer.name, identity.committer.email),
    )


def undo_result(back: LandingPlan) -> UndoResult:
    """What an executed undo plan did."""
    kind: UndoKind = "branch_deleted" if not back.commit else "moved_back" if back.old else "revert_branch"
    return UndoResult(kind, back.ref, back.commit)
