"""What every writing method uses: statements, events, and rows that must exist."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from navigator.model.errors import NotFound
from navigator.model.ids import number_of, proposal_id, task_id
from navigator.model.models import Event, utc_now
from navigator.store.reads.reader import Reader
from navigator.store.schema import clean, dumped, encoded


class TransactionCore:
    """One open transaction. Methods write; `read` sees what they wrote; events gather in `events`; `at` is when it began."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.read = Reader(connection)
        self.events: list[Event] = []
        self.at = utc_now()

    def event(
        self, kind: str, task_id: str = "", proposal_id: str = "", data: Mapping[str, Any] | None = None
    ) -> Event:
        """Record that something happened, in this transaction.

        Args:
            kind: a word such as `task_state`; the methods that write an event name theirs.
            data: JSON data that a client may show.
        """
        event = {"at": utc_now(), "kind": kind, "task_id": task_id, "proposal_id": proposal_id}
        seq = self._insert("events", None, **event, data=dumped(data or {}))
        made = Event(seq=seq, data=dict(data or {}), **event)
        self.events.append(made)
        return made

    def _told(self, kind: str, proposal: str, data: Mapping[str, Any]) -> None:
        """An event about a proposal, and so about its task."""
        row = self._proposal_row(proposal)
        self.event(kind, task_id(row["task_id"]), proposal_id(row["id"]), data)

    def _insert(self, table: str, record: BaseModel | None = None, **columns: Any) -> int:
        """A new row: the fields of `record` that are columns of `table`, its id apart, with `columns` over them."""
        return self._write("INSERT", table, record, columns)

    def _put(self, table: str, record: BaseModel | None = None, **columns: Any) -> None:
        """As `_insert`, in place of a row with the same unique columns."""
        self._write("INSERT OR REPLACE", table, record, columns)

    def _write(self, how: str, table: str, record: BaseModel | None, columns: Mapping[str, Any]) -> int:
        values = {**self._columns(table, record), **columns} if record is not None else columns
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" * len(values))
        cursor = self._run(f"{how} INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))
        return int(cursor.lastrowid or 0)

    def _columns(self, table: str, record: BaseModel) -> dict[str, Any]:
        """The fields of `record` that are columns of `table`, without its id, as they are stored."""
        known = {row["name"] for row in self._run("SELECT name FROM pragma_table_info(?)", (table,))}
        fields = (name for name in type(record).model_fields if name in known and name != "id")
        return encoded(type(record), {name: getattr(record, name) for name in fields})

    def _update(self, table: str, row_id: int, values: Mapping[str, Any]) -> None:
        columns = ", ".join(f'"{name}" = ?' for name in values)
        self._run(f"UPDATE {table} SET {columns} WHERE id = ?", (*values.values(), row_id))

    def _run(self, statement: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, tuple(clean(value) for value in parameters))

    def _row(self, table: str, row_id: int, what: str) -> sqlite3.Row:
        row: sqlite3.Row | None = self._run(f"SELECT * FROM {table} WHERE id = ?", (row_id,)).fetchone()
        if row is None:
            raise NotFound(f"There is no {what}.", hint="`navigator status` shows what there is.")
        return row

    def _task_row(self, task_id: str) -> sqlite3.Row:
        return self._row("tasks", number_of(task_id, "T"), task_id)

    def _proposal_row(self, proposal_id: str) -> sqlite3.Row:
        return self._row("proposals", number_of(proposal_id, "P"), proposal_id)
