"""A session on damaged rows: it works on, or ends with the row and the backup named; never with a traceback."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from navigator.store.database import back_up
from tests.cli.test_damaged_columns import COLUMNS, TEXT, add_row, damage
from tests.journey.support import Desk, make_repository

CERTAIN = [
    ("meta", "value", "bad JSON"),
    ("tasks", "text", "invalid UTF-8"),
    ("projects", "check_mounts", "bad JSON"),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A task that was written and reviewed, one that is queued, and a row in every other table."""
    folder = tmp_path_factory.mktemp("sound")
    desk = Desk.make(folder)
    files = {"app.py": b"def load(path, found=[]):\n    return found\n"}
    desk.run("project", "add", str(make_repository(folder / "code", files)), "--check", "true")
    desk.run("task", "add", "code", "Remove mutable default arguments from app.py")
    desk.run("run", "--until", "idle")
    desk.run("task", "add", "code", "Remove mutable default arguments from app.py again")
    with closing(sqlite3.connect(desk.paths.database, isolation_level=None)) as held:
        for (name,) in held.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            held.execute(f"DROP TRIGGER {name}")  # the next writer makes them again
        for table in {table: 0 for table, _ in COLUMNS}:
            if not held.execute(f"SELECT count(*) FROM {table}").fetchone()[0]:
                add_row(held, table)
        back_up(held, desk.paths.backups, label="daily")
        held.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        held.execute("PRAGMA journal_mode = DELETE")
    return desk


@pytest.mark.slow
@pytest.mark.parametrize(("table", "column", "kind"), CERTAIN, ids=map("-".join, CERTAIN))
def test_a_session_on_a_damaged_row(table: str, column: str, kind: str, sound: Desk, tmp_path: Path) -> None:
    desk = Desk(tmp_path / "state", sound.config)
    shutil.copytree(sound.root, desk.root, ignore=lambda _, names: [n for n in names if n.endswith("sock")])
    assert damage(desk.paths.database, table, column, kind, TEXT[kind])
    said = desk.run("run", "--until", "idle", codes=(0, 1)).stderr.decode()
    assert "Traceback" not in said
    assert not desk.paths.log.exists() or "Traceback" not in desk.paths.log.read_text()
    assert "is damaged" in said and str(desk.paths.backups) in said, said
