"""Copies of the database: made once a day and on request, the newest few kept."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

KEEP = 5
DUE_AFTER = 24 * 3600.0
"""Seconds after which opening the database for writing makes another copy."""

_PATTERN = "navigator-*.db"


def newest_backup(folder: Path) -> Path | None:
    """The last copy made, by its name, or None."""
    return max(folder.glob(_PATTERN), default=None)


def backup_due(folder: Path) -> bool:
    """Whether the newest copy is older than a day (by the file's time), or there is none."""
    newest = newest_backup(folder)
    return newest is None or time.time() - newest.stat().st_mtime > DUE_AFTER


def back_up(connection: sqlite3.Connection, folder: Path, *, label: str) -> Path:
    """Copy the whole database, as last committed, into `folder` (0600) and drop all but the newest copies.

    Args:
        connection: any connection without an open transaction.
        folder: made 0700 if absent.
        label: part of the name, e.g. `"daily"`.

    Raises:
        sqlite3.Error: the copy failed; no half copy is left under a backup's name.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    final = folder / f"navigator-{stamp}-{label}.db"
    partial = folder / f".{final.name}.partial"
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with closing(sqlite3.connect(partial)) as copy:
            connection.backup(copy)
            # A copy in WAL mode would need its own -wal beside it; as one plain file it can just be moved.
            copy.execute("PRAGMA journal_mode=DELETE")
        partial.replace(final)
    finally:
        partial.unlink(missing_ok=True)
    for old in sorted(folder.glob(_PATTERN))[:-KEEP]:
        old.unlink(missing_ok=True)
    return final
