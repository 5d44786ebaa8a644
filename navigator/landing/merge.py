"""Merging what landed on Navigator's branches into the user's branch, by git itself, where that leaves nothing half done."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from navigator.git.facts import RepoFacts
from navigator.git.runner import Git, GitError
from navigator.landing.checkout import require_branch
from navigator.landing.land import contains, read_ref
from navigator.landing.plan import LandingRefused


def unmerged(facts: RepoFacts, landed: Collection[str]) -> list[str]:
    """Navigator's branches that hold a landed commit which HEAD does not have, in the order of their names."""
    git = Git(facts.git_dir)
    tips = {
        name: read_ref(git, f"refs/heads/{name}") for name in facts.branches if name.startswith("navigator/")
    }
    return sorted(
        name for name, tip in tips.items() if tip in landed and not contains(git, facts.head_commit, tip)
    )


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
    own = require_branch(facts)
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
