"""Opening: migrations with a copy first, and every refusal that protects what is stored."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from navigator.config.paths import StatePaths
from navigator.domain.models import Task
from navigator.domain.states import TASK_TRANSITIONS, TaskState
from navigator.store import schema
from navigator.store.backups import KEEP, back_up, newest_backup
from navigator.store.database import open_reader, open_writer, quick_check, schema_version
from navigator.store.errors import (
    DatabaseCorrupt,
    DatabaseLocked,
    NoDatabase,
    SchemaOutdated,
    SchemaTooNew,
    StoreError,
)
from navigator.store.lock import held
from navigator.store.reads.reader import Reader
from navigator.store.schema import MIGRATIONS
from navigator.store.writes.writer import Store

ROOT = Path(__file__).resolve().parents[2]

NEXT = (
    "ALTER TABLE tasks ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'",
    "UPDATE tasks SET colour = 'green' WHERE state = 'queued'",
)

SCHEMAS = [
    "62f7a9b50f9c957e",
    "914237c4b9ee278b",
    "2e2b70343f467df7",
    "46c3dbae3f7cf509",
    "0dd6a58dcfa75a02",
    "074bf36d9a9bf530",
]


def fill(paths: StatePaths) -> Task:
    with closing(open_writer(paths.database)) as connection:
        store = Store(connection)
        with store.transaction() as tx:
            return tx.add_task(tx.add_project(name="p", path="/p").id, "do it")


def test_a_migration_never_changes() -> None:
    """Databases with it exist. A new word of an enum, a new column: write the next migration, leave this one."""
    digests = [hashlib.sha256("\n".join(entry).encode()).hexdigest()[:16] for entry in MIGRATIONS]
    assert digests == SCHEMAS


def test_a_database_of_the_first_version_is_led_to_this_one(paths: StatePaths) -> None:
    """With what stood in it, and after a copy."""
    with closing(open_writer(paths.database, migrations=MIGRATIONS[:1])) as connection:
        connection.execute("INSERT INTO projects (name, path) VALUES ('p', '/p')")
        connection.execute(
            "INSERT INTO tasks (project_id, text, kind, complexity, state, created, updated, since)"
            " VALUES (1, 'do it', 'fix', 'simple', 'queued', 'now', 'now', 'now')"
        )
        connection.execute(
            "INSERT INTO proposals (task_id, attempt, round, state, base_commit, tree, written_by, created)"
            " VALUES (1, 0, 0, 'open', 'b', 't', 'generator', 'now')"
        )
    with closing(open_writer(paths.database)) as connection:
        found = Reader(connection).proposal("P1")
        assert (found.parent, found.hunks, found.own_review) == ("", (), None)
        assert Reader(connection).task("T1").origin == ""
    assert len(list(paths.backups.iterdir())) == 1


def test_a_migration_runs_once_after_a_copy(paths: StatePaths) -> None:
    task = fill(paths)
    with closing(open_writer(paths.database, migrations=(*MIGRATIONS, NEXT))) as connection:
        assert schema_version(connection) == len(MIGRATIONS) + 1
        assert connection.execute("SELECT colour FROM tasks").fetchone()[0] == "green"
        assert Reader(connection).task(task.id) == task
        assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1
    copies = list(paths.backups.iterdir())
    assert len(copies) == 1
    assert copies[0].stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(copies[0])) as copy:
        assert schema_version(copy) == len(MIGRATIONS)
        assert quick_check(copy) == "ok"
        assert copy.execute("SELECT text FROM tasks").fetchone()[0] == task.text
    with closing(open_writer(paths.database, migrations=(*MIGRATIONS, NEXT))):
        assert len(list(paths.backups.iterdir())) == 1


@pytest.mark.parametrize(
    "broken",
    [
        (*NEXT, "CREATE TABLE tasks (x)"),
        (*NEXT, "DELETE FROM projects"),
    ],
)
def test_a_migration_that_fails_changes_nothing(paths: StatePaths, broken: tuple[str, ...]) -> None:
    task = fill(paths)
    with pytest.raises(StoreError):
        open_writer(paths.database, migrations=(*MIGRATIONS, broken))
    with closing(open_writer(paths.database)) as connection:
        assert schema_version(connection) == len(MIGRATIONS)
        assert Reader(connection).task(task.id) == task
    assert newest_backup(paths.backups) is not None


def test_a_newer_schema_is_refused_by_both(paths: StatePaths) -> None:
    fill(paths)
    with closing(open_writer(paths.database, migrations=(*MIGRATIONS, NEXT))):
        pass
    before = paths.database.read_bytes()
    for open_it in (open_writer, open_reader):
        with pytest.raises(SchemaTooNew, match=f"has schema {len(MIGRATIONS) + 1}") as caught:
            open_it(paths.database)
        assert "Update Navigator" in caught.value.hint
    assert paths.database.read_bytes() == before


def test_a_reader_does_not_migrate(paths: StatePaths) -> None:
    fill(paths)
    with pytest.raises(SchemaOutdated, match="this Navigator reads"):
        open_reader(paths.database, version=len(MIGRATIONS) + 1)


def test_triggers_of_an_earlier_table_are_renewed(paths: StatePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = {**TASK_TRANSITIONS, TaskState.QUEUED: frozenset({TaskState.CANCELLED})}
    with monkeypatch.context() as patch:
        patch.setattr(schema, "TASK_TRANSITIONS", narrow)
        task = fill(paths)
        with closing(open_writer(paths.database)) as connection, pytest.raises(sqlite3.IntegrityError):
            connection.execute("UPDATE tasks SET state = 'generating'")
    with closing(open_writer(paths.database)) as connection:
        connection.execute("UPDATE tasks SET state = 'generating'")
        assert Reader(connection).task(task.id).state is TaskState.GENERATING


def test_nothing_there_yet(paths: StatePaths) -> None:
    with pytest.raises(NoDatabase):
        open_reader(paths.database)
    assert not paths.database.exists()


@pytest.mark.parametrize("damage", ["garbage", "page", "empty", "gone", "foreign"])
def test_a_damaged_database_is_never_recreated(paths: StatePaths, damage: str) -> None:
    fill(paths)
    with closing(open_writer(paths.database)) as connection:
        copy = back_up(connection, paths.backups, label="v1")
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


def test_damage_without_a_copy_says_so(paths: StatePaths) -> None:
    paths.database.write_bytes(b"x" * 9000)
    with pytest.raises(DatabaseCorrupt, match="no backup"):
        open_writer(paths.database)


def test_a_writer_that_does_not_wait_its_turn_is_told_who_holds_it(
    paths: StatePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("navigator.store.database.BUSY_SECONDS", 0.05)
    fill(paths)
    with held(paths, command="navigator run") as lock:
        with closing(open_writer(paths.database)) as first, closing(open_writer(paths.database)) as second:
            first.execute("BEGIN IMMEDIATE")
            with pytest.raises(DatabaseLocked, match=r"navigator run") as caught, Store(second).transaction():
                pass
            first.execute("ROLLBACK")
        holder = lock.holder()
        assert holder is not None
        assert f"process {holder['pid']}" in caught.value.message


def test_only_the_newest_copies_are_kept(paths: StatePaths) -> None:
    fill(paths)
    with closing(open_writer(paths.database)) as connection:
        made = [back_up(connection, paths.backups, label="v1") for _ in range(KEEP + 3)]
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
            back_up(closed, paths.backups, label="v1")
        connection.execute("ROLLBACK")
    assert list(paths.backups.iterdir()) == []


def test_the_writer_is_set_up_for_power_cuts_and_the_reader_for_peace(paths: StatePaths) -> None:
    with closing(open_writer(paths.database)) as writer, closing(open_reader(paths.database)) as reader:
        settings = {
            name: writer.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "application_id")
        }
        assert settings == {
            "journal_mode": "wal",
            "synchronous": 2,
            "foreign_keys": 1,
            "application_id": schema.APPLICATION_ID,
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
    assert rooms.split() == ["navigator.domain", "navigator.store"]
