"""Writing projects with their baselines, and tasks with their suggestions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from navigator.model.errors import UsageError
from navigator.model.ids import number_of, task_id
from navigator.model.models import Baseline, Project, Suggestion, Task, Variation, utc_now
from navigator.model.states import (
    Complexity,
    Escalation,
    ProposalState,
    SuggestionState,
    TaskKind,
    TaskState,
)
from navigator.store.schema import encoded, require_transition
from navigator.store.writes.core import TransactionCore


class ProjectWrites(TransactionCore):
    """Events: project_added, project_updated, project_removed, baseline_set."""

    def add_project(self, *, name: str, path: str, **settings: Any) -> Project:
        """Add a repository. One that was removed earlier (same path and history) comes back with its past.

        Args:
            settings: other fields of `Project` by name, without `id` and `removed`.

        Raises:
            UsageError: the name or the path is in use.
        """
        wanted = Project.model_validate({"id": 0, "name": name, "path": path, **settings})
        self._refuse_taken(name, path, besides=0)
        earlier = self._run(
            "SELECT id FROM projects WHERE removed = 1 AND path = ? AND root_commit = ? ORDER BY id DESC LIMIT 1",
            (path, wanted.root_commit),
        ).fetchone()
        if earlier is None:
            number = self._insert("projects", wanted)
        else:
            number = int(earlier["id"])
            self._update("projects", number, self._columns("projects", wanted))
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
            UsageError: the name or the path is in use.
        """
        project = self.read.project(project_id)
        self._refuse_taken(
            changes.get("name", project.name), changes.get("path", project.path), besides=project_id
        )
        if changes:
            self._update("projects", project_id, encoded(Project, changes))
            self.event(
                "project_updated", data={"project": project.name, "id": project_id, "fields": sorted(changes)}
            )
        return self.read.project(project_id)

    def remove_project(self, project_id: int) -> None:
        """Put a project out of care. Its tasks, proposals and figures stay; its repository is not touched."""
        project = self.read.project(project_id)
        self._update("projects", project_id, {"removed": 1})
        self._run(
            "UPDATE exam_items SET retired = 'its project was removed' WHERE project_id = ? AND retired = ''",
            (project_id,),
        )
        self.event("project_removed", data={"project": project.name, "id": project_id})

    def set_baseline(self, baseline: Baseline) -> Baseline:
        """Keep a test run on an unchanged tree, in place of an earlier one under the same command and environment."""
        made = baseline.model_copy(update={"at": baseline.at or utc_now()})
        self._put("baselines", made)
        said = {"project": made.project_id, "outcome": made.outcome.value, "failures": len(made.failures)}
        self.event("baseline_set", data={**said, "seconds": made.seconds})
        return made

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
    """Events: task_added, task_linked, task_state, task_attempt, task_escalated, suggestions_added, suggestion_accepted,
    suggestions_dismissed; proposal_state for what a new attempt supersedes."""

    def add_task(
        self,
        project_id: int,
        text: str,
        kind: TaskKind = TaskKind.IMPLEMENT,
        complexity: Complexity = Complexity.MEDIUM,
        **more: Any,
    ) -> Task:
        """Queue an instruction. `more` are other fields of `Task` by name.

        Raises:
            NotFound: no such project.
            UsageError: the project was removed.
        """
        project = self.read.project(project_id)
        if project.removed:
            raise UsageError(
                f"The project {project.name} was removed.", hint="`navigator project add` takes it back."
            )
        now = utc_now()
        task = Task(
            id="",
            project_id=project_id,
            project=project.name,
            text=text,
            kind=kind,
            complexity=complexity,
            created=now,
            updated=now,
            **more,
        )
        number = self._insert("tasks", task, since=now)
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
        escalated: Escalation | None = None,
    ) -> None:
        """Move a task along the transition table.

        Args:
            reason: why, for the developer; an empty one clears what stood there.
            round, note, report, escalated: None leaves them; what waits for the developer is not escalated.

        Raises:
            IllegalTransition: the table does not know the change.
        """
        row = self._task_row(task_id)
        current = TaskState(row["state"])
        require_transition(current, to, of=task_id)
        now = utc_now()
        values: dict[str, Any] = {"state": to.value, "reason": reason, "updated": now, "since": now}
        if to is TaskState.AWAITING_APPROVAL:
            escalated = Escalation.NONE  # however that reading ended, it is not to come any more
        given = {"round": round, "note": note, "report": report, "escalated": escalated}
        values.update({name: value for name, value in given.items() if value is not None})
        self._update("tasks", row["id"], values)
        where = {name: values.get(name, row[name]) for name in ("attempt", "round")}
        self._state_event(task_id, current, to, {**where, "reason": reason})

    def new_attempt(self, task_id: str, note: str = "") -> Task:
        """Queue a task again from the start: attempt + 1, round 0; what stood open or decided is superseded.

        Raises:
            IllegalTransition: the task is not in a state that leads back to the queue.
        """
        row = self._task_row(task_id)
        current = TaskState(row["state"])
        require_transition(current, TaskState.QUEUED, of=task_id)
        for proposal in self.read.proposals({ProposalState.OPEN, ProposalState.DECIDED}, task_id=task_id):
            require_transition(proposal.state, ProposalState.SUPERSEDED, of=proposal.id)
            self._update("proposals", number_of(proposal.id, "P"), {"state": ProposalState.SUPERSEDED.value})
            moved = {"from": proposal.state.value, "to": ProposalState.SUPERSEDED.value}
            self._told("proposal_state", proposal.id, moved)
        now = utc_now()
        attempt = int(row["attempt"]) + 1
        cleared = dict.fromkeys(("base_commit", "reason", "report", "escalated"), "")
        fresh = {"state": TaskState.QUEUED.value, "attempt": attempt, "round": 0, "note": note}
        self._update("tasks", row["id"], {**cleared, **fresh, "updated": now, "since": now})
        self._state_event(task_id, current, TaskState.QUEUED, {"attempt": attempt, "round": 0, "reason": ""})
        self.event("task_attempt", task_id, data={"attempt": attempt, "note": note})
        return self.read.task(task_id)

    def link_task(self, task_id: str, after: Sequence[str]) -> Task:
        """Have a task start after these, in place of what it was to start after.

        Raises:
            NotFound: there is no such task.
            UsageError: it would wait for itself.
        """
        row = self._task_row(task_id)
        before = tuple(dict.fromkeys(self.read.task(identifier).id for identifier in after))
        for identifier in before:
            if identifier == task_id or self.read.comes_after(identifier, task_id):
                raise UsageError(
                    f"{task_id} cannot come after {identifier}: {identifier} would wait for itself.",
                    hint=f"`navigator task show {identifier}` shows what it comes after.",
                )
        self._update("tasks", row["id"], encoded(Task, {"after": before}))
        self.event("task_linked", task_id, data={"after": list(before)})
        return self.read.task(task_id)

    def make_variants(self, tasks: Sequence[str], ways: Sequence[Variation]) -> list[Task]:
        """Have these tasks be the variants of one: each is written in its way."""
        first = number_of(tasks[0], "T")
        for place, (task, way) in enumerate(zip(tasks, ways, strict=True), 1):
            columns = encoded(Task, {"variant": place, "variation": way})
            self._update("tasks", number_of(task, "T"), {**columns, "variant_of": first})
        return self.read.variants(tasks[0])

    def escalate_task(self, task_id: str, escalation: Escalation) -> Task:
        """Note which reading the developer asked for by name, or that it is withdrawn; the task's state stays."""
        row = self._task_row(task_id)
        self._update("tasks", row["id"], {"escalated": escalation.value})
        self.event("task_escalated", task_id, data={"escalated": escalation.value})
        return self.read.task(task_id)

    def set_task_base(self, task_id: str, base_commit: str) -> None:
        """Pin the commit that the present attempt is written on. Writes no event: no client waits for it."""
        self._update("tasks", self._task_row(task_id)["id"], {"base_commit": base_commit})

    def add_suggestions(self, scan: str, attempt: int, found: Iterable[Suggestion]) -> list[Suggestion]:
        """Keep what a scan suggests; what its earlier attempts left open is dismissed."""
        number = number_of(scan, "T")
        self._run(
            "UPDATE suggestions SET state = ? WHERE task_id = ? AND attempt < ? AND state = ?",
            (SuggestionState.DISMISSED, number, attempt, SuggestionState.OPEN),
        )
        count = 0
        for suggestion in found:
            count += 1
            fresh = {"task_id": scan, "attempt": attempt, "state": SuggestionState.OPEN, "made_task": ""}
            self._insert("suggestions", suggestion.model_copy(update={**fresh, "at": self.at}))
        self.event("suggestions_added", scan, data={"count": count})
        return self.read.suggestions(scan, attempt=attempt)

    def accept_suggestion(self, suggestion: Suggestion, made_task: str) -> None:
        """It became the task `made_task`."""
        self._settle(suggestion, state=SuggestionState.ACCEPTED, made_task=made_task)
        data = {"rank": suggestion.rank, "made_task": made_task}
        self.event("suggestion_accepted", suggestion.task_id, data=data)

    def dismiss_suggestions(self, scan: str, attempt: int, ranks: Collection[int] | None = None) -> int:
        """Dismiss open ones: those with these ranks, or all. Returns how many."""
        chosen = [
            suggestion
            for suggestion in self.read.suggestions(scan, attempt=attempt)
            if suggestion.state is SuggestionState.OPEN and (ranks is None or suggestion.rank in ranks)
        ]
        for suggestion in chosen:
            self._settle(suggestion, state=SuggestionState.DISMISSED)
        if chosen:
            self.event("suggestions_dismissed", scan, data={"ranks": [one.rank for one in chosen]})
        return len(chosen)

    def _settle(self, suggestion: Suggestion, **values: Any) -> None:
        self._update("suggestions", suggestion.id, encoded(Suggestion, values))

    def _state_event(self, task: str, current: TaskState, to: TaskState, data: Mapping[str, Any]) -> None:
        self.event("task_state", task, data={"from": current.value, "to": to.value, **data})
