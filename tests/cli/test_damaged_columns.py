"""Every column of every table with eight damages: each command that reads it ends with an exit code and a sentence."""

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
from navigator.store.database import back_up
from navigator.store.schema import schema
from tests.tui.world import NOW, fill, stamp

WHOLE = float(os.environ.get("NAVIGATOR_FUZZ_SECONDS", "20")) > 60
SAMPLE = 12
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
