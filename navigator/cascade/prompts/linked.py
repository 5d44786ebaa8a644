"""What a linked task is written on, and what it is told of changes in other projects that it comes after."""

from __future__ import annotations

from collections.abc import Sequence

from navigator.cascade.prompts.blocks import diff_text
from navigator.git.diffs import ABSENT
from navigator.git.facts import WORKTREE, read_facts, resolve_base
from navigator.git.hunks import commit_part
from navigator.git.private import PrivateRepo
from navigator.git.source import TreeSource
from navigator.landing.land import contains
from navigator.model.diff import FileDiff
from navigator.model.errors import Conflict
from navigator.model.models import Project, Proposal, Task
from navigator.model.secrets import secret_in
from navigator.model.states import LandingState
from navigator.model.text import safe_line

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
    missing = [one for one in before if not _holds(project, private, base, one)]
    if not missing:
        return base, ""
    on = missing[-1]
    if len(missing) > 1:
        on = _holding_all(project, missing, task)
    landing = on.landing
    if landing is not None and landing.state is LandingState.LANDED and project.base != WORKTREE:
        private.pin_base(landing.commit)
        tree, parent = private.tree_of(landing.commit), landing.commit
    else:
        private.pin_base(on.base_commit)
        tree, parent = on.tree, on.base_commit
    # A commit of its own, so that it can be told from the landed one, which other tasks begin on once it is merged.
    message = f"Base of {task.id}, attempt {task.attempt}: after {on.id}\n"
    return commit_part(private, tree, parent, message), on.id


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
        if len(commits) == len(missing) and all(contains(git, tip, other) for other in commits.values()):
            return one
    where = ", ".join(
        f"{one.id} on {one.landing.ref.removeprefix('refs/heads/')}"
        if one.id in commits and one.landing
        else f"{one.id} not landed"
        for one in missing
    )
    names = ", ".join(one.task_id for one in missing)
    raise Conflict(
        f"{task.id} comes after {names}, and no one commit holds all their changes ({where}).",
        hint=f"Merge them into the project's base, then `navigator task retry {task.id}`.",
    )


def _holds(project: Project, private: PrivateRepo, base: str, change: Proposal) -> bool:
    """Whether a commit holds a change: its landing is part of the history, or the files are as the change left them."""
    if change.landing is not None and change.landing.state is LandingState.LANDED:
        facts = read_facts(project.path)
        if contains(facts.git(), resolve_base(facts, project.base)[1], change.landing.commit):
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
