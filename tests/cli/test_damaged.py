"""Damaged rows and pages: each command, and a session, ends with an exit code, a sentence and the newest backup."""

from __future__ import annotations

import io
import os
import random
import re
import shutil
import sqlite3
import traceback
from collections.abc import Sequence
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from navigator.cli.main import main
from navigator.config.paths import StatePaths
from navigator.model.states import TaskState
from navigator.store.database import back_up, open_writer
from navigator.store.schema import schema
from navigator.store.writes.writer import Store
from tests.journey.support import Desk, make_repository
from tests.tui.world import NOW, fill, stamp

WHOLE = float(os.environ.get("NAVIGATOR_FUZZ_SECONDS", "20")) > 60
SAMPLE = 6
"""Columns that are damaged by default, always the same ones."""

STATISTICS = ("summary", "reviewer", "outcomes", "cost", "writing")
COMMANDS = (
    ["status"],
    ["project", "list"],
    ["project", "show", "atlas-web"],
    ["task", "list"],
    ["task", "show", "T3"],
    ["context", "T3"],
    ["proposals", "--all"],
    ["proposals", "--json"],
    ["diff", "P3"],
    ["exam", "show"],
    ["swap", "log"],
    ["forecast"],
    *(["stats", name] for name in STATISTICS),
    ["report", "--overwrite", "OUT.html"],
    ["export", "OUT"],
)
_TIMES = {"at", "closed", "created", "ended", "made", "opened", "since", "started", "updated"}
TEXT = {
    "wrong type": 7,
    "null": None,
    "empty": "",
    "huge": "x" * 100_000,
    "bad JSON": "{",
    "negative": "-1",
    "invalid UTF-8": b"\xff\x80\xfe",
    "unknown word": "no-such-word",
}
NUMBER = TEXT | {"wrong type": "x", "huge": 1 << 62, "negative": -1, "empty": 0}


def columns() -> dict[tuple[str, str], str]:
    """The type of each column of each table."""
    with closing(sqlite3.connect(":memory:")) as made:
        for statement in schema():
            made.execute(statement)
        return {
            (table, row[1]): row[2]
            for (table,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for row in made.execute(f"PRAGMA table_info({table})")
            if not table.startswith("sqlite_")
        }


COLUMNS = columns()
TRIED = list(COLUMNS) if WHOLE else random.Random(2).sample(list(COLUMNS), SAMPLE)


WORDS = {
    ("journal", "plan"): "{}",
    ("baselines", "outcome"): "passed",
    ("looks", "outcome"): "shown",
    ("looks", "role"): "generator",
}
"""Free text of which the code knows some words."""


def add_row(held: sqlite3.Connection, table: str) -> None:
    """A row with what its columns need, of project, task, proposal and call 3."""
    (sql,) = held.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    values: dict[str, Any] = {}
    for _, name, type_, required, default, key in held.execute(f"PRAGMA table_info({table})"):
        words = re.search(rf"CHECK \({name} IN \('(\w+)'", sql)
        if name in _TIMES:
            values[name] = stamp(NOW)
        elif key or (required and default is None):
            values[name] = (
                3 if type_ in ("INTEGER", "REAL") else words[1] if words else WORDS.get((table, name), "x")
            )
    marks = ", ".join("?" * len(values))
    names = ", ".join(f"[{name}]" for name in values)
    held.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(values.values()))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> StatePaths:
    """A state with rows in every table and a backup, and without triggers, which would refuse the damage."""
    paths = StatePaths(tmp_path_factory.mktemp("sound") / "state").ensure()
    fill(paths)
    with closing(sqlite3.connect(paths.database, isolation_level=None)) as held:
        for (name,) in held.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            held.execute(f"DROP TRIGGER {name}")
        held.execute("DELETE FROM events WHERE seq < (SELECT max(seq) - 40 FROM events)")
        for table in {table: 0 for table, _ in COLUMNS}:
            if not held.execute(f"SELECT count(*) FROM {table}").fetchone()[0]:
                add_row(held, table)
        back_up(held, paths.backups, label="daily")
        held.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        held.execute("PRAGMA journal_mode = DELETE")
        held.execute("VACUUM")
    return paths


def said(words: Sequence[str], state: Path, out: Path) -> str:
    """What a command in this process ends with: its error, a traceback, or "" where it ends well."""
    shutil.rmtree(out, ignore_errors=True)
    errors = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()), redirect_stderr(errors):
        patch.setenv("NAVIGATOR_STATE", str(state))
        patch.delenv("NAVIGATOR_CONFIG", raising=False)
        try:
            main([word.replace("OUT", str(out)) for word in words])
        except SystemExit as ended:
            return (
                errors.getvalue().rstrip().rpartition("\n")[2] if ended.code else ""
            )  # warnings stand before it
        except Exception:  # noqa: BLE001 - that is what must not be
            return traceback.format_exc(limit=-2)
    raise AssertionError("a command ends with an exit code")


@pytest.fixture(scope="module")
def readers(sound: StatePaths, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Sequence[str]]]:
    """The commands that read each column, as SQLite itself tells."""
    found: dict[str, list[Sequence[str]]] = {}
    connect = sqlite3.connect
    read: set[str] = set()

    def noted(action: int, table: str | None, column: str | None, *_: Any) -> int:
        if action == sqlite3.SQLITE_READ:
            read.add(f"{table}.{column}")
        return sqlite3.SQLITE_OK

    def watched(*given: Any, **more: Any) -> sqlite3.Connection:
        made = connect(*given, **more)
        made.set_authorizer(noted)
        return made

    for words in COMMANDS:
        read.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sqlite3, "connect", watched)
            error = said(words, sound.root, tmp_path_factory.mktemp("out") / "OUT")
        assert not error or "/home/dev/src" in error, error  # projects of the sample have no folder
        for name in read:
            found.setdefault(name, []).append(words)
    return found


def damage(database: Path, table: str, column: str, kind: str, value: Any) -> bool:
    """Write it into every row, or into one where rows have to differ; whether a row took it."""
    mark = "CAST(? AS TEXT)" if kind == "invalid UTF-8" else "?"
    with closing(sqlite3.connect(database, isolation_level=None)) as held:
        held.execute("PRAGMA synchronous = OFF")
        held.execute("PRAGMA writable_schema = ON")
        (sql,) = held.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        loose = sql.replace("STRICT, ", "").replace("STRICT", "").replace("NOT NULL", "")
        held.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (loose, table))
        (version,) = held.execute("PRAGMA schema_version").fetchone()
        held.execute(f"PRAGMA schema_version = {version + 1}")
    with closing(sqlite3.connect(database, isolation_level=None)) as held:
        held.execute("PRAGMA synchronous = OFF")
        held.execute("PRAGMA ignore_check_constraints = ON")
        key = next(name for of, name in COLUMNS if of == table)
        made = 0
        for where in ("", f" WHERE [{key}] = (SELECT max([{key}]) FROM {table})"):
            try:
                made = held.execute(f"UPDATE {table} SET [{column}] = {mark}{where}", (value,)).rowcount
                break
            except sqlite3.IntegrityError:
                continue  # a rowid takes whole numbers, a key without a rowid no NULL, and both each value once
        held.execute("PRAGMA writable_schema = ON")
        held.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, table))
    return bool(made)


def test_every_column_is_read_by_a_command(readers: dict[str, list[Sequence[str]]]) -> None:
    unread = sorted(name for name in map(".".join, COLUMNS) if name not in readers)
    assert unread == []


@pytest.mark.parametrize(("table", "column"), TRIED, ids=map(".".join, TRIED))
def test_no_damage_of_a_column_ends_in_a_traceback(
    table: str, column: str, sound: StatePaths, readers: dict[str, list[Sequence[str]]], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    shutil.copytree(sound.root, state)
    broken = []
    for kind, value in (TEXT if COLUMNS[table, column] == "TEXT" else NUMBER).items():
        shutil.copyfile(sound.database, state / "navigator.db")
        if not damage(state / "navigator.db", table, column, kind, value):
            continue
        for words in readers.get(f"{table}.{column}", []):
            error = said(words, state, tmp_path / "OUT")
            offered = "damaged" not in error or str(state / "backups") in error
            if error and not (error.startswith("navigator: ") and offered):
                broken.append((kind, words, error))
    assert not broken, "\n".join(map(str, broken))


READING = (
    ["status"],
    ["project", "list"],
    ["task", "list"],
    ["task", "show", "T7"],
    ["proposals", "--all"],
    ["stats", "reviewer"],
    ["stats", "outcomes"],
    ["task", "cancel", "T3"],
)
DAMAGES = 8


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> StatePaths:
    paths = StatePaths(tmp_path_factory.mktemp("sound") / "state").ensure()
    with closing(open_writer(paths.database)) as connection:
        store = Store(connection)
        with store.transaction() as tx:
            project = tx.add_project(name="thing", path="/nowhere/thing")
            for number in range(120):
                task = tx.add_task(project.id, f"Task {number}: {'words ' * 40}")
                if number % 3 == 0:
                    tx.set_task_state(task.id, TaskState.CANCELLED, reason="changed my mind")
        back_up(connection, paths.backups, label="daily")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return paths


@pytest.mark.parametrize("seed", range(DAMAGES))
def test_no_damaged_page_ends_in_a_traceback(
    seed: int,
    pages: StatePaths,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    state = tmp_path / "state"
    shutil.copytree(pages.root, state)
    chance = random.Random(seed)
    database = state / "navigator.db"
    content = bytearray(database.read_bytes())
    if seed % 4 == 0:
        content = content[: chance.randrange(600, len(content))]
    else:
        for _ in range(1 + seed % 6):
            start = chance.randrange(100, len(content) - 600)
            length = chance.choice((4, 40, 500))
            content[start : start + length] = chance.choice(
                (bytes(length), b"\xff" * length, chance.randbytes(length))
            )
    database.write_bytes(content)
    monkeypatch.setenv("NAVIGATOR_STATE", str(state))
    monkeypatch.delenv("NAVIGATOR_CONFIG", raising=False)
    for words in READING:
        with pytest.raises(SystemExit) as ended:
            main(words)
        said = capsys.readouterr().err
        if ended.value.code and "damaged" in said:
            assert str(state / "backups") in said, words
        else:
            # Not on a page that this command reads, or a row that now says something else.
            assert not ended.value.code or "navigator: " in said, (words, said)


CERTAIN = [
    ("meta", "value", "bad JSON"),
    ("tasks", "text", "invalid UTF-8"),
    ("projects", "check_mounts", "bad JSON"),
]


@pytest.fixture(scope="module")
def desk_of(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A task that was written and reviewed, one that is queued, and a row in every other table."""
    folder = tmp_path_factory.mktemp("desk_of")
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
def test_a_session_on_a_damaged_row(
    table: str, column: str, kind: str, desk_of: Desk, tmp_path: Path
) -> None:
    desk = Desk(tmp_path / "state", desk_of.config)
    shutil.copytree(desk_of.root, desk.root, ignore=lambda _, names: [n for n in names if n.endswith("sock")])
    assert damage(desk.paths.database, table, column, kind, TEXT[kind])
    said = desk.run("run", "--until", "idle", codes=(0, 1)).stderr.decode()
    assert "Traceback" not in said
    assert not desk.paths.log.exists() or "Traceback" not in desk.paths.log.read_text()
    assert "is damaged" in said and str(desk.paths.backups) in said, said
