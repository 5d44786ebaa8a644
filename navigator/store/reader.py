"""Reading: the domain's models, and plain rows for the statistics. Nothing here writes."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from navigator.domain.errors import NotFound
from navigator.domain.ids import number_of, proposal_id, task_id
from navigator.domain.models import Event, Project, Proposal, Review, Swap, Task
from navigator.domain.states import ProposalState, Role, TaskState, Verdict
from navigator.store import rows
from navigator.store.errors import translated
from navigator.store.schema import TABLES

_CHUNK = 500
"""Ids in one IN list; SQLite's limit of variables is 999 in old builds."""

_TASKS = "SELECT t.*, p.name AS project FROM tasks t JOIN projects p ON p.id = t.project_id"
_PROPOSALS = (
    "SELECT a.*, t.project_id AS project_id, p.name AS project FROM proposals a"
    " JOIN tasks t ON t.id = a.task_id JOIN projects p ON p.id = t.project_id"
)
_JSON_COLUMNS = {
    "projects": rows.PROJECT_LISTS,
    "tasks": ("files",),
    "proposals": ("edits", "policy", "checks", "overlaps", "usage"),
    "reviews": ("findings", "addressed", "usage"),
    "decisions": ("confirmed",),
    "swaps": ("phases",),
    "journal": ("plan",),
    "batches": ("swaps",),
    "events": ("data",),
    "meta": ("value",),
}
_FLAGS = {
    "projects": ("demo", "removed"),
    "proposals": ("seen", "rehearsal"),
    "reviews": ("counted", "self_review", "rehearsal"),
    "decisions": ("withdrawn",),
    "landings": ("transplanted",),
    "calls": ("repeat", "rehearsal"),
    "swaps": ("rehearsal",),
    "edit_failures": ("rehearsal",),
    "comments": ("sent",),
}


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What a model answered in one call, kept so that a repair or a revision can quote it after a restart."""

    call_id: int
    purpose: str
    text: str
    prompt_hash: str
    model: str


class Reader:
    """Queries over one connection. On a connection of `open_reader` it sees committed state only."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    # Projects and tasks

    def projects(self, include_removed: bool = False) -> list[Project]:
        """All projects by name."""
        where = "" if include_removed else " WHERE removed = 0"
        found = self._all(f"SELECT * FROM projects{where} ORDER BY name, id")
        return [rows.project_from(row) for row in found]

    def project(self, name_or_id: str | int) -> Project:
        """One project by name or number; a removed one by number only.

        Raises:
            NotFound: there is none.
        """
        by_id = isinstance(name_or_id, int)
        where = "id = ?" if by_id else "name = ? AND removed = 0"
        found = self._all(f"SELECT * FROM projects WHERE {where}", name_or_id)
        if not found:
            raise NotFound(
                f"There is no project {name_or_id!r}.", hint="`navigator project list` names them."
            )
        return rows.project_from(found[0])

    def tasks(
        self,
        states: Collection[TaskState] | None = None,
        project: str | int | None = None,
        limit: int | None = None,
        *,
        newest_first: bool = False,
    ) -> list[Task]:
        """Tasks in the order they were given.

        Args:
            states: only these; None for all.
            project: a project's name or number.
            limit: at most so many, counted from the start of the order.
            newest_first: the other order.
        """
        tests, values = _conditions("t", states, project)
        order = f" ORDER BY t.id {'DESC' if newest_first else 'ASC'}{_limit(limit)}"
        return [rows.task_from(row) for row in self._all(f"{_TASKS}{tests}{order}", *values)]

    def task(self, identifier: str) -> Task:
        """One task.

        Raises:
            NotFound: there is none.
        """
        found = self._all(f"{_TASKS} WHERE t.id = ?", number_of(identifier, "T"))
        if not found:
            raise NotFound(f"There is no task {identifier}.", hint="`navigator task list` shows them.")
        return rows.task_from(found[0])

    def task_since(self, states: Collection[TaskState] | None = None) -> dict[str, str]:
        """When each task entered its present state: `{"T1": UTC time}`."""
        tests, values = _conditions("t", states, None)
        return {
            task_id(row["id"]): row["since"]
            for row in self._all(f"SELECT id, since FROM tasks t{tests}", *values)
        }

    # Proposals

    def proposals(
        self,
        states: Collection[ProposalState] | None = None,
        project: str | int | None = None,
        task_id: str | None = None,
        limit: int | None = None,
        *,
        newest_first: bool = False,
    ) -> list[Proposal]:
        """Proposals with their newest review, standing decision and newest landing, in the order they were made."""
        tests, values = _conditions("a", states, project)
        if task_id is not None:
            tests += f"{' AND' if tests else ' WHERE'} a.task_id = ?"
            values.append(number_of(task_id, "T"))
        order = f" ORDER BY a.id {'DESC' if newest_first else 'ASC'}{_limit(limit)}"
        with self.snapshot():
            return self._with_parts(self._all(f"{_PROPOSALS}{tests}{order}", *values))

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

    def reviews(self, proposal_id: str) -> list[Review]:
        """Every review of a proposal, oldest first."""
        number = number_of(proposal_id, "P")
        found = self._all("SELECT * FROM reviews WHERE proposal_id = ? ORDER BY id", number)
        return [rows.review_from(row) for row in found]

    def _with_parts(self, found: list[sqlite3.Row]) -> list[Proposal]:
        ids = [row["id"] for row in found]
        reviews = self._newest("reviews", ids)
        decisions = self._newest("decisions", ids, " AND withdrawn = 0")
        landings = self._newest("landings", ids)
        made = []
        for row in found:
            review, decision, landing = (part.get(row["id"]) for part in (reviews, decisions, landings))
            made.append(
                rows.proposal_from(
                    row,
                    review=rows.review_from(review) if review else None,
                    decision=rows.decision_from(decision) if decision else None,
                    # Without a standing decision there is nothing to land: an old landing is history.
                    landing=rows.landing_from(landing) if landing and decision else None,
                )
            )
        return made

    def _newest(self, table: str, ids: list[int], extra: str = "") -> dict[int, sqlite3.Row]:
        newest: dict[int, sqlite3.Row] = {}
        for start in range(0, len(ids), _CHUNK):
            chunk = ids[start : start + _CHUNK]
            marks = ", ".join("?" * len(chunk))
            found = self._all(
                f"SELECT * FROM {table} WHERE proposal_id IN ({marks}){extra} ORDER BY id", *chunk
            )
            newest.update((row["proposal_id"], row) for row in found)
        return newest

    # Events, meta, drafts, comments

    def events(self, after_seq: int = 0, limit: int = 1000) -> list[Event]:
        """Events after a sequence number, in order."""
        found = self._all("SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?", after_seq, limit)
        return [rows.event_from(row) for row in found]

    def last_seq(self) -> int:
        """The newest event's number, 0 when nothing happened yet."""
        return int(self._one("SELECT coalesce(max(seq), 0) FROM events"))

    def meta(self, key: str) -> Any:
        """A small stored value (JSON), or None."""
        found = self._all("SELECT value FROM meta WHERE key = ?", key)
        return json.loads(found[0]["value"]) if found else None

    def metas(self, prefix: str) -> dict[str, Any]:
        """Every stored value whose key begins with `prefix`."""
        found = self._all(
            "SELECT key, value FROM meta WHERE substr(key, 1, ?) = ? ORDER BY key", len(prefix), prefix
        )
        return {row["key"]: json.loads(row["value"]) for row in found}

    def drafts(self, prefix: str = "") -> dict[str, str]:
        """Unfinished texts by key."""
        found = self._all(
            "SELECT key, text FROM drafts WHERE substr(key, 1, ?) = ? ORDER BY key", len(prefix), prefix
        )
        return {row["key"]: row["text"] for row in found}

    def comments(
        self, *, task_id: str | None = None, proposal_id: str | None = None, sent: bool | None = None
    ) -> list[dict[str, Any]]:
        """Comments on proposals' lines: id, task_id, proposal_id, path, side, line, quote, text, created, sent."""
        wanted: list[tuple[str, Any]] = []
        if task_id is not None:
            wanted.append(("task_id = ?", number_of(task_id, "T")))
        if proposal_id is not None:
            wanted.append(("proposal_id = ?", number_of(proposal_id, "P")))
        if sent is not None:
            wanted.append(("sent = ?", int(sent)))
        where = f" WHERE {' AND '.join(test for test, _ in wanted)}" if wanted else ""
        found = self._all(f"SELECT * FROM comments{where} ORDER BY id", *(value for _, value in wanted))
        return [rows.flat(row, flags=("sent",)) for row in found]

    # What was measured

    def swaps(self, limit: int | None = None) -> list[Swap]:
        """Swaps, newest first."""
        return [
            rows.swap_from(row) for row in self._all(f"SELECT * FROM swaps ORDER BY id DESC{_limit(limit)}")
        ]

    def batches(self) -> list[dict[str, Any]]:
        """Batches in the order they began: name, started, ended, swaps (their numbers)."""
        found = self._all("SELECT * FROM batches ORDER BY started, name")
        return [rows.flat(row, json_columns=("swaps",)) for row in found]

    def calls(
        self,
        *,
        task_id: str | None = None,
        role: Role | None = None,
        since: str | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """Model calls without their answers, oldest first: every column of the table, `task_id` as T… or None."""
        wanted: list[tuple[str, Any]] = []
        if task_id is not None:
            wanted.append(("task_id = ?", number_of(task_id, "T")))
        if role is not None:
            wanted.append(("role = ?", role.value))
        if since is not None:
            wanted.append(("started >= ?", since))
        where = f" WHERE {' AND '.join(test for test, _ in wanted)}" if wanted else ""
        columns = (
            "id, role, task_id, attempt, round, purpose, seq, prompt_version, prompt_hash, model, outcome, error_code,"
            " prompt_tokens, completion_tokens, cached_tokens, seconds, retries, repeat, rehearsal, started, ended"
        )
        sql = f"SELECT {columns} FROM calls{where} ORDER BY id{_limit(limit)}"
        return [
            rows.flat(row, flags=("repeat", "rehearsal"))
            for row in self._all(sql, *(value for _, value in wanted))
        ]

    def call_counts(self) -> dict[str, int]:
        """`{"made", "repeated", "lost", "running"}`: calls begun, begun again for the same step, never ended, open."""
        row = self._all(
            "SELECT count(*) AS made, coalesce(sum(repeat), 0) AS repeated,"
            " coalesce(sum(outcome = 'lost'), 0) AS lost, coalesce(sum(outcome = 'started'), 0) AS running FROM calls"
        )[0]
        return {name: int(row[name]) for name in ("made", "repeated", "lost", "running")}

    def last_answer(
        self, task_id: str, attempt: int, round: int, *, role: Role = Role.GENERATOR
    ) -> StoredAnswer | None:
        """The newest answer that `role` gave in a task's round, or None where none was kept."""
        found = self._all(
            "SELECT id, purpose, answer, prompt_hash, model FROM calls WHERE task_id = ? AND attempt = ? AND round = ?"
            " AND role = ? AND answer IS NOT NULL ORDER BY id DESC LIMIT 1",
            number_of(task_id, "T"),
            attempt,
            round,
            role.value,
        )
        if not found:
            return None
        row = found[0]
        return StoredAnswer(
            call_id=row["id"],
            purpose=row["purpose"],
            text=unpacked(row["answer"]),
            prompt_hash=row["prompt_hash"],
            model=row["model"],
        )

    def first_verdicts(self) -> list[dict[str, Any]]:
        """What the revise rate is counted from: one row a task, its attempt 0, round 0, as first reviewed.

        Returns:
            Rows of task_id, proposal_id, project, kind, complexity, model and prompt_version (of the writer),
            review_model and review_prompt_version, verdict, stated_verdict, self_review, rehearsal, at.
        """
        found = self._all(
            "SELECT a.task_id, a.id AS proposal_id, p.name AS project, t.kind, t.complexity, a.model, a.prompt_version,"
            " r.model AS review_model, r.prompt_version AS review_prompt_version, r.verdict, r.stated_verdict,"
            " r.self_review, (a.rehearsal OR r.rehearsal) AS rehearsal, r.at"
            " FROM proposals a JOIN tasks t ON t.id = a.task_id JOIN projects p ON p.id = t.project_id"
            " JOIN reviews r ON r.proposal_id = a.id AND r.counted = 1 AND r.role = 'reviewer'"
            " WHERE a.attempt = 0 AND a.round = 0 ORDER BY r.id"
        )
        return [rows.flat(row, flags=("self_review", "rehearsal")) for row in found]

    def edit_failures(self) -> list[dict[str, Any]]:
        """Answers that did not apply: task_id, attempt, round, code, path, model, rehearsal, at."""
        found = self._all("SELECT * FROM edit_failures ORDER BY id")
        return [rows.flat(row, flags=("rehearsal",)) for row in found]

    def journal_pending(self) -> list[dict[str, Any]]:
        """Landings begun and not closed: id, proposal_id, plan, opened."""
        found = self._all("SELECT * FROM journal WHERE closed IS NULL ORDER BY id")
        return [rows.flat(row, json_columns=("plan",)) for row in found]

    def counts(self) -> dict[str, Any]:
        """One glance at everything, for `navigator status`.

        Returns:
            `tasks` and `proposals` ({state: n}, every state named), `waiting` (n tasks that wait for the developer),
            `oldest_wait` (UTC time or None), `unreviewed` (open proposals whose review could not be read),
            `last_swap` (JSON or None), `resident` (what the conductor last noted, or None), `last_seq`.
        """
        tasks = self._by_state("tasks")
        proposals = self._by_state("proposals")
        swaps = self.swaps(1)
        return {
            "tasks": {state.value: tasks.get(state.value, 0) for state in TaskState},
            "proposals": {state.value: proposals.get(state.value, 0) for state in ProposalState},
            "waiting": tasks.get(TaskState.AWAITING_APPROVAL.value, 0),
            "oldest_wait": self._one(
                "SELECT min(since) FROM tasks WHERE state = ?", TaskState.AWAITING_APPROVAL.value
            ),
            "unreviewed": self._one(
                "SELECT count(*) FROM proposals a JOIN reviews r ON r.id ="
                " (SELECT max(id) FROM reviews WHERE proposal_id = a.id)"
                " WHERE a.state = 'open' AND r.verdict = ?",
                Verdict.UNREVIEWED.value,
            ),
            "last_swap": swaps[0].model_dump(mode="json", by_alias=True) if swaps else None,
            "resident": self.meta("resident"),
            "last_seq": self.last_seq(),
        }

    def export_rows(self, table: str) -> Iterator[dict[str, Any]]:
        """Every row of one of `schema.TABLES` as JSON data, one at a time.

        Raises:
            NotFound: no such table.
        """
        if table not in TABLES:
            raise NotFound(f"There is no table {table!r}.", hint=f"There are: {', '.join(TABLES)}.")
        for row in self._connection.execute(f"SELECT * FROM {table} ORDER BY 1"):
            values = rows.flat(row, flags=_FLAGS.get(table, ()), json_columns=_JSON_COLUMNS.get(table, ()))
            if table == "tasks":
                values["id"] = task_id(values["id"])
            if table == "proposals":
                values["id"] = proposal_id(values["id"])
            if table == "calls" and values["answer"] is not None:
                values["answer"] = unpacked(values["answer"])
            yield values

    def _by_state(self, table: str) -> dict[str, int]:
        return {
            row["state"]: row["n"]
            for row in self._all(f"SELECT state, count(*) AS n FROM {table} GROUP BY state")
        }

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Have several queries see one and the same committed state."""
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")

    def _all(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        try:
            return self._connection.execute(sql, [rows.clean(value) for value in values]).fetchall()
        except sqlite3.Error as error:
            raise translated(error, database_of(self._connection)) from error

    def _one(self, sql: str, *values: Any) -> Any:
        return self._all(sql, *values)[0][0]


def database_of(connection: sqlite3.Connection) -> Path:
    """The file behind a connection."""
    return Path(connection.execute("PRAGMA database_list").fetchone()[2])


def packed(text: str) -> bytes:
    """An answer's text as it is stored."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def unpacked(blob: bytes) -> str:
    """The text again."""
    return zlib.decompress(blob).decode("utf-8", "surrogatepass")


def _conditions(
    alias: str, states: Collection[TaskState] | Collection[ProposalState] | None, project: str | int | None
) -> tuple[str, list[Any]]:
    tests: list[str] = []
    values: list[Any] = []
    if states is not None:
        tests.append(f"{alias}.state IN ({', '.join('?' * len(states))})")
        values.extend(state.value for state in states)
    if project is not None:
        tests.append("t.project_id = ?" if isinstance(project, int) else "p.name = ?")
        values.append(project)
    return (f" WHERE {' AND '.join(tests)}" if tests else ""), values


def _limit(limit: int | None) -> str:
    return "" if limit is None else f" LIMIT {int(limit)}"
