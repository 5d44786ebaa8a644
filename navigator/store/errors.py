"""Typed errors of the store."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from navigator.model.errors import MissingPart, NavigatorError
from navigator.model.json_text import read_json
from navigator.store.schema import schema


class StoreError(NavigatorError):
    """The database refused something."""

    code = "store"


class NoDatabase(StoreError):
    """Nothing is stored here yet."""

    code = "no_database"


class OtherWorld(StoreError):
    """A rehearsal was opened for real work, or real work for a rehearsal: the two never share a state folder."""

    code = "other_world"


class OtherSchema(StoreError):
    """Another version of Navigator made this database."""

    code = "other_schema"


class DatabaseCorrupt(StoreError):
    """The file is damaged or missing although copies exist. It is never created again over what may be saved."""

    code = "database_corrupt"


class DatabaseLocked(StoreError):
    """Another process holds the database or the state folder."""

    code = "locked"


class DiskFull(StoreError):
    """No space was left; what was committed before is safe."""

    code = "disk_full"


class SqliteTooOld(MissingPart):
    """The SQLite that Python links is missing something the store needs."""

    code = "sqlite"


def disk_full(database: Path) -> DiskFull:
    """The error for a write that found no space."""
    return DiskFull(
        f"The disk that holds {database} is full; nothing of the last step was stored.",
        hint="Free some space (`navigator gc` drops old things) and try again.",
    )


def corrupt(database: Path, detail: str, backup: Path | None) -> DatabaseCorrupt:
    """The error for a damaged database: it names the newest backup, and leaves the choice to the user."""
    # A log left beside a copied file would be played into it, and damage that one too.
    away = f"move {database.name}, {database.name}-wal and {database.name}-shm away"
    if backup is None:
        hint = f"There is no backup. To start again, {away}; to save what can be saved, try `sqlite3 FILE .recover`."
    else:
        hint = f"The newest backup is {backup}: {away}, and copy the backup to the first one's place."
    return DatabaseCorrupt(f"{database} is damaged ({detail}).", hint=hint)


# Finds the row that was damaged, once something could not be read: every row is put again into a table like its own.

_CONTAINERS = {"'[]'": list, "'{}'": dict}
_TIMES = {"at", "closed", "created", "ended", "made", "opened", "since", "started", "updated"}
"""Columns that hold a moment, or NULL."""


class _Undecoded(bytes):
    """A text as it is in the file, which may be no UTF-8; a BLOB is plain bytes."""


def damaged_row(database: Path) -> str:
    """The first row that holds what was never written there, as in `row 'resident' of meta: …`; "" where there is none.

    It looks at types, NULLs, the words of enums, numbers, moments, JSON and UTF-8. It reads the whole file.
    """
    with (
        closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as held,
        closing(sqlite3.connect(":memory:", isolation_level=None)) as sound,
    ):
        held.text_factory = _Undecoded
        for statement in schema():
            if "CREATE TABLE " in statement:
                sound.execute(statement)
        tables = [name for (name,) in sound.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            if table.startswith("sqlite_"):
                continue
            try:
                found = _in_table(held, sound, table)
            except (sqlite3.Error, UnicodeDecodeError) as error:  # a page of it is damaged, or its name
                return f"table {table}: {error}"
            if found:
                return found
    return ""


def _in_table(held: sqlite3.Connection, sound: sqlite3.Connection, table: str) -> str:
    columns = list(sound.execute(f"PRAGMA table_info({table})"))
    kinds = [_CONTAINERS.get(default) for _, _, _, _, default, _ in columns]
    marks = ", ".join("?" * len(columns))
    names = ", ".join(f'"{name}"' for _, name, *_ in columns)
    for row in held.execute(f"SELECT {names} FROM {table}"):
        try:
            values = [value.decode() if isinstance(value, _Undecoded) else value for value in row]
            for value, kind in zip(values, kinds, strict=True):
                if kind is not None and not isinstance(read_json(value), kind):
                    raise ValueError(f"JSON that is no {kind.__name__}")
            if table == "meta":
                read_json(values[1])
            for value, column in zip(values, columns, strict=True):
                if column[1] in _TIMES and value is not None:
                    datetime.fromisoformat(value)
            sound.execute(f"INSERT INTO {table} VALUES ({marks})", values)
            sound.execute(f"DELETE FROM {table}")
        except (sqlite3.Error, ValueError, TypeError, RecursionError) as error:
            return f"row {_shown(row[0])} of {table}: {error}"
    return ""


def _shown(key: Any) -> str:
    return repr(key.decode("utf-8", "replace")[:80]) if isinstance(key, bytes) else str(key)
