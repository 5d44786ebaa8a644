"""An approved tree reaches a branch of the user's repository.

`prepare_landing` decides and makes the commit, in the private repository only. Its plan is plain data: the
caller journals it, then calls `execute_landing`, which copies the objects over and moves one reference by
compare-and-swap. After a crash `inspect_landing` tells from the repository itself how far a journaled plan
got.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

from navigator.checks.policy import check_paths, check_policy
from navigator.git.diffs import ABSENT, RawChange, parse_raw
from navigator.git.facts import RepoFacts, RepositoryError, checked_out_branches, require_same, resolve_base
from navigator.git.private import PathRefused, PrivateRepo
from navigator.git.runner import Git, GitError, Person, person_environment
from navigator.git.snapshot import not_committed_yet
from navigator.landing import checkout
from navigator.landing.plan import (
    LandingPlan,
    LandingRefused,
    Mode,
    RefMoved,
    StaleBase,
    clear_plan_locks,
    compose_message,
    make_commit,
    read_identity,
)
from navigator.model import patterns
from navigator.model.models import Project, Proposal
from navigator.model.states import PolicyAction
from navigator.model.text import safe_line

Progress = Literal["done", "not_done", "partial", "diverged"]

_BRANCH_CHARS = patterns.compile(r"[^A-Za-z0-9._-]+")
_DAY = patterns.compile(r"(\d{4}-\d\d-\d\d)-[a-z]+(-.+)?")


def prepare_landing(
    project: Project,
    facts: RepoFacts,
    private: PrivateRepo,
    proposal: Proposal,
    batch: str,
    message: str,
    *,
    mode: Mode | None = None,
    trailers: Mapping[str, str] | None = None,
    landed: Collection[str] = (),
) -> LandingPlan:
    """Decide how an approved proposal lands, and make its commit. Writes into the private repository only.

    Args:
        facts: the user's repository, read just now.
        batch: names the branch by its day.
        message: the commit message without trailers.
        mode: how to land; the project's setting by default.
        trailers: further trailers, such as models and prompt versions.
        landed: commits of earlier landings: a branch of the batch that holds one of them is Navigator's, and goes on.

    Raises:
        StaleBase, LandingRefused: touched paths differ at the target, or something else prevents it.
    """
    _require_landable(project, facts)
    raw = _landable_changes(private, proposal)
    chosen: Mode = mode or ("current" if project.landing == "current" else "branch")
    ref, old, parent = _target(project, facts, chosen, batch, landed)
    transplanted = private.tree_of(parent) != private.tree_of(proposal.base_commit)
    tree = _transplant(private, raw, proposal.base_commit, parent) if transplanted else proposal.tree
    if chosen == "current":
        checkout.require_clean(facts, raw, private.read_blobs)
    identity = read_identity(facts)
    lines = {"Navigator-Proposal": proposal.id, "Navigator-Batch": batch, **(trailers or {})}
    commit = make_commit(private, identity, tree, parent, compose_message(message, lines))
    return LandingPlan(
        mode=chosen,
        proposal=proposal.id,
        path=str(facts.path),
        git_dir=str(facts.git_dir),
        common_dir=str(facts.common_dir),
        work_tree=str(facts.work_tree or ""),
        private=str(private.git_dir),
        ref=ref,
        old=old,
        commit=commit,
        parent=parent,
        tree=tree,
        transplanted=transplanted,
        committer=(identity.committer.name, identity.committer.email),
        paths=tuple(raw),
    )


def _require_landable(project: Project, facts: RepoFacts) -> None:
    try:
        require_same(facts, project)
    except RepositoryError as error:
        raise LandingRefused(error.message, hint=error.hint) from error


def _landable_changes(private: PrivateRepo, proposal: Proposal) -> list[RawChange]:
    """The proposal's changes. The policy is asked once more: what it refuses never lands, whatever was recorded."""
    raw = private.raw_diff(proposal.base_commit, proposal.tree)
    if not raw:
        raise LandingRefused(f"{proposal.id} changes nothing.", hint="Reject it.")
    items = check_policy(raw, private.tree_entries(proposal.base_commit).keys(), private.read_blob)
    refused = [item for item in items if item.action is PolicyAction.REFUSE]
    if refused:
        words = "; ".join(f"{safe_line(item.path)} {item.detail}" for item in refused[:3])
        raise LandingRefused(
            f"{proposal.id} is refused by policy: {words}.", hint="Send it back with a note."
        )
    return raw


def _transplant(private: PrivateRepo, raw: list[RawChange], base: str, parent: str) -> str:
    """Place the approved blobs on another commit, if every touched path there is as it was in the base."""
    there = private.tree_entries(parent)
    stale: list[str] = []
    same = 0
    for change in raw:
        entry = there.get(change.path)
        mode, sha = (entry.mode, entry.sha) if entry is not None else (ABSENT, "0" * len(change.old_sha))
        if (mode, sha) != (change.old_mode, change.old_sha):
            stale.append(change.path)
            same += (mode, sha) == (change.new_mode, change.new_sha)
    if same == len(raw):
        raise LandingRefused(
            "The target already has this change.", hint="Reject the proposal: it is not needed."
        )
    removed = {change.path for change in raw if change.new_mode == ABSENT}
    made = [change.path for change in raw if change.new_mode != ABSENT]
    stale += [item.path for item in check_paths(made, there.keys(), removed=removed)]
    if not stale:
        try:
            return private.place(parent, raw)
        except PathRefused:
            stale = made
    paths = tuple(dict.fromkeys(stale))
    if missing := not_committed_yet(private, base, parent, paths):
        raise LandingRefused(
            f"The proposal is based on uncommitted work: {', '.join(safe_line(path) for path in missing[:5])}"
            f"{' and more' if len(missing) > 5 else ''}.",
            hint="Commit it as it was then and approve again, or take the approval back.",
        )
    raise StaleBase(
        f"Changed since the proposal was made: {', '.join(safe_line(path) for path in paths[:5])}"
        f"{' and more' if len(paths) > 5 else ''}.",
        paths=paths,
        hint="The task starts a new attempt on the current files.",
    )


def branch_name(batch: str) -> str:
    """The branch of a batch: `navigator/2026-11-22` for all batches of that day; of other names, what a branch can hold."""
    day = _DAY.fullmatch(batch)
    name = _BRANCH_CHARS.sub("-", day[1] + (day[2] or "") if day else batch).strip("-.")
    name = patterns.sub(r"\.{2,}", ".", name)
    name = name.removesuffix(".lock")
    return f"navigator/{name or 'batch'}"


def free_branch(facts: RepoFacts, name: str) -> str:
    """`name`, or `name-2`, `name-3`, … so that no branch of that name, below it or above it exists."""
    taken = set(facts.branches)
    above = {"/".join(name.split("/")[:n]) for n in range(1, name.count("/") + 1)}
    stem = name.replace("/", "-") if above & taken else name
    number = 1
    while True:
        candidate = stem if number == 1 else f"{stem}-{number}"
        if candidate not in taken and not any(other.startswith(f"{candidate}/") for other in taken):
            return candidate
        number += 1


def _target(
    project: Project, facts: RepoFacts, mode: Mode, batch: str, landed: Collection[str]
) -> tuple[str, str, str]:
    """The branch to land on: (reference, its commit or "" for a new branch, the new commit's parent)."""
    if mode == "current":
        return f"refs/heads/{checkout.require_branch(facts)}", facts.head_commit, facts.head_commit
    git = facts.git()
    name = branch_name(batch)
    pattern = patterns.compile(
        rf"(?:{patterns.escape(name)}|{patterns.escape(name.replace('/', '-'))})(?:-(\d+))?"
    )
    candidates = [(int(m[1] or 1), b) for b in facts.branches if (m := pattern.fullmatch(b)) is not None]
    base, last = resolve_base(facts, project.base)[1], ""
    for _, branch in sorted(candidates):
        tip = facts.branches[branch]
        if set(git.commits("--max-count=500", given=[tip])).isdisjoint(landed):
            continue
        # What was merged since goes on from where it was merged to.
        last = base if contains(git, base, tip) else tip
        if branch not in facts.checked_out:
            return f"refs/heads/{branch}", tip, last
        # It is checked out and must not move. The next branch continues from there.
    return f"refs/heads/{free_branch(facts, name)}", "", last or base


def read_ref(git: Git, ref: str) -> str:
    """The object a full reference points at, or "" when it does not exist."""
    return git.run("rev-parse", "--verify", "--quiet", "--end-of-options", ref, check=False).text


def contains(git: Git, tip: str, commit: str) -> bool:
    """Whether `commit` is `tip` or one of its ancestors."""
    return bool(tip) and git.run("merge-base", "--is-ancestor", commit, tip, check=False).status == 0


def execute_landing(plan: LandingPlan) -> None:
    """Do what a plan says. May be called again after a crash: what is done already is left alone.

    Raises:
        RefMoved: the branch is not where the plan expects it; nothing of the user's was changed.
        LandingRefused: the checkout is no longer clean (mode "current"), or the branch was checked out
        meanwhile.
    """
    git = plan.git()
    if plan.mode == "branch" and read_ref(git, plan.ref) == plan.commit:
        return
    if plan.commit:
        # Always, not only when the commit is missing: a crash may have left it there without all of its
        # files.
        _copy_objects(plan, git)
    if plan.mode == "current":
        checkout.move(plan, lambda: move_ref(plan, git))
        return
    if plan.old and plan.branch in checked_out_branches(Path(plan.common_dir), git):
        raise LandingRefused(
            f"{plan.branch} was checked out in the meantime, so it is not moved.",
            hint="Approve again: the change then lands on a new branch.",
        )
    move_ref(plan, git)


def move_ref(plan: LandingPlan, git: Git) -> None:
    """Move the plan's reference from `old` to `commit` by compare-and-swap; a no-op when it is there already."""
    current = read_ref(git, plan.ref)
    if current == plan.commit:
        return
    zero = "0" * len(plan.parent)
    person = Person(*plan.committer)
    words = ("-d", plan.ref, plan.old) if not plan.commit else (plan.ref, plan.commit, plan.old or zero)
    try:
        reason = f"navigator: {plan.proposal}"
        git.run("update-ref", "--no-deref", "-m", reason, *words, env=person_environment(person, person))
    except GitError as error:
        if error.status < 0:
            # Ended by a signal: it may have moved the reference already, and it may have left its lock.
            clear_plan_locks(plan)
        if read_ref(git, plan.ref) == plan.commit:
            return  # or the git of a Navigator that was killed moved it just now
        raise RefMoved(
            f"{plan.branch} could not be moved: {error.stderr.splitlines()[0] if error.stderr else error.message}",
            hint="Another process moved or locked it. Approve again.",
        ) from error


def _copy_objects(plan: LandingPlan, git: Git) -> None:
    """Copy the commit and the objects that its parent does not have, loose, as `git commit` would write
    them."""
    private = Git(Path(plan.private), outside=git.outside)
    listed = private.run(
        "diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", plan.parent, plan.commit
    ).stdout
    made = {change.new_sha for _, change in parse_raw(listed)[0] if change.new_mode != ABSENT}
    wanted = made | {plan.commit, plan.tree}
    pack = private.run(
        "pack-objects", "--stdout", "--quiet", input="".join(f"{o}\n" for o in sorted(wanted)).encode()
    )
    try:
        git.run("unpack-objects", "-q", "--strict", input=pack.stdout)
    except GitError as error:
        raise LandingRefused(
            f"{plan.path} does not take the change: {error.stderr.splitlines()[0] if error.stderr else error.message}",
            hint="Is the disk full, or the repository read-only? Run `git fsck` there for details.",
        ) from error


def inspect_landing(plan: LandingPlan) -> Progress:
    """How far a journaled plan got, read from the user's repository.

    Returns:
        "done": the reference points at the plan's commit or a descendant of it.
        "not_done": nothing was changed; the plan may be executed or dropped.
        "partial": mode "current" was cut off between files and index; `execute_landing` finishes it, or
        puts the
            files back where the branch has moved.
        "diverged": the reference moved elsewhere; the plan is void.
    """
    git = plan.git()
    tip = read_ref(git, plan.ref)
    if plan.mode == "current" and checkout.is_unfinished(plan, tip):
        return "partial"
    if tip == plan.commit:
        return "done"
    if tip == plan.old:
        return "not_done"
    if plan.commit and contains(git, tip, plan.commit):
        # An undo's target is an ancestor of what it undoes: being contained says nothing then.
        return "diverged" if plan.old and contains(git, plan.old, plan.commit) else "done"
    return "diverged"


# Merging what landed on Navigator's branches, by git itself, where that leaves nothing half done


def unmerged(facts: RepoFacts, landed: Collection[str]) -> list[str]:
    """Navigator's branches that hold a landed commit which HEAD does not have, in the order of their names."""
    git = Git(facts.git_dir)
    tips = {
        name: tip for name, tip in facts.branches.items() if name.startswith("navigator/") and tip in landed
    }
    return sorted(name for name, tip in tips.items() if not contains(git, facts.head_commit, tip))


def subjects(facts: RepoFacts, branch: str) -> list[str]:
    """Short id and subject of each commit that a merge of the branch brings, the newest first."""
    return Git(facts.git_dir).run("log", "--format=%h %s", f"HEAD..refs/heads/{branch}").text.splitlines()


def merge_command(facts: RepoFacts, branch: str) -> str:
    """What a person types to merge a branch by hand."""
    return f"git -C {shlex.quote(str(facts.path))} merge {branch}"


def merge(facts: RepoFacts, branch: str) -> str:
    """Merge one of Navigator's branches into the branch that is checked out: by moving it, or by a merge commit.

    Returns:
        The commit that HEAD is on then.

    Raises:
        LandingRefused: no branch is checked out, files have changes that are not committed, or the two conflict; all is as
            it was, and the hint has the command.
    """
    own = checkout.require_branch(facts)
    git = Git(facts.git_dir, work_tree=facts.work_tree, user_config=True)
    by_hand = f"By hand: {merge_command(facts, branch)}"
    if git.run("status", "--porcelain", "--untracked-files=no").text:
        raise LandingRefused(f"{facts.path} has changes that are not committed.", hint=by_hand)
    try:
        git.run(
            "merge",
            "--quiet",
            "--no-edit",
            "-m",
            f"Merge {branch} into {own}",
            branch,
            env={"GIT_OPTIONAL_LOCKS": "1"},
        )
    except GitError as error:
        git.run("merge", "--abort", check=False)
        raise LandingRefused(f"{branch} was not merged into {own}: {error.message}", hint=by_hand) from error
    return read_ref(git, "HEAD")
