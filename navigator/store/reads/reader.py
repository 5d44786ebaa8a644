"""Reading: the domain's models, and plain rows for the statistics. Nothing here writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import Any

from navigator.model.errors import Conflict, NotFound
from navigator.model.ids import number_of
from navigator.model.json_text import read_json
from navigator.model.models import (
    Baseline,
    Decision,
    Event,
    Judged,
    Landing,
    Model,
    Project,
    Proposal,
    Reproduction,
    Review,
    Suggestion,
    Swap,
    Task,
)
from navigator.model.records import AgentTurn, Batch, Comment, EditFailure, JournalEntry, ModelCall
from navigator.model.states import ENDED_TASK_STATES, ProposalState, Role, SuggestionState, TaskState
from navigator.store.reads.cards import GlanceReads
from navigator.store.reads.exam import ExamReads, Precedent, PrecedentReads
from navigator.store.reads.ledger import LedgerReads
from navigator.store.reads.loop import AgentReads, LoopReads
from navigator.store.reads.queries import conditions, limited
from navigator.store.reads.statistics import CostReads, OutcomeReads, StatisticsReads
from navigator.store.schema import decoded, from_row, tables, unpacked

_TASKS = "SELECT t.*, p.name AS project FROM tasks t JOIN projects p ON p.id = t.project_id"
_PROPOSALS = (
    "SELECT a.*, t.project_id AS project_id, t.variant_of, t.variant, p.careful, p.name AS project FROM proposals a"
    " JOIN tasks t ON t.id = a.task_id JOIN projects p ON p.id = t.project_id"
)
_REVIEWS = {"review": Role.REVIEWER, "final_review": Role.FINAL}
"""Whose newest review each field of a proposal holds."""

_MODELS: dict[str, type[Model]] = {
    "projects": Project,
    "tasks": Task,
    "proposals": Proposal,
    "reviews": Review,
    "decisions": Decision,
    "landings": Landing,
    "calls": ModelCall,
    "swaps": Swap,
    "edit_failures": EditFailure,
    "baselines": Baseline,
    "suggestions": Suggestion,
    "journal": JournalEntry,
    "batches": Batch,
    "events": Event,
    "comments": Comment,
    "reproductions": Reproduction,
    "judgements": Judged,
    "precedents": Precedent,
    "agent_turns": AgentTurn,
}
_FLAGS = ("counted", "withdrawn")
"""Flags of the store's own, in no model."""


class Reader(
    GlanceReads,
    LedgerReads,
    LoopReads,
    StatisticsReads,
    OutcomeReads,
    CostReads,
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

    # Proposals

    def proposals(
        self,
        states: Collection[ProposalState] | None = None,
        project: str | int | None = None,
        task_id: str | None = None,
    ) -> list[Proposal]:
        """Proposals with their newest reviews, decision and newest landing, in the order they were made."""
        tests, values = conditions("a", states, project)
        if task_id is not None:
            tests += f"{' AND' if tests else ' WHERE'} a.task_id = ?"
            values.append(number_of(task_id, "T"))
        with self.snapshot():
            return self._with_parts(self._all(f"{_PROPOSALS}{tests} ORDER BY a.id", *values))

    def proposal(self, identifier: str) -> Proposal:
        """One proposal.

        Raises:
            NotFound: there is none.
        """
        with self.snapshot():
            found = self._with_parts(self._all(f"{_PROPOSALS} WHERE a.id = ?", number_of(identifier, "P")))
        if not found:
            raise NotFound(f"There is no proposal {identifier}.", hint="`navigator proposals` lists them.")
        return found[0]

    def finished_proposals(self, before: str) -> list[Proposal]:
        """Proposals of tasks that neither the loop nor the developer will touch again, settled before a UTC time."""
        marks = ", ".join("?" * len(ENDED_TASK_STATES))
        with self.snapshot():
            found = self._all(
                f"{_PROPOSALS} WHERE t.state IN ({marks}) AND t.updated < ? ORDER BY a.id",
                *(state.value for state in sorted(ENDED_TASK_STATES)),
                before,
            )
            return self._with_parts(found)

    def reviews(self, proposal_id: str) -> list[Review]:
        """Every review of a proposal, oldest first."""
        number = number_of(proposal_id, "P")
        found = self._all("SELECT * FROM reviews WHERE proposal_id = ? ORDER BY id", number)
        return self.reviews_from(found)

    def _with_parts(self, found: list[sqlite3.Row]) -> list[Proposal]:
        ids = [row["id"] for row in found]
        read = list(self._among("SELECT * FROM reviews WHERE proposal_id", ids, " ORDER BY id"))
        newest = {(row["proposal_id"], row["role"]): row for row in read}
        reviews = dict(zip(newest, self.reviews_from(list(newest.values())), strict=True))
        first = {row["proposal_id"]: row for row in read if row["counted"] and row["role"] == Role.REVIEWER}
        again = {key: row for key, row in first.items() if newest[key, Role.REVIEWER]["id"] != row["id"]}
        firsts = dict(zip(again, self.reviews_from(list(again.values())), strict=True))
        decisions = self._newest("decisions", ids, " AND withdrawn = 0")
        landings = self._newest("landings", ids)
        made = []
        for row in found:
            number = row["id"]
            parts = {
                name: reviews[number, role] for name, role in _REVIEWS.items() if (number, role) in reviews
            }
            if number in firsts:
                parts["first_review"] = firsts[number]
            decision, landing = decisions.get(number), landings.get(number)
            made.append(
                from_row(
                    Proposal,
                    row,
                    **parts,
                    decision=from_row(Decision, decision) if decision else None,
                    # Without a decision there is nothing to land: an old landing is history.
                    landing=from_row(Landing, landing) if landing and decision else None,
                )
            )
        return made

    def _newest(self, table: str, ids: list[int], extra: str = "") -> dict[int, sqlite3.Row]:
        found = self._among(f"SELECT * FROM {table} WHERE proposal_id", ids, f"{extra} ORDER BY id")
        return {row["proposal_id"]: row for row in found}

    def open_proposal(self, task_id: str) -> Proposal:
        """The one open proposal of a task.

        Raises:
            Conflict: it has none.
        """
        found = self.proposals({ProposalState.OPEN}, task_id=task_id)
        if not found:
            raise Conflict(
                f"{task_id} has no open proposal.", hint=f"`navigator task show {task_id}` shows its history."
            )
        return found[-1]

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
