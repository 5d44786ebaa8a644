"""The task being written as it is kept between starts, the templates it may begin from, and the files of its projects."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from navigator.actions.task_add import AddTasksArgs, NewTask
from navigator.model.errors import NavigatorError
from navigator.model.json_text import read_json
from navigator.model.models import Project
from navigator.model.states import Complexity, TaskKind
from navigator.model.text import safe_line

DRAFT_KEY = "compose:task"
TEMPLATES = "templates"
"""The folder beside the settings file: one `NAME.md` or `NAME.txt` per template."""

_LARGEST = 64 * 1024


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

    def tasks(self, trees: dict[str, frozenset[str]]) -> AddTasksArgs:
        """One task per project, each with those of the files that its project has.

        Args:
            trees: the paths of each project, where they are known; an unknown project gets every file.
        """
        return AddTasksArgs(
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


@dataclass(frozen=True, slots=True)
class Template:
    """A text to start a task from. `kind` and `complexity` are None where it leaves them as they are."""

    name: str
    text: str
    kind: TaskKind | None = None
    complexity: Complexity | None = None


BUILT_IN: tuple[Template, ...] = (
    Template(
        "fix a bug",
        "Fix: \n\nWhat happens: \nWhat should happen: \nHow to see it: \n\nAdd a test that fails without the fix.\n",
        TaskKind.FIX,
    ),
    Template(
        "add a feature",
        "Add \n\nIt is done when:\n- \n- \n\nLeave alone: \n",
        TaskKind.IMPLEMENT,
    ),
    Template(
        "tests for a module",
        "Test \n\nCover the normal case, the edges (empty, one, many, wrong type) and each error it can raise.\n"
        "Do not change the code under test.\n",
        TaskKind.TEST,
        Complexity.SIMPLE,
    ),
    Template(
        "refactor",
        "Refactor \n\nBehaviour and public names stay as they are; the tests there are must pass unchanged.\nWhy: \n",
        TaskKind.REFACTOR,
    ),
    Template(
        "document",
        "Document \n\nSay what it takes, what it gives, which errors it raises. Change no code.\n",
        TaskKind.DOCS,
        Complexity.SIMPLE,
    ),
    Template(
        "scan for work",
        "What in this project is worth a task of its own?\n\n"
        "Look for what fails, what nothing tests, and what whoever runs it would miss. Leave taste aside.\n",
        TaskKind.SCAN,
    ),
    Template(
        "explain the design",
        "How does \n\nWhich parts it has, what each needs and gives, and where a change would have to begin.\n",
        TaskKind.ARCHITECTURE,
        Complexity.COMPLEX,
    ),
    Template(
        "look for weaknesses",
        "Which input from outside reaches \n\nFor each: where it enters, what it could do, what stops it.\n",
        TaskKind.SECURITY,
        Complexity.COMPLEX,
    ),
)


def read_templates(folder: Path) -> tuple[list[Template], list[str]]:
    """The user's own templates, and one sentence for each that cannot be used. Reads files: call it in a thread.

    The first lines of a file may say `kind: fix` and `complexity: simple`; a blank line ends them.
    """
    made: list[Template] = []
    problems: list[str] = []
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in (".md", ".txt"))
    except OSError:
        return made, problems
    for path in files:
        try:
            if path.stat().st_size > _LARGEST:
                raise ValueError("it is too long for a task")
            made.append(_template(path.stem, path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            problems.append(f"The template {safe_line(path.name)} cannot be used: {error}.")
    return made, problems


def _template(name: str, text: str) -> Template:
    lines = text.split("\n")
    values: dict[str, str] = {}
    while lines and (found := lines[0].partition(":"))[0].strip() in ("kind", "complexity") and found[1]:
        values[found[0].strip()] = found[2].strip()
        lines.pop(0)
    if values and lines and not lines[0].strip():
        lines.pop(0)
    return Template(
        name,
        "\n".join(lines),
        TaskKind(values["kind"]) if "kind" in values else None,
        Complexity(values["complexity"]) if "complexity" in values else None,
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
