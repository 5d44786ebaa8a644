"""What a project's task would be written on: its files at the base, and work there that proposals will not see."""

from __future__ import annotations

import os
from dataclasses import dataclass

from navigator.domain.errors import NavigatorError
from navigator.domain.models import Project

MOST_UNCOMMITTED = 200


@dataclass(frozen=True, slots=True)
class BaseFiles:
    """One project as it stands. `problem` says why nothing can be known of it; "" normally."""

    project: str
    paths: tuple[str, ...] = ()
    uncommitted: tuple[str, ...] = ()
    problem: str = ""


def look_at(project: Project) -> BaseFiles:
    """Read it from the user's repository; nothing is written anywhere. Runs git: call it in a thread.

    Secrets are left out of the paths, since no model is shown them.
    """
    from navigator.workspace.context.scope import in_scope, is_secret
    from navigator.workspace.git.facts import WORKTREE, read_facts, resolve_base
    from navigator.workspace.git.uncommitted import uncommitted_paths

    try:
        facts = read_facts(project.path)
        _, commit = resolve_base(facts, project.base)
        listed = facts.git().run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).stdout
        names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
        unseen = uncommitted_paths(facts, limit=MOST_UNCOMMITTED)
        if project.base == WORKTREE:
            # Proposals stand on the checkout itself: new files can be named, and no work goes unseen.
            names = sorted({*names, *(path for path in unseen if not path.endswith("/"))})
            unseen = ()
        paths = tuple(
            name for name in names if name.isprintable() and not is_secret(name) and in_scope(name, project)
        )
        return BaseFiles(project.name, paths, unseen)
    except NavigatorError as error:
        return BaseFiles(project.name, problem=str(error))
