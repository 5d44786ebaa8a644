"""Tags of blobs that were read before, in one SQLite file a project. Only a cache: losing it costs time, never an answer.

A blob's tags never change, so two processes that write the same row write the same. A row that was damaged fails its own
checksum and counts as absent; a file that is no database is replaced; one that cannot be written is read.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from navigator.context.repomap.extract import VERSION
from navigator.model.json_text import read_json

log = logging.getLogger(__name__)

MOST_ROWS = 60_000
"""Blobs kept; those not used for longest go first."""

_WAIT_MS = 2_000
_DAY = 86_400
_AT_ONCE = 500


class TagCache:
    """Tags by key. Methods raise nothing of SQLite's: what cannot be read is absent, what cannot be written is not kept.

    Args:
        path: the file; made where there is none.
        most_rows: how many blobs are kept.
    """

    def __init__(self, path: Path, most_rows: int = MOST_ROWS) -> None:
        self._path = path
        self._most = most_rows

    def get(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """What is known of these blobs."""
        found: dict[str, dict[str, Any]] = {}
        wanted = list(dict.fromkeys(keys))
        today = int(time.time()) // _DAY
        with self._open() as connection:
            if connection is None:
                return found
            stale: list[str] = []
            for at in range(0, len(wanted), _AT_ONCE):
                some = wanted[at : at + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = connection.execute(
                    f"SELECT key, used, tags FROM blobs WHERE version = ? AND key IN ({marks})",
                    (VERSION, *some),
                )
                for key, used, packed in rows:
                    tags = _unpacked(packed)
                    if tags is not None:
                        found[key] = tags
                        if used < today:
                            stale.append(key)
            if stale:
                self._touch(connection, stale, today)
        return found

    def put(self, entries: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Keep tags; what was not used for longest goes where there are too many."""
        today = int(time.time()) // _DAY
        rows = [(key, VERSION, today, _packed(tags)) for key, tags in entries]
        with self._open() as connection:
            if connection is None or not rows:
                return
            with contextlib.suppress(sqlite3.OperationalError), connection:
                connection.executemany("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?)", rows)
                (count,) = connection.execute("SELECT count(*) FROM blobs").fetchone()
                if count > self._most:
                    connection.execute(
                        "DELETE FROM blobs WHERE key IN"
                        " (SELECT key FROM blobs ORDER BY version = ?, used, rowid LIMIT ?)",
                        (VERSION, count - self._most),
                    )

    @staticmethod
    def _touch(connection: sqlite3.Connection, keys: list[str], today: int) -> None:
        with contextlib.suppress(sqlite3.OperationalError), connection:
            connection.executemany("UPDATE blobs SET used = ? WHERE key = ?", [(today, key) for key in keys])

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection | None]:
        """A connection for one use; None where there is no way to have one."""
        connection = self._connect()
        try:
            yield connection
        except sqlite3.DatabaseError as error:
            # Locked, full or read-only is somebody else's doing; anything else is damage.
            if not isinstance(error, sqlite3.OperationalError):
                self._discard(error)
        finally:
            if connection is not None:
                connection.close()

    def _connect(self) -> sqlite3.Connection | None:
        for _ in range(2):
            try:
                return self._prepared()
            except sqlite3.OperationalError as error:
                log.info("the map's cache is not used: %s", error)
                return None
            except sqlite3.DatabaseError as error:
                self._discard(error)
        return None

    def _prepared(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_WAIT_MS / 1000, isolation_level=None)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'blobs'").fetchone()
            if known is None:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS blobs"
                    " (key TEXT PRIMARY KEY, version INTEGER NOT NULL, used INTEGER NOT NULL, tags BLOB NOT NULL)"
                )
        except BaseException:
            connection.close()
            raise
        connection.isolation_level = "DEFERRED"
        return connection

    def _discard(self, error: sqlite3.DatabaseError) -> None:
        log.warning("the map's cache %s was damaged (%s) and is rebuilt", self._path, error)
        for name in (self._path, self._path.with_name(f"{self._path.name}-journal")):
            with contextlib.suppress(OSError):
                name.unlink()


def _packed(tags: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(tags, separators=(",", ":")).encode("ascii"), 1)


def _unpacked(packed: object) -> dict[str, Any] | None:
    """Tags from a row, or None where it was damaged; zlib carries a checksum."""
    try:
        tags = read_json(zlib.decompress(packed)) if isinstance(packed, bytes) else None
    except (zlib.error, ValueError):
        return None
    return tags if isinstance(tags, dict) else None
