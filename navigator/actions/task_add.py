"""Queue tasks, all or none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, field_validator, model_validator

from navigator.actions.base import Done, Told, Verb, done
from navigator.journey.change import MOST, variations
from navigator.model.json_text import MOST_FILES
from navigator.model.models import Model, Project, Task, Variation
from navigator.model.states import REPORT_KINDS, Complexity, TaskKind, guess_kind
from navigator.sheet.variants import variant_words

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.writes.writer import Transaction

TEXT_LIMIT = 20_000
"""Characters in a task's text at most; more belongs in a file of the repository."""


MOST_TASKS = 1_000
"""Tasks in one request."""


class NewTask(Model):
    """A task as a client asks for it.

    `after` are tasks that have to land, to be approved or to be done first: ids, or the `name`s of tasks in the same request.
    `kind` is guessed from the text where it is not given.
    `variants` of it are written, which differ in temperature; one of them is approved.
    """

    project: str
    text: str
    kind: TaskKind = TaskKind.IMPLEMENT
    complexity: Complexity = Complexity.MEDIUM
    priority: int = 0
    files: tuple[str, ...] = Field(default=(), max_length=MOST_FILES)
    name: str = Field(default="", max_length=200)
    after: tuple[str, ...] = Field(default=(), max_length=MOST_FILES)
    variants: int = Field(default=1, ge=1, le=MOST)

    @model_validator(mode="before")
    @classmethod
    def _guessed(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("kind") is None:
            return value | {"kind": guess_kind(str(value.get("text", "")))}
        return value

    @model_validator(mode="after")
    def _changes(self) -> Self:
        if self.variants > 1 and (self.kind is TaskKind.SCAN or self.kind in REPORT_KINDS):
            raise ValueError(f"has variants, and a {self.kind.value} ends without a change to choose")
        return self

    @field_validator("text")
    @classmethod
    def _some_text(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is empty")
        if len(value) > TEXT_LIMIT:
            raise ValueError(f"has more than {TEXT_LIMIT} characters")
        return value.strip()

    @field_validator("files")
    @classmethod
    def _relative(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for path in value:
            if not path or path.startswith("/") or ".." in path.split("/"):
                raise ValueError(f"has {path!r}, which is not a path from the project's root")
        return value


class AddTasks(Verb):
    """Queue them in their order, in one transaction: a task that cannot be queued queues none."""

    op = "task.add"
    misfit = f"A task has {', '.join(NewTask.model_fields)}. Nothing was queued."

    tasks: tuple[NewTask, ...] = Field(max_length=MOST_TASKS)

    async def perform(self, deps: Dependencies) -> Done:
        projects = {task.project: deps.reader.project(task.project) for task in self.tasks}
        added: list[list[str]] = []
        with deps.store.transaction() as tx:
            for task in self.tasks:
                ways = _ways(deps, task)
                same = task.model_dump(include={"kind", "complexity", "priority", "files"})
                ids = [tx.add_task(projects[task.project].id, task.text, **same).id for _ in ways]
                if len(ids) > 1:
                    tx.make_variants(ids, ways)
                added.append(ids)
            _link(tx, self.tasks, added)
            made = [tx.read.task(identifier) for ids in added for identifier in ids]
        unknown = await asyncio.to_thread(_unknown_files, self.tasks, projects)
        hints: dict[str, list[str]] = {}
        for one in unknown:
            line = f"{one['project']} has no file {one['path']}: a new file, or a typo?"
            hints.setdefault(one["project"], []).append(line)
        told = [Told(task.id, _queued(task), hint="\n".join(hints.get(task.project, ()))) for task in made]
        return done(told, tasks=made, unknown_files=unknown)


def _queued(task: Task) -> str:
    """`queued for web as implement, after T3`."""
    variant, after = variant_words(task), ", ".join(task.after)
    said = f"queued for {task.project} as {task.kind.value}{f', {variant}' if variant else ''}"
    return f"{said}, after {after}" if after else said


def _ways(deps: Dependencies, task: NewTask) -> list[Variation]:
    """How each variant of a task is written."""
    if task.variants == 1:
        return [Variation()]
    writer = deps.settings.routing.writer(task.kind, task.complexity)
    return variations(task.variants, deps.settings.server(writer).temperature)


def _link(tx: Transaction, wanted: Sequence[NewTask], added: Sequence[Sequence[str]]) -> None:
    """Have each task, all its variants, start after those that it names; of variants that are named, the first one stands
    for all until one is approved."""
    named: dict[str, list[str]] = {}
    for task, ids in zip(wanted, added, strict=True):
        if task.name:
            named.setdefault(task.name, []).append(ids[0])
    for task, ids in zip(wanted, added, strict=True):
        after = [identifier for name in task.after for identifier in named.get(name, [name])]
        for identifier in ids if after else ():
            tx.link_task(identifier, after)


def _unknown_files(wanted: Sequence[NewTask], projects: dict[str, Project]) -> list[dict[str, str]]:
    """Files that a task names and its project does not have: new files, or typing errors."""
    from navigator.git.facts import missing_paths

    return [
        {"project": task.project, "path": path}
        for task in wanted
        if task.files
        for path in missing_paths(projects[task.project], task.files)
    ]
