"""Columns of small tables with eight damages each: each command that reads them ends with an exit code and a sentence."""

from __future__ import annotations

import shutil
import sqlite3
import traceback
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from navigator.cli.main import main
from navigator.config.paths import StatePaths
from navigator.store.schema import SCHEMA
from tests.tui.world import fill

STATISTICS = ("summary", "reviewer", "outcomes", "cost", "writing")
COMMANDS = (
    ["status"],
    ["project", "list"],
    ["task", "list"],
    ["task", "show", "T3"],
    ["proposals", "--all"],
    ["exam", "show"],
    *(["stats", name] for name in STATISTICS),
)
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


def tables() -> dict[str, list[tuple[str, str]]]:
    with closing(sqlite3.connect(":memory:")) as made:
        for statement in SCHEMA:
            made.execute(statement)
        names = [name for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: [(row[1], row[2]) for row in made.execute(f"PRAGMA table_info({name})")]
            for name in names
            if not name.startswith("sqlite_")
        }


TABLES = tables()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> StatePaths:
    """A state with rows in many tables, and without triggers, which would refuse the damage."""
    paths = StatePaths(tmp_path_factory.mktemp("sound") / "state").ensure()
    fill(paths)
    with closing(sqlite3.connect(paths.database, isolation_level=None)) as held:
        held.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for (name,) in held.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            held.execute(f"DROP TRIGGER {name}")
    return paths


def damage(database: Path, table: str, column: str, kind: str, value: Any) -> bool:
    """Write it into every row, or into one where rows have to differ; whether there was a row."""
    with closing(sqlite3.connect(database, isolation_level=None)) as held:
        held.execute("PRAGMA ignore_check_constraints = ON")
        held.execute("PRAGMA foreign_keys = OFF")
        (sql,) = held.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        loose = sql.replace("STRICT", "").replace("NOT NULL", "")
        held.execute("PRAGMA writable_schema = ON")
        held.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (loose, table))
        (version,) = held.execute("PRAGMA schema_version").fetchone()
        held.execute(f"PRAGMA schema_version = {version + 1}")
    mark = "CAST(? AS TEXT)" if kind == "invalid UTF-8" else "?"
    with closing(sqlite3.connect(database, isolation_level=None)) as held:
        held.execute("PRAGMA ignore_check_constraints = ON")
        try:
            made = held.execute(f"UPDATE {table} SET [{column}] = {mark}", (value,)).rowcount
        except sqlite3.IntegrityError:
            one = f"(SELECT max(rowid) FROM {table})"
            try:
                made = held.execute(
                    f"UPDATE {table} SET [{column}] = {mark} WHERE rowid = {one}", (value,)
                ).rowcount
            except sqlite3.IntegrityError:
                made = 0  # a rowid takes nothing but whole numbers
        held.execute("PRAGMA writable_schema = ON")
        held.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql, table))
    return bool(made)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_commands_read_what_is_sound(
    words: list[str], sound: StatePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAVIGATOR_STATE", str(sound.root))
    monkeypatch.delenv("NAVIGATOR_CONFIG", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert not ended.value.code


@pytest.mark.parametrize("table", ["drafts", "meta"])
def test_no_damage_of_a_column_ends_in_a_traceback(
    table: str,
    sound: StatePaths,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    state = tmp_path / "state"
    shutil.copytree(sound.root, state)
    monkeypatch.setenv("NAVIGATOR_STATE", str(state))
    monkeypatch.delenv("NAVIGATOR_CONFIG", raising=False)
    broken = []
    for column, type_ in TABLES[table]:
        for kind, value in (TEXT if type_ == "TEXT" else NUMBER).items():
            shutil.copyfile(sound.database, state / "navigator.db")
            if not damage(state / "navigator.db", table, column, kind, value):
                continue
            for words in COMMANDS:
                try:
                    main(list(words))
                except SystemExit as ended:
                    said = capsys.readouterr().err
                    if ended.code and not said.startswith("navigator: "):
                        broken.append((column, kind, words, said))
                except Exception:  # noqa: BLE001 - that is what must not be
                    broken.append((column, kind, words, traceback.format_exc(limit=-2)))
    assert not broken, "\n".join(map(str, broken))
