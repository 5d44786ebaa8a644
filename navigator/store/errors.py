"""What can go wrong with the database, in the user's words."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from navigator.domain.errors import Conflict, IllegalTransition, MissingPart, NavigatorError

_ROOM_BYTES = 64 * 1024
"""What SQLite needs for the index of a write-ahead log, and a page or two."""


class StoreError(NavigatorError):
    """The database refused something."""

    code = "store"


class NoDatabase(StoreError):
    """Nothing was stored here yet."""

    code = "no_database"


class SchemaTooNew(StoreError):
    """A later Navigator wrote this database."""

    code = "schema_too_new"


class SchemaOutdated(StoreError):
    """An earlier Navigator wrote this database, and no writer has brought it up to date yet."""

    code = "schema_outdated"


class DatabaseCorrupt(StoreError):
    """The file is damaged or missing although copies exist. It is never made anew over what may be saved."""

    code = "database_corrupt"


class DatabaseLocked(StoreError):
    """Another process holds the database or the state folder."""

    code = "locked"


class DiskFull(StoreError):
    """No space was left; what was committed before stands."""

    code = "disk_full"


class SqliteTooOld(MissingPart):
    """The SQLite that Python links lacks something the store needs."""

    code = "sqlite"


def translated(error: sqlite3.Error, database: Path) -> NavigatorError:
    """The typed error for what SQLite raised.

    Args:
        error: as caught; its primary result code decides.
        database: the file; its neighbours (lock, backups) are named in the message.
    """
    from navigator.store.backups import newest_backup
    from navigator.store.lock import describe_holder

    code = getattr(error, "sqlite_errorcode", 0) or 0
    if code == sqlite3.SQLITE_CONSTRAINT_TRIGGER:
        return IllegalTransition(
            f"The database refused: {error}.", hint="Look at its present state and try again."
        )
    primary = code & 0xFF
    if primary in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and _no_room(database.parent):
        # What SQLite says when it cannot even make the small files beside the database.
        primary = sqlite3.SQLITE_FULL
    if primary == sqlite3.SQLITE_CONSTRAINT:
        return Conflict(
            f"The database refused: {error}.", hint="Something else changed it first; look again."
        )
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return DatabaseLocked(
            f"{database} is in use by {describe_holder(database.parent / 'conductor.lock')}.",
            hint="Wait until it is done, or stop it.",
        )
    if primary == sqlite3.SQLITE_FULL:
        return disk_full(database)
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return corrupt(database, str(error), newest_backup(database.parent / "backups"))
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StoreError(f"{database} cannot be opened: {error}.", hint="Check who owns the state folder.")
    return StoreError(f"{database}: {error}.", hint="`navigator doctor` looks the database over.")


def disk_full(database: Path) -> DiskFull:
    """The error for a write that found no room."""
    return DiskFull(
        f"The disk that holds {database} is full; nothing of the last step was stored.",
        hint="Free some space (`navigator gc` drops old things) and try again.",
    )


def _no_room(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _ROOM_BYTES
    except OSError:
        return False


def corrupt(database: Path, detail: str, backup: Path | None) -> DatabaseCorrupt:
    """The error for a damaged database: it names the newest copy, and leaves the choice to the user."""
    # A log left beside a copied file would be played into it, and damage that one too.
    away = f"move {database.name}, {database.name}-wal and {database.name}-shm away"
    if backup is None:
        hint = f"There is no backup. To begin anew, {away}; to save what can be saved, try `sqlite3 FILE .recover`."
    else:
        hint = f"The newest backup is {backup}: {away}, and copy the backup to the first one's place."
    return DatabaseCorrupt(f"{database} is damaged ({detail}).", hint=hint)
