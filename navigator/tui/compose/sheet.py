"""The task being written as it is kept between starts, and the files of its projects."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from navigator.actions.task_add import AddTasks, NewTask
from navigator.model.errors import NavigatorError
from navigator.model.json_text import read_json
from navigator.model.models import Project
from navigator.model.states import Complexity, TaskKind

DRAFT_KEY = "compose:task"


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything the compose screen holds."""

    text: str = ""
    projects: tuple[str, ...] = ()
    kind: TaskKind = TaskKind.IMPLEMENT
    complexity: Complexity = Complexity.MEDIUM
    priority: int = 0
    files: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    variants: int = 1

    def draft(self) -> str:
        """As a draft is stored; "" for a sheet with nothing on it."""
        if not self.text.strip() and not self.files:
            return ""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_draft(cls, text: str) -> Sheet:
        """Back from the store. A draft that cannot be read as one is a text."""
        if not text:
            return cls()
        try:
            held: Any = read_json(text)
            return cls(
                text=str(held["text"]),
                projects=tuple(map(str, held["projects"])),
                kind=TaskKind(held["kind"]),
                complexity=Complexity(held["complexity"]),
                priority=int(held["priority"]),
                files=tuple(map(str, held["files"])),
                after=tuple(map(str, held.get("after", ()))),
                variants=int(held.get("variants", 1)),
            )
        except (ValueError, KeyError, TypeError):
            return cls(text=text)

    def tasks(self, trees: dict[str, frozenset[str]]) -> AddTasks:
        """One task per project, each with those of the files that its project has.

        Args:
            trees: the paths of each project, where they are known; an unknown project gets every file.
        """
        return AddTasks(
            tasks=tuple(
                NewTask(
                    project=project,
                    text=self.text.strip(),
                    kind=self.kind,
                    complexity=self.complexity,
                    priority=self.priority,
                    files=tuple(
                        path for path in self.files if project not in trees or path in trees[project]
                    ),
                    after=self.after,
                    variants=self.variants,
                )
                for project in self.projects
            )
        )


def shortened(paths: Sequence[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more


VARIANTS = (1, 2, 3, 4)
"""What the key for variants offers, in this order."""


MOST_UNCOMMITTED = 200


@dataclass(frozen=True, slots=True)
class BaseFiles:
    """One project as it is now. `problem` says why it cannot be read; "" normally."""

    project: str
    paths: tuple[str, ...] = ()
    uncommitted: tuple[str, ...] = ()
    problem: str = ""


def look_at(project: Project) -> BaseFiles:
    """Read it from the user's repository; nothing is written anywhere. Runs git: call it in a thread.

    Secrets are left out of the paths, since no model is shown them.
    """
    from navigator.git.facts import WORKTREE, read_facts, resolve_base
    from navigator.git.scope import in_scope, is_secret
    from navigator.git.snapshot import uncommitted_paths

    try:
        facts = read_facts(project.path)
        _, commit = resolve_base(facts, project.base)
        listed = facts.git().run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).stdout
        names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
        unseen = uncommitted_paths(facts, limit=MOST_UNCOMMITTED)
        if project.base == WORKTREE:
            # Proposals start from the checkout itself: new files can be named, and nothing is left out.
            names = sorted({*names, *(path for path in unseen if not path.endswith("/"))})
            unseen = ()
        paths = tuple(
            name for name in names if name.isprintable() and not is_secret(name) and in_scope(name, project)
        )
        return BaseFiles(project.name, paths, unseen)
    except NavigatorError as error:
        return BaseFiles(project.name, problem=str(error))
