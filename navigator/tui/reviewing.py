"""`R` on a project of the Deck: choose existing work, and have it reviewed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from navigator.cascade.verbs.review_change import AddReview, ReviewArgs
from navigator.model.errors import NavigatorError
from navigator.tui.dialogs.pick import PickDialog
from navigator.tui.verbs import perform

if TYPE_CHECKING:
    from navigator.model.models import Project
    from navigator.tui.base import BaseApp

COMMITS = 20
"""Commits of the current branch that are offered."""


async def review_existing(app: BaseApp, project: str) -> None:
    """Offer branches, uncommitted work and the last commits; queue what is chosen."""
    try:
        found = await app.feed.read(lambda reader: _offers(reader.project(project)))
    except NavigatorError as error:
        app.toast(str(error), "error")
        return
    title = f"Review what of {project}?"
    about = {name: words for name, (_, words) in found.items()}
    picked = await app.push_screen_wait(
        PickDialog(title, tuple(found), about=lambda name: about.get(name, ""))
    )
    for name in picked or ():
        await perform(app, AddReview(), ReviewArgs(project=project, **found[name][0]))


def _offers(project: Project) -> dict[str, tuple[dict[str, Any], str]]:
    """What can be reviewed: its name in the list to the arguments and a few words. Blocks."""
    from navigator.git.existing import recent_commits
    from navigator.git.facts import WORKTREE, read_facts, resolve_base
    from navigator.git.uncommitted import uncommitted

    facts = read_facts(project.path)
    base = resolve_base(facts, "" if project.base == WORKTREE else project.base)[0]
    offers: dict[str, tuple[dict[str, Any], str]] = {}
    changed = uncommitted(facts)
    if changed.tracked or changed.untracked or changed.dropped:
        offers["uncommitted changes"] = ({"worktree": True}, "staged, unstaged and untracked files")
        offers["staged changes"] = ({"staged": True}, "what git commit would commit")
    for branch in facts.branches:
        if f"refs/heads/{branch}" != base:
            offers[f"branch {branch}"] = ({"branch": branch}, "as one change")
    for sha, subject in recent_commits(facts, COMMITS):
        offers[f"{sha[:12]} {subject}"] = ({"ref": sha}, "commit")
    return offers
