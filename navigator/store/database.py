"""Opening the database: one writer that also checkpoints, any number of readers that can only read.

SQLite before 3.51.3 can damage a WAL database when two connections write or checkpoint at once (the WAL-reset bug), so
only the holder of the state folder's lock opens the writer, readers are opened read-only, and neither maps memory.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from navigator.model.errors import Conflict, NavigatorError
from navigator.store.errors import (
    DatabaseLocked,
    DiskFull,
    IllegalTransition,
    NoDatabase,
    OtherSchema,
    OtherWorld,
    StoreError,
    corrupt,
    disk_full,
)
from navigator.store.lock import describe_holder
from navigator.store.schema import APPLICATION_ID, SCHEMA_VERSION, WORLD, schema, triggers

BUSY_SECONDS = 5.0
_LOG_BYTES = 64 * 1024
"""What SQLite needs for the index of a write-ahead log, and a page or two."""
_JOURNAL_LIMIT = 64 * 1024 * 1024


def open_writer(path: Path, *, rehearsal: bool | None = None) -> sqlite3.Connection:
    """Open the database for writing: check it, make its tables where it is empty, and return the connection.

    The caller holds the state folder's lock and closes the connection. Autocommit: transactions are explicit.

    Args:
        path: made with mode 0600 if absent; a daily copy goes to `backups/` beside it.
        rehearsal: whether what is to be stored is simulated, which an empty database keeps for good (None: not said). One of
            the other kind is refused; None opens both.

    Raises:
        DatabaseCorrupt: damaged, not ours, or gone although copies exist. Nothing was changed.
        OtherSchema: another version of Navigator made it. Nothing was changed.
        OtherWorld: it holds a rehearsal and real work is meant, or the other way round.
        DatabaseLocked: another writer holds it.
        DiskFull, StoreError: as they say.
    """
    _make_private(path)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    with _opening(connection, path):
        _check(connection, path)
        _configure_writer(connection, path)
        if not _create(connection):
            _require_world(connection, path, rehearsal)
            _copy_daily(connection, path)
        _settle_world(connection, rehearsal)
    return connection


@contextmanager
def _opening(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Close the connection where the block fails, with a typed error; its rows have names from then on."""
    try:
        yield
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error):
            raise translated(error, path) from error
        if isinstance(error, UnicodeDecodeError):  # of damaged bytes that SQLite's message quotes
            raise corrupt(path, "a text cannot be read", newest_backup(path.parent / "backups")) from error
        if isinstance(error, OSError):
            raise _unwritable(path, error) from error
        raise
    connection.row_factory = sqlite3.Row


@contextmanager
def immediately(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that holds the write lock from its beginning; rolled back where the block raises."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may have made SQLite roll back already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def open_reader(path: Path, *, rehearsal: bool | None = None) -> sqlite3.Connection:
    """Open the database for reading committed state; every write on this connection is refused.

    `rehearsal` is as of `open_writer`.

    Raises:
        NoDatabase: there is none yet.
        OtherSchema: another version of Navigator made it.
        OtherWorld: it holds a rehearsal and real work is meant, or the other way round.
        DatabaseCorrupt, DatabaseLocked, StoreError: as they say.
    """
    _refuse_vanished(path)
    if not path.exists() or not path.stat().st_size:
        raise NoDatabase(
            f"There is no database at {path} yet.", hint="`navigator project add PATH` creates one."
        )
    try:
        connection, present = _read_only(path, "mode=ro")
    except sqlite3.Error as error:
        # Reading a database with a log takes a small file beside it. On a full disk, or in a folder that can only be read, it
        # cannot be made; but where no log is left there is no writer either, and the file can be read as it is.
        said = translated(error, path)
        read_only = not os.access(path.parent, os.W_OK)
        log = path.with_name(f"{path.name}-wal")
        if not (read_only or isinstance(said, DiskFull)):
            raise said from error
        if log.exists() and log.stat().st_size:
            raise (_log_unreadable(path) if read_only else said) from error
        try:
            connection, present = _read_only(path, "mode=ro&immutable=1")
        except sqlite3.Error as again:
            raise translated(again, path) from again
    with _opening(connection, path):
        if present != SCHEMA_VERSION:
            raise _other_schema(path, present)
        _require_world(connection, path, rehearsal)
    return connection


def _log_unreadable(path: Path) -> StoreError:
    return StoreError(
        f"The state folder {path.parent} is read-only, and {path.name} has a log that is not yet played into it.",
        hint="Such a database can only be read where it can be written: make the folder writable, or copy it and point "
        "NAVIGATOR_STATE at the copy.",
    )


def _read_only(path: Path, how: str) -> tuple[sqlite3.Connection, int]:
    """A connection that cannot write, and the version of the schema it found."""
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?{how}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA mmap_size = 0")
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection, schema_version(connection)
    except BaseException:
        connection.close()
        raise


def schema_version(connection: sqlite3.Connection) -> int:
    """`PRAGMA user_version`; 0 for an empty database."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def quick_check(connection: sqlite3.Connection) -> str:
    """What `PRAGMA quick_check` says: "ok", or the first damage found."""
    try:
        return str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except UnicodeDecodeError:
        # SQLite's message quotes the damaged bytes, and sqlite3 raises this in place of the error itself.
        return "a name in the schema is not text"


def _refuse_vanished(path: Path) -> None:
    """Raise where there was a database before: SQLite would drop its log and silently start an empty one."""
    if path.exists() and path.stat().st_size:
        return
    log = path.with_name(f"{path.name}-wal")
    backup = newest_backup(path.parent / "backups")
    if backup is not None or (log.exists() and log.stat().st_size):
        raise corrupt(path, "it is empty or gone", backup)


def _make_private(path: Path) -> None:
    """Have the file exist with mode 0600; SQLite gives -wal and -shm the mode of the file itself."""
    _refuse_vanished(path)
    try:
        # One that is there is not opened: closing it would drop the locks that this process's other connections hold on it.
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        for name in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
            if name.exists():
                name.chmod(0o600)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(path)
    return StoreError(f"{path} cannot be opened: {error.strerror}.", hint="Check who owns the state folder.")


def _check(connection: sqlite3.Connection, path: Path) -> None:
    said = quick_check(connection)
    backup = newest_backup(path.parent / "backups")
    if said != "ok":
        raise corrupt(path, said, backup)
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and owner != APPLICATION_ID:
        raise corrupt(path, "it is a database, but not one of Navigator's", backup)
    if tables and (present := schema_version(connection)) != SCHEMA_VERSION:
        raise _other_schema(path, present)


SYNCHRONOUS = "FULL"
"""A commit that was answered survives a power cut, not only the death of the process."""


def _configure_writer(connection: sqlite3.Connection, path: Path) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StoreError(
            f"The file system of {path} does not take a write-ahead log (it offers {mode!r}).",
            hint="Put NAVIGATOR_STATE on a local disk.",
        )
    connection.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL_LIMIT}")


def _other_schema(path: Path, present: int) -> OtherSchema:
    return OtherSchema(
        f"{path} has schema {present}; this version of Navigator uses schema {SCHEMA_VERSION}.",
        hint="Use the version that made it, or set NAVIGATOR_STATE to another folder.",
    )


def _create(connection: sqlite3.Connection) -> bool:
    """Make the tables of an empty database, all or none; whether it was empty."""
    if schema_version(connection) == SCHEMA_VERSION:
        return False
    with immediately(connection):
        # Another writer may have made them since.
        if schema_version(connection) != SCHEMA_VERSION:
            for statement in (*schema(), *triggers().values()):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return True


def _copy_daily(connection: sqlite3.Connection, path: Path) -> None:
    folder = path.parent / "backups"
    if backup_due(folder) and not is_low(path.parent):
        back_up(connection, folder)


def _world(connection: sqlite3.Connection) -> bool | None:
    """Whether the database holds a rehearsal; None while it holds nothing, and no settings have said what it is for."""
    sql = "SELECT value = 'true', value IN ('true', 'false') FROM meta WHERE key = ?"
    row = connection.execute(sql, (WORLD,)).fetchone()
    if row is not None and not row[1]:
        error = sqlite3.DatabaseError(f"row {WORLD!r} of meta cannot be read")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error
    if row is not None:
        return bool(row[0])
    return False if connection.execute("SELECT EXISTS (SELECT 1 FROM projects)").fetchone()[0] else None


def _settle_world(connection: sqlite3.Connection, rehearsal: bool | None) -> None:
    """Write down for good what the database is for, once settings say it."""
    if rehearsal is not None and _world(connection) is None:
        connection.execute("INSERT INTO meta VALUES (?, ?)", (WORLD, "true" if rehearsal else "false"))


def _require_world(connection: sqlite3.Connection, path: Path, rehearsal: bool | None) -> None:
    held = _world(connection)
    if None in (rehearsal, held) or rehearsal == held:
        return
    if held:
        raise OtherWorld(
            f"{path.parent} holds a rehearsal, and these settings name real models.",
            hint="Set NAVIGATOR_STATE to another folder for real work, or NAVIGATOR_CONFIG to the rehearsal's settings.",
        )
    raise OtherWorld(
        f"{path.parent} holds real work, and these settings are a rehearsal's.",
        hint="Set NAVIGATOR_STATE to another folder for the rehearsal; `navigator demo` makes one of its own.",
    )


def translated(error: sqlite3.Error, database: Path) -> NavigatorError:
    """The typed error for what SQLite raised.

    Args:
        error: as caught; its primary result code decides.
        database: the file; its neighbours (lock, backups) are named in the message.
    """
    code = getattr(error, "sqlite_errorcode", 0) or 0
    if not code and isinstance(error, sqlite3.OperationalError):
        # Python's own, of a text that is no UTF-8: everything that SQLite refuses has a code.
        return corrupt(database, str(error), newest_backup(database.parent / "backups"))
    if code == sqlite3.SQLITE_CONSTRAINT_TRIGGER:
        return IllegalTransition(
            f"The database refused: {error}.", hint="Look at its present state and try again."
        )
    primary = code & 0xFF
    if primary in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and _is_full(database.parent):
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


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _LOG_BYTES
    except OSError:
        return False


# Copies of the database: made once a day, the newest few kept.

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


def back_up(connection: sqlite3.Connection, folder: Path) -> Path:
    """Copy the whole database, as last committed, into `folder` (0600) and drop all but the newest copies.

    Args:
        connection: any connection without an open transaction.
        folder: made 0700 if absent.

    Raises:
        sqlite3.Error: the copy failed; no half copy is left under a backup's name.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    final = folder / f"navigator-{stamp}-daily.db"
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


RESERVE_BYTES = 64 * 1024 * 1024
"""Below this much free space nothing new begins: enough for the log of a session and the objects of its proposals."""


def free_bytes(folder: Path) -> int:
    """What this user may still write on the disk that holds `folder`; 0 if unknown."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


def is_low(folder: Path) -> bool:
    """Whether free space is below the reserve: nothing new begins, reading still works."""
    return free_bytes(folder) < RESERVE_BYTES


def require_space(folder: Path) -> None:
    """Raise `DiskFull` where the reserve is touched."""
    free = free_bytes(folder)
    if free < RESERVE_BYTES:
        raise DiskFull(
            f"The disk of {folder} is full: {free // 1_048_576} MB are free, {RESERVE_BYTES // 1_048_576} MB are reserved.",
            hint="Free some space. Reading still works, and a running conductor resumes automatically.",
        )
