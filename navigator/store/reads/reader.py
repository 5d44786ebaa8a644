"""Reading: the domain's models, and plain rows for the statistics. Nothing here writes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Any

from navigator.model import models, records
from navigator.model.errors import NotFound
from navigator.model.ids import number_of
from navigator.model.json_text import read_json
from navigator.model.models import Baseline, Model, Project, Suggestion, Task
from navigator.model.states import SuggestionState, TaskState
from navigator.store.reads.exam import ExamReads, Precedent, PrecedentReads
from navigator.store.reads.ledger import LedgerReads
from navigator.store.reads.loop import AgentReads, LoopReads
from navigator.store.reads.outcomes import OutcomeReads, StatisticsReads
from navigator.store.reads.queries import conditions, limited
from navigator.store.schema import decoded, from_row, tables, unpacked

_TASKS = "SELECT t.*, p.name AS project FROM tasks t JOIN projects p ON p.id = t.project_id"

_MODELS: dict[str, type[Model]] = {
    "projects": models.Project,
    "tasks": models.Task,
    "proposals": models.Proposal,
    "reviews": models.Review,
    "decisions": models.Decision,
    "landings": models.Landing,
    "calls": records.ModelCall,
    "swaps": models.Swap,
    "edit_failures": records.EditFailure,
    "baselines": models.Baseline,
    "suggestions": models.Suggestion,
    "journal": records.JournalEntry,
    "events": models.Event,
    "comments": records.Comment,
    "reproductions": models.Reproduction,
    "judgements": models.Judged,
    "precedents": Precedent,
    "agent_turns": records.AgentTurn,
}
_FLAGS = ("counted", "withdrawn")
"""Flags of the store's own, in no model."""


class Reader(
    LedgerReads,
    LoopReads,
    StatisticsReads,
    OutcomeReads,
    ExamReads,
    PrecedentReads,
    AgentReads,
):
    """Queries over one connection. On a connection of `open_reader` it sees committed state only."""

    # Projects and tasks

    def projects(self, include_removed: bool = False) -> list[Project]:
        """All projects by name."""
        where = "" if include_removed else " WHERE removed = 0"
        return self._models(Project, f"SELECT * FROM projects{where} ORDER BY name, id")

    def project(self, name_or_id: str | int, *, removed: bool = False) -> Project:
        """One project by name or number; a removed one by number only, or where `removed` allows it and no other has the name.

        Raises:
            NotFound: there is none.
        """
        by_id = isinstance(name_or_id, int)
        where = "id = ?" if by_id else f"name = ?{'' if removed else ' AND removed = 0'}"
        found = self._all(f"SELECT * FROM projects WHERE {where} ORDER BY removed, id DESC", name_or_id)
        if not found:
            near = get_close_matches(str(name_or_id), [held.name for held in self.projects()], 1)
            hint = f"Did you mean {near[0]}?" if near else "`navigator project list` names them."
            raise NotFound(f"There is no project {name_or_id!r}.", hint=hint)
        return from_row(Project, found[0])

    def tasks(
        self,
        states: Collection[TaskState] | None = None,
        project: str | int | None = None,
        limit: int | None = None,
    ) -> list[Task]:
        """Tasks in the order they were given: of some states, of a project (its name or number), or the first few."""
        tests, values = conditions("t", states, project)
        return self._models(Task, f"{_TASKS}{tests} ORDER BY t.id{limited(limit)}", *values)

    def task(self, identifier: str) -> Task:
        """One task.

        Raises:
            NotFound: there is none.
        """
        found = self._all(f"{_TASKS} WHERE t.id = ?", number_of(identifier, "T"))
        if not found:
            raise NotFound(f"There is no task {identifier}.", hint="`navigator task list` shows them.")
        return from_row(Task, found[0])

    def variants(self, first: str) -> list[Task]:
        """All variants of a task, by the id of the first one, in their order."""
        return self._models(
            Task, f"{_TASKS} WHERE t.variant_of = ? ORDER BY t.variant", number_of(first, "T")
        )

    # Suggestions and baselines

    def suggestions(self, scan: str, *, attempt: int | None = None) -> list[Suggestion]:
        """A scan's suggestions by rank.

        Args:
            scan: the task's id.
            attempt: of which attempt; None for the newest that has any.
        """
        number = number_of(scan, "T")
        if attempt is None:
            attempt = self._one("SELECT max(attempt) FROM suggestions WHERE task_id = ?", number)
        return self._models(
            Suggestion,
            "SELECT * FROM suggestions WHERE task_id = ? AND attempt = ? ORDER BY rank",
            number,
            attempt or 0,
        )

    def earlier_suggestions(self, project_id: int, scan: str) -> list[Suggestion]:
        """What was suggested for a project before and is not to be suggested again by `scan`.

        All suggestions of other scans that were not cancelled, and of this one's earlier attempts those that were accepted.
        """
        return self._models(
            Suggestion,
            "SELECT s.* FROM suggestions s JOIN tasks t ON t.id = s.task_id WHERE t.project_id = ?"
            " AND ((s.task_id <> ? AND t.state <> 'cancelled') OR s.state = ?) ORDER BY s.id",
            project_id,
            number_of(scan, "T"),
            SuggestionState.ACCEPTED.value,
        )

    def baseline(self, project_id: int, tree: str, command: str, environment: str) -> Baseline | None:
        """The test result of one tree under one command and environment; None where it was never run."""
        found = self._all(
            "SELECT * FROM baselines WHERE project_id = ? AND tree = ? AND command = ? AND environment = ?",
            project_id,
            tree,
            command,
            environment,
        )
        return from_row(Baseline, found[0]) if found else None

    def newest_baseline(self, project_id: int) -> Baseline | None:
        """The project's last run on an unchanged tree, whatever its command was then."""
        found = self._all(
            "SELECT * FROM baselines WHERE project_id = ? ORDER BY at DESC, id DESC LIMIT 1", project_id
        )
        return from_row(Baseline, found[0]) if found else None

    def states_by_project(self) -> dict[int, dict[str, int]]:
        """How many tasks of each project are in each state: {project's number: {state: n}}, without zeros."""
        found: dict[int, dict[str, int]] = {}
        for row in self._all("SELECT project_id, state, count(*) AS n FROM tasks GROUP BY project_id, state"):
            found.setdefault(row["project_id"], {})[row["state"]] = row["n"]
        return found

    def export_rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Every row of one of `schema.tables()` as JSON data, one at a time.

        Raises:
            NotFound: no such table.
        """
        if table not in tables():
            raise NotFound(f"There is no table {table!r}.", hint=f"There are: {', '.join(tables())}.")
        for row in self._connection.execute(f"SELECT * FROM {table} ORDER BY 1"):
            values = dict(row)
            values |= {name: bool(values[name]) for name in _FLAGS if name in values}
            if table in _MODELS:
                values |= decoded(_MODELS[table], row)
            if table == "meta":
                values["value"] = read_json(values["value"])
            if table == "calls" and values["answer"] is not None:
                values["answer"] = unpacked(values["answer"])
            yield values
