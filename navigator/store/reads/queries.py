"""What every reading method uses."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from navigator.model.ids import number_of
from navigator.model.states import ProposalState, Role, TaskState
from navigator.store.database import translated
from navigator.store.schema import DamagedRow, clean, from_rows

if TYPE_CHECKING:
    from pydantic import BaseModel

_M = TypeVar("_M", bound="BaseModel")

_CHUNK = 500
"""Ids in one IN list; SQLite's limit of variables is 999 in old builds."""

WRITTEN = "purpose NOT LIKE 'review%' AND purpose NOT IN ('final', 'reproduce')"
"""A test on `calls`: what was asked for was a task's own text, not a review of one."""

COUNTED = "outcome NOT IN ('started', 'lost') AND purpose <> 'exam'"
"""A test on `calls`: it ended, and is none of the reviewer's exam. What a model took is summed over these."""

OWN_FAULT = "error_code NOT IN ('unreachable', 'connection_lost', 'overloaded', 'refused', 'wrong_model')"
"""A test on failed `calls`: not because the server or its machine cannot be reached, serves another model or refuses the
key, which is the same for every task."""


LINKED = "json_each(t.after) j JOIN tasks o ON o.id = CAST(substr(j.value, 2) AS INTEGER)"
"""The tasks `o` that a task `t` comes after."""

MET = (
    "(o.state IN ('landed', 'done') OR (o.state = 'approved' AND coalesce((SELECT l.state FROM landings l"
    " JOIN proposals a ON a.id = l.proposal_id WHERE a.task_id = o.id ORDER BY l.id DESC LIMIT 1), 'pending') <> 'pending'))"
)
"""Whether what comes after a task `o` may start: it landed, is done, or is approved and cannot land now. A landing that is
due is waited for: it takes seconds, and tells whether it can."""

BLOCKED = f"(t.state = 'queued' AND t.after <> '[]' AND EXISTS (SELECT 1 FROM {LINKED} WHERE NOT {MET}))"
"""Whether a task `t` waits for another one."""


class Queries:
    """Queries over one connection, which belongs to one thread at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Have several queries see one and the same state. Inside a transaction they do anyway."""
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
            return self._connection.execute(sql, [clean(value) for value in values]).fetchall()
        except sqlite3.Error as error:
            raise translated(error, database_of(self._connection)) from error
        except UnicodeDecodeError as error:
            raise translated(DamagedRow("a text cannot be read"), database_of(self._connection)) from error

    def _among(self, sql: str, ids: Sequence[int], rest: str = "") -> Iterator[sqlite3.Row]:
        """The rows of a query that ends with the name of a column, for all of whose values there are."""
        for start in range(0, len(ids), _CHUNK):
            chunk = ids[start : start + _CHUNK]
            yield from self._all(f"{sql} IN ({', '.join('?' * len(chunk))}){rest}", *chunk)

    def _models(self, model: type[_M], sql: str, *values: Any) -> list[_M]:
        """A model from each row."""
        return from_rows(model, self._all(sql, *values))

    def _one(self, sql: str, *values: Any) -> Any:
        return self._all(sql, *values)[0][0]

    def _where(self, table: str, **wanted: Any) -> list[sqlite3.Row]:
        """Rows of `table` whose columns have the wanted values (None: any), oldest first."""
        tests = {name: value for name, value in wanted.items() if value is not None}
        where = f" WHERE {' AND '.join(f'{name} = ?' for name in tests)}" if tests else ""
        return self._all(f"SELECT * FROM {table}{where} ORDER BY id", *tests.values())

    def _of_round(
        self, task: str, attempt: int, round: int, role: Role, what: str, where: str, *values: Any
    ) -> list[sqlite3.Row]:
        """Columns of the calls by `role` in a task's round that meet a condition."""
        place = "task_id = ? AND attempt = ? AND round = ? AND role = ?"
        found = (number_of(task, "T"), attempt, round, role.value, *values)
        return self._all(f"SELECT {what} FROM calls WHERE {place} AND {where}", *found)


def database_of(connection: sqlite3.Connection) -> Path:
    """The file behind a connection."""
    return Path(connection.execute("PRAGMA database_list").fetchone()[2])


def limited(limit: int | None) -> str:
    """The LIMIT clause, or nothing."""
    return "" if limit is None else f" LIMIT {int(limit)}"


def conditions(
    alias: str, states: Collection[TaskState] | Collection[ProposalState] | None, project: str | int | None
) -> tuple[str, list[Any]]:
    """The WHERE clause, or nothing, for some states of a table and a project (its name or number), and its values."""
    tests: list[str] = []
    values: list[Any] = []
    if states is not None:
        tests.append(f"{alias}.state IN ({', '.join('?' * len(states))})")
        values.extend(state.value for state in states)
    if project is not None:
        tests.append("t.project_id = ?" if isinstance(project, int) else "p.name = ?")
        values.append(project)
    return (f" WHERE {' AND '.join(tests)}" if tests else ""), values
