"""Tasks: add, cancel, retry, close a report."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.socket.wire import Result
from navigator.domain.errors import Conflict, UsageError
from navigator.domain.models import Project, Task
from navigator.domain.states import (
    CANCELLABLE_TASK_STATES,
    RETRYABLE_TASK_STATES,
    Complexity,
    ProposalState,
    TaskKind,
    TaskState,
)

TEXT_LIMIT = 20_000
"""Characters in a task's text at most; more belongs in a file of the repository."""


class NewTask(BaseModel):
    """A task as a client asks for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project: str
    text: str
    kind: TaskKind = TaskKind.IMPLEMENT
    complexity: Complexity = Complexity.MEDIUM
    priority: int = 0
    files: tuple[str, ...] = ()

    @field_validator("text")
    @classmethod
    def _some_text(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("says nothing")
        if len(value) > TEXT_LIMIT:
            raise ValueError(f"has more than {TEXT_LIMIT} characters")
        return value.strip()

    @field_validator("files")
    @classmethod
    def _relative(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for path in value:
            if not path or path.startswith("/") or ".." in path.split("/"):
                raise ValueError(f"{path!r} is not a path from the project's root")
        return value


async def add_tasks(deps: Dependencies, tasks: Sequence[dict[str, Any]]) -> Result:
    """Queue tasks, all or none."""
    wanted = [_read(number, document) for number, document in enumerate(tasks, 1)]
    projects = {task.project: deps.reader.project(task.project) for task in wanted}
    added: list[Task] = []
    with deps.store.transaction() as tx:
        added = [
            tx.add_task(
                projects[task.project].id,
                task.text,
                kind=task.kind,
                complexity=task.complexity,
                priority=task.priority,
                files=task.files,
            )
            for task in wanted
        ]
    return {
        "tasks": [task.model_dump(mode="json") for task in added],
        "unknown_files": await asyncio.to_thread(_unknown_files, wanted, projects),
    }


def _unknown_files(wanted: Sequence[NewTask], projects: dict[str, Project]) -> list[dict[str, str]]:
    """Files that tasks name and their projects do not hold yet: a new file, or a slip of the pen."""
    unknown: list[dict[str, str]] = []
    for task in wanted:
        if not task.files:
            continue
        from navigator.workspace.git.discover import missing_paths

        project = projects[task.project]
        unknown += [{"project": project.name, "path": path} for path in missing_paths(project, task.files)]
    return unknown


def _read(number: int, document: dict[str, Any]) -> NewTask:
    try:
        return NewTask.model_validate(document)
    except ValidationError as error:
        # A slip of the pen in a key explains why another one is missing: it is said first.
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        if first["type"] == "extra_forbidden":
            known = ", ".join(NewTask.model_fields)
            raise UsageError(
                f"Task {number}: there is no key {str(first['loc'][-1])!r}.",
                hint=f"There are: {known}. Nothing was queued.",
            ) from error
        where = ".".join(str(part) for part in first["loc"]) or "task"
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"Task {number}: {where} {message}.", hint="Nothing was queued.") from error


async def cancel_tasks(deps: Dependencies, ids: Sequence[str]) -> Result:
    """Cancel tasks that have not ended."""
    return _move_all(deps, ids, TaskState.CANCELLED, CANCELLABLE_TASK_STATES, "cancelled by the developer")


async def retry_tasks(deps: Dependencies, ids: Sequence[str]) -> Result:
    """A new attempt of tasks that failed, were rejected, cancelled or undone."""
    tasks = [deps.reader.task(identifier) for identifier in ids]
    for task in tasks:
        if task.state not in RETRYABLE_TASK_STATES:
            raise Conflict(
                f"{task.id} is {task.state.value}: only a task that ended without landing can be retried.",
                hint="To have a proposal written anew, send it back: `navigator send-back P… --note …`.",
            )
    with deps.store.transaction() as tx:
        for task in tasks:
            tx.new_attempt(task.id, note=task.note)
    return _show(deps, ids)


async def close_tasks(deps: Dependencies, ids: Sequence[str]) -> Result:
    """Put away reports and answers that ask for no change; what a scan still proposes is dismissed."""
    return _move_all(deps, ids, TaskState.DONE, frozenset({TaskState.AWAITING_APPROVAL}), "read")


async def send_back_tasks(deps: Dependencies, ids: Sequence[str], note: str) -> Result:
    """A new attempt of reports, scans and answers that ask for no change; the note opens it.

    Raises:
        Conflict: a task does not wait for the developer, or has a proposal: that is what is sent back then.
    """
    if not note.strip():
        raise UsageError("To send back, say what to do otherwise.", hint="Add --note TEXT.")
    tasks = [deps.reader.task(identifier) for identifier in ids]
    for task in tasks:
        if task.state is not TaskState.AWAITING_APPROVAL:
            raise Conflict(
                f"{task.id} is {task.state.value}: it does not wait for a decision.",
                hint=f"`navigator task show {task.id}` tells what happened to it.",
            )
        held = deps.reader.proposals({ProposalState.OPEN}, task_id=task.id)
        if held:
            raise Conflict(
                f"{task.id} has a proposal.",
                hint=f"`navigator send-back {held[-1].id} --note …` sends it back.",
            )
    with deps.store.transaction() as tx:
        for task in tasks:
            tx.new_attempt(task.id, note=note.strip())
    return _show(deps, ids)


def _move_all(
    deps: Dependencies, ids: Sequence[str], target: TaskState, allowed: frozenset[TaskState], reason: str
) -> Result:
    tasks = [deps.reader.task(identifier) for identifier in ids]
    for task in tasks:
        if task.state not in allowed:
            already = task.state is target
            raise Conflict(
                f"{task.id} is {target.value} already."
                if already
                else f"{task.id} is {task.state.value}: it cannot become {target.value}.",
                hint=f"`navigator task show {task.id}` tells what happened to it.",
            )
        if target is TaskState.DONE and deps.reader.proposals({ProposalState.OPEN}, task_id=task.id):
            raise Conflict(
                f"{task.id} has a proposal that waits for a decision.",
                hint="Approve, reject or send back the proposal instead.",
            )
    with deps.store.transaction() as tx:
        for task in tasks:
            if target is TaskState.DONE and task.kind is TaskKind.SCAN:
                tx.dismiss_suggestions(task.id, task.attempt)
            tx.set_task_state(task.id, target, reason=reason)
    return _show(deps, ids)


def _show(deps: Dependencies, ids: Sequence[str]) -> Result:
    return {"tasks": [deps.reader.task(identifier).model_dump(mode="json") for identifier in ids]}
