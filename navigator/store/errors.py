"""Typed errors of the store."""

from __future__ import annotations

from pathlib import Path

from navigator.model.errors import NavigatorError


class StoreError(NavigatorError):
    """The database refused something."""

    code = "store"


class IllegalTransition(NavigatorError):
    """A state change that is not in the transition table: a bug, or two writers on one task."""

    code = "transition"


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
