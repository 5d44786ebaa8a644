"""Writing projects and tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from navigator.domain.errors import Conflict, UsageError
from navigator.domain.ids import number_of, task_id
from navigator.domain.models import Project, Task, utc_now
from navigator.domain.states import (
    Complexity,
    ProposalState,
    TaskKind,
    TaskState,
    require_proposal_transition,
    require_task_transition,
)
from navigator.store.rows import PROJECT_FIELDS, PROJECT_LISTS, dumped
from navigator.store.writes.core import TransactionCore


class ProjectWrites(TransactionCore):
    """Events: project_added, project_updated, project_removed."""

    def add_project(
        self,
        *,
        name: str,
        path: str,
        base: str = "",
        landing: str = "branch",
        check: str = "",
        check_mounts: Sequence[str] = (),
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        conventions: str = "AGENTS.md",
        root_commit: str = "",
        source: str = "store",
        demo: bool = False,
    ) -> Project:
        """Take a repository into care. One that was removed earlier (same path and history) comes back with its past.

        Raises:
            UsageError: the name or the path is in use.
        """
        values = {
            "name": name,
            "path": path,
            "base": base,
            "landing": landing,
            "check": check,
            "check_mounts": tuple(check_mounts),
            "include": tuple(include),
            "exclude": tuple(exclude),
            "conventions": conventions,
            "root_commit": root_commit,
            "source": source,
            "demo": demo,
        }
        self._refuse_taken(name, path, besides=0)
        earlier = self._run(
            "SELECT id FROM projects WHERE removed = 1 AND path = ? AND root_commit = ? ORDER BY id DESC LIMIT 1",
            (path, root_commit),
        ).fetchone()
        if earlier is None:
            number = self._insert("projects", _project_columns(values))
        else:
            number = int(earlier["id"])
            self._update("projects", number, {**_project_columns(values), "removed": 0})
        project = self.read.project(number)
        self.event("project_added", data={"project": project.name, "id": number})
        return project

    def update_project(self, project_id: int, **changes: Any) -> Project:
        """Change a project's settings.

        Args:
            project_id: its number.
            changes: fields of `Project` by name, without `id` and `removed`.

        Raises:
            NotFound: no such project.
            UsageError: an unknown field, or a name or path in use.
        """
        unknown = sorted(set(changes) - set(PROJECT_FIELDS))
        if unknown:
            raise UsageError(
                f"A project has no {unknown[0]!r}.", hint=f"It has: {', '.join(PROJECT_FIELDS)}."
            )
        project = self.read.project(project_id)
        self._refuse_taken(
            changes.get("name", project.name), changes.get("path", project.path), besides=project_id
        )
        if changes:
            self._update("projects", project_id, _project_columns(changes))
            self.event(
                "project_updated", data={"project": project.name, "id": project_id, "fields": sorted(changes)}
            )
        return self.read.project(project_id)

    def remove_project(self, project_id: int) -> None:
        """Put a project out of care. Its tasks, proposals and figures stay; its repository is not touched."""
        project = self.read.project(project_id)
        self._update("projects", project_id, {"removed": 1})
        self.event("project_removed", data={"project": project.name, "id": project_id})

    def _refuse_taken(self, name: str, path: str, *, besides: int) -> None:
        taken = self._run(
            "SELECT name, path FROM projects WHERE removed = 0 AND id <> ? AND (name = ? OR path = ?)",
            (besides, name, path),
        ).fetchone()
        if taken is None:
            return
        if taken["path"] == path:
            raise UsageError(
                f"{path} is already the project {taken['name']}.", hint="`navigator project show` has it."
            )
        raise UsageError(
            f"A project {name!r} exists at {taken['path']}.", hint="Give this one another name with --name."
        )


class TaskWrites(TransactionCore):
    """Events: task_added, task_state, task_attempt, task_priority; proposal_state for what a new attempt supersedes."""

    def add_task(
        self,
        project_id: int,
        text: str,
        kind: TaskKind = TaskKind.IMPLEMENT,
        complexity: Complexity = Complexity.MEDIUM,
        priority: int = 0,
        files: Sequence[str] = (),
        origin: str = "",
    ) -> Task:
        """Queue an instruction. `origin` is the id of the task that this one came from, if any.

        Raises:
            NotFound: no such project.
            UsageError: the text is empty, or the project was removed.
        """
        project = self.read.project(project_id)
        if project.removed:
            raise UsageError(
                f"The project {project.name} was removed.", hint="`navigator project add` takes it back."
            )
        if not text.strip():
            raise UsageError("The task has no text.", hint="Say in a sentence what is to be done.")
        now = utc_now()
        number = self._insert(
            "tasks",
            {
                "project_id": project_id,
                "text": text,
                "kind": TaskKind(kind).value,
                "complexity": Complexity(complexity).value,
                "priority": priority,
                "files": dumped(tuple(files)),
                "state": TaskState.QUEUED.value,
                "origin": number_of(origin, "T") if origin else None,
                "created": now,
                "updated": now,
                "since": now,
            },
        )
        self.event(
            "task_added", task_id(number), data={"project": project.name, "state": TaskState.QUEUED.value}
        )
        return self.read.task(task_id(number))

    def set_task_state(
        self,
        task_id: str,
        to: TaskState,
        *,
        reason: str = "",
        round: int | None = None,
        note: str | None = None,
        report: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> Task:
        """Move a task along the transition table.

        Args:
            reason: why, for the developer; an empty one clears what stood there.
            round, note, report: None leaves them.
            data: more for the event, beside from, to, reason, attempt, round.

        Raises:
            IllegalTransition: the table does not know the change.
        """
        row = self._task_row(task_id)
        current = TaskState(row["state"])
        require_task_transition(current, to, task=task_id)
        now = utc_now()
        values: dict[str, Any] = {"state": to.value, "reason": reason, "updated": now, "since": now}
        given = {"round": round, "note": note, "report": report}
        values.update({name: value for name, value in given.items() if value is not None})
        self._update("tasks", row["id"], values)
        self._state_event(task_id, current, to, {"reason": reason, **(data or {})})
        return self.read.task(task_id)

    def new_attempt(self, task_id: str, note: str = "") -> Task:
        """Queue a task again from the start: attempt + 1, round 0; what stood open or decided is superseded.

        Raises:
            IllegalTransition: the task is not in a state that leads back to the queue.
        """
        row = self._task_row(task_id)
        current = TaskState(row["state"])
        require_task_transition(current, TaskState.QUEUED, task=task_id)
        for proposal in self.read.proposals({ProposalState.OPEN, ProposalState.DECIDED}, task_id=task_id):
            require_proposal_transition(proposal.state, ProposalState.SUPERSEDED, proposal=proposal.id)
            self._update("proposals", number_of(proposal.id, "P"), {"state": ProposalState.SUPERSEDED.value})
            self.event(
                "proposal_state",
                task_id,
                proposal.id,
                {"from": proposal.state.value, "to": ProposalState.SUPERSEDED.value},
            )
        now = utc_now()
        attempt = int(row["attempt"]) + 1
        values = {"state": TaskState.QUEUED.value, "attempt": attempt, "round": 0, "base_commit": ""}
        self._update(
            "tasks",
            row["id"],
            {**values, "note": note, "reason": "", "report": "", "updated": now, "since": now},
        )
        self._state_event(task_id, current, TaskState.QUEUED, {"reason": ""})
        self.event("task_attempt", task_id, data={"attempt": attempt, "note": note})
        return self.read.task(task_id)

    def set_task_base(self, task_id: str, base_commit: str) -> Task:
        """Pin the commit that the present attempt is written on. Writes no event: nobody waits for it."""
        row = self._task_row(task_id)
        self._update("tasks", row["id"], {"base_commit": base_commit})
        return self.read.task(task_id)

    def set_priority(self, task_id: str, priority: int) -> Task:
        """Change a task's priority; higher goes first."""
        row = self._task_row(task_id)
        if row["state"] in (TaskState.DONE, TaskState.LANDED):
            raise Conflict(
                f"{task_id} is {row['state']}.", hint="Only a task that still waits has a priority."
            )
        self._update("tasks", row["id"], {"priority": priority, "updated": utc_now()})
        self.event("task_priority", task_id, data={"priority": priority})
        return self.read.task(task_id)

    def _state_event(self, task: str, current: TaskState, to: TaskState, data: Mapping[str, Any]) -> None:
        row = self._task_row(task)
        where = {"attempt": row["attempt"], "round": row["round"]}
        self.event("task_state", task, data={"from": current.value, "to": to.value, **where, **data})


def _project_columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a project as columns: lists as JSON, flags as integers."""
    columns = dict(values)
    for name in PROJECT_LISTS:
        if name in columns:
            columns[name] = dumped(tuple(columns[name]))
    if "demo" in columns:
        columns["demo"] = int(columns["demo"])
    return columns
