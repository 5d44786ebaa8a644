"""Opening: a database of another version is refused, and so is all else that endangers what is stored."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from navigator.config.paths import StatePaths
from navigator.model.models import Task
from navigator.store import database
from navigator.store.database import (
    KEEP,
    back_up,
    newest_backup,
    open_reader,
    open_writer,
    quick_check,
    schema_version,
)
from navigator.store.errors import (
    DatabaseCorrupt,
    DatabaseLocked,
    NoDatabase,
    OtherSchema,
    StoreError,
)
from navigator.store.reads.reader import Reader
from navigator.store.schema import APPLICATION_ID, SCHEMA_VERSION, schema, triggers
from navigator.store.writes.writer import Store
from tests.environment import DURABLE
from tests.store.conftest import held

ROOT = Path(__file__).resolve().parents[2]


def fill(paths: StatePaths) -> Task:
    with closing(open_writer(paths.database)) as connection:
        store = Store(connection)
        with store.transaction() as tx:
            return tx.add_task(tx.add_project(name="p", path="/p").id, "do it")


def test_tables_are_made_once_and_a_copy_a_day(paths: StatePaths) -> None:
    task = fill(paths)
    assert not paths.backups.exists() or not list(paths.backups.iterdir()), "nothing to copy at first"
    for _ in range(2):
        with closing(open_writer(paths.database)) as connection:
            assert schema_version(connection) == SCHEMA_VERSION
            assert Reader(connection).task(task.id) == task
            assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1
    (made,) = paths.backups.iterdir()
    assert made.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(made)) as copy:
        assert (schema_version(copy), quick_check(copy)) == (SCHEMA_VERSION, "ok")
        assert copy.execute("SELECT text FROM tasks").fetchone()[0] == task.text


def test_tables_that_cannot_all_be_made_leave_none(
    paths: StatePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("navigator.store.database.schema", lambda: (*schema(), "CREATE TABLE tasks (x)"))
        with pytest.raises(StoreError, match="already exists"):
            open_writer(paths.database)
    assert fill(paths).id == "T1"


def test_a_changed_schema_has_a_new_version() -> None:
    """A database of the version before would open, and then lack a table: change the number with the digest."""
    made = "\n".join([*schema(), *triggers().values()])
    assert (SCHEMA_VERSION, hashlib.sha256(made.encode()).hexdigest()[:16]) == (24, "9bab3417808c7366")


@pytest.mark.parametrize("version", [0, SCHEMA_VERSION + 1, SCHEMA_VERSION + 5])
def test_another_schema_is_refused_by_both(paths: StatePaths, version: int) -> None:
    fill(paths)
    with closing(open_writer(paths.database)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = paths.database.read_bytes()
    for open_it in (open_writer, open_reader):
        with pytest.raises(OtherSchema, match=f"{paths.database} has schema {version};") as caught:
            open_it(paths.database)
        assert "Use the version that made it, or set NAVIGATOR_STATE" in caught.value.hint
    assert paths.database.read_bytes() == before


def test_nothing_there_yet_and_damage_without_a_copy(paths: StatePaths) -> None:
    with pytest.raises(NoDatabase):
        open_reader(paths.database)
    assert not paths.database.exists()
    paths.database.write_bytes(b"x" * 9000)
    with pytest.raises(DatabaseCorrupt, match="no backup"):
        open_writer(paths.database)


@pytest.mark.parametrize("damage", ["garbage", "page", "empty", "gone", "foreign"])
def test_a_damaged_database_is_never_recreated(paths: StatePaths, damage: str) -> None:
    fill(paths)
    with closing(open_writer(paths.database)) as connection:
        copy = back_up(connection, paths.backups)
    if damage == "garbage":
        paths.database.write_bytes(b"not a database at all" * 500)
    elif damage == "page":
        content = bytearray(paths.database.read_bytes())
        content[4096 * 2 : 4096 * 6] = b"\xff" * 4096 * 4
        paths.database.write_bytes(content)
    elif damage == "empty":
        paths.database.write_bytes(b"")
    elif damage == "gone":
        paths.database.unlink()
    else:
        paths.database.unlink()
        with closing(sqlite3.connect(paths.database)) as other:
            other.execute("CREATE TABLE recipes (name)")
    before = paths.database.read_bytes() if paths.database.exists() else None
    with pytest.raises(DatabaseCorrupt) as caught:
        open_writer(paths.database)
    assert str(copy) in caught.value.hint
    assert (paths.database.read_bytes() if paths.database.exists() else None) == before
    # What the message says to do works.
    for name in ("navigator.db", "navigator.db-wal", "navigator.db-shm"):
        assert name in caught.value.hint
        (paths.root / name).unlink(missing_ok=True)
    paths.database.write_bytes(copy.read_bytes())
    with closing(open_writer(paths.database)) as connection:
        assert len(Reader(connection).tasks()) == 1


def test_a_log_whose_database_is_gone_is_not_thrown_away(paths: StatePaths) -> None:
    connection = open_writer(paths.database)
    log = paths.root / "navigator.db-wal"
    kept = log.read_bytes()
    connection.close()
    assert kept
    paths.database.unlink()
    log.write_bytes(kept)
    for open_it in (open_writer, open_reader):
        with pytest.raises(DatabaseCorrupt, match="empty or gone"):
            open_it(paths.database)
    assert log.read_bytes() == kept


def test_a_writer_that_does_not_wait_its_turn_is_told_who_holds_it(
    paths: StatePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("navigator.store.database.BUSY_SECONDS", 0.05)
    fill(paths)
    with held(paths) as lock:
        with closing(open_writer(paths.database)) as first, closing(open_writer(paths.database)) as second:
            first.execute("BEGIN IMMEDIATE")
            with (
                pytest.raises(DatabaseLocked, match="is in use by process") as caught,
                Store(second).transaction(),
            ):
                pass
            first.execute("ROLLBACK")
        holder = lock.holder()
        assert f"process {holder['pid']}" in caught.value.message


def test_only_the_newest_copies_are_kept(paths: StatePaths) -> None:
    fill(paths)
    with closing(open_writer(paths.database)) as connection:
        made = [back_up(connection, paths.backups) for _ in range(KEEP + 3)]
    assert sorted(paths.backups.iterdir()) == made[3:]
    assert newest_backup(paths.backups) == made[-1]


def test_a_copy_that_cannot_be_made_leaves_nothing(paths: StatePaths) -> None:
    fill(paths)
    with closing(open_writer(paths.database)) as connection:
        for old in paths.backups.iterdir():
            old.unlink()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM events")
        with closing(sqlite3.connect(paths.database)) as closed:
            pass
        with pytest.raises(sqlite3.Error):
            back_up(closed, paths.backups)
        connection.execute("ROLLBACK")
    assert list(paths.backups.iterdir()) == []


def test_the_writer_is_set_up_for_power_cuts_and_the_reader_for_peace(
    paths: StatePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SYNCHRONOUS", DURABLE)
    with closing(open_writer(paths.database)) as writer, closing(open_reader(paths.database)) as reader:
        settings = {
            name: writer.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "application_id")
        }
        assert settings == {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "application_id": APPLICATION_ID,
        }
        assert reader.execute("PRAGMA query_only").fetchone()[0] == 1
        assert reader.execute("PRAGMA wal_autocheckpoint").fetchone()[0] == 0


def test_only_the_standard_library_pydantic_and_the_domain_are_imported() -> None:
    program = (
        "import sys; before = {*sys.modules}\n"
        "import navigator.store.writes.writer, navigator.store.database, navigator.store.lock\n"
        "print(*sorted({name.partition('.')[0] for name in {*sys.modules} - before} - set(sys.stdlib_module_names)))\n"
        "print(*sorted(name for name in sys.modules if name.count('.') == 1 and name.startswith('navigator.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    outside, rooms = done.stdout.splitlines()
    allowed = {
        "navigator",
        "pydantic",
        "pydantic_core",
        "annotated_types",
        "typing_extensions",
        "typing_inspection",
    }
    assert {name for name in outside.split() if not name.startswith("_")} <= allowed
    assert rooms.split() == ["navigator.model", "navigator.store"]
