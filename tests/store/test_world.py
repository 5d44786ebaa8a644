"""A state folder is real or a rehearsal from its first moment, and nothing of the other kind ever gets into it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from navigator.actions.projects import AddProject
from navigator.config.paths import CONFIG_VARIABLE, StatePaths
from navigator.config.settings import Settings
from navigator.engine.acting import act, reading
from navigator.engine.alone import locked_dependencies
from navigator.model.errors import Conflict
from navigator.store.database import open_reader, open_writer
from navigator.store.errors import OtherWorld
from navigator.store.reads.reader import Reader
from navigator.store.schema import WORLD
from tests.journey.support import git, make_repository

REAL = '[swap]\nstrategy = "resident"\n'
REHEARSAL = '[swap]\nstrategy = "rehearsal"\n'
SIMULATED_MODEL = REAL + '[reviewer]\nmodel = "rehearsal/big"\n'


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv(CONFIG_VARIABLE, str(path))
    return path


def test_the_settings_say_which_world_they_are_for() -> None:
    def rehearsal(**sections: dict[str, str]) -> bool | None:
        return Settings.model_validate(sections).rehearsal

    assert rehearsal() is None
    assert rehearsal(swap={"strategy": "systemd"}) is False
    assert rehearsal(swap={"strategy": "rehearsal"}) is True
    assert rehearsal(swap={"strategy": "systemd"}, final={"model": "rehearsal/big"}) is True


@pytest.mark.parametrize(
    ("made", "opened", "advice"),
    [
        (REAL, REHEARSAL, "Set NAVIGATOR_STATE to another folder for the rehearsal"),
        (REAL, SIMULATED_MODEL, "Set NAVIGATOR_STATE to another folder for the rehearsal"),
        (REHEARSAL, REAL, "Set NAVIGATOR_STATE to another folder for real work"),
    ],
)
def test_a_folder_refuses_settings_of_the_other_world(
    paths: StatePaths, config: Path, made: str, opened: str, advice: str
) -> None:
    config.write_text(made)
    with reading(paths) as store:
        assert store.rehearsal is (made == REHEARSAL)
    config.write_text(opened)
    before = paths.database.read_bytes()
    with pytest.raises(OtherWorld, match=advice), reading(paths):
        pass
    with pytest.raises(OtherWorld, match=advice), locked_dependencies(paths):
        pass
    assert paths.database.read_bytes() == before
    # Settings that name no strategy belong to neither: the folder can be looked at.
    config.write_text("")
    with reading(paths) as store:
        assert store.rehearsal is (made == REHEARSAL)


@pytest.mark.parametrize("settings", [REAL, REHEARSAL])
def test_a_folder_that_was_only_looked_at_belongs_to_the_first_settings_that_name_a_strategy(
    paths: StatePaths, config: Path, settings: str
) -> None:
    """The first screen offers the rehearsal before there are settings."""
    config.write_text("")
    with reading(paths) as store:
        assert not store.rehearsal
    config.write_text(settings)
    with locked_dependencies(paths) as deps:
        assert deps.reader.rehearsal is (settings == REHEARSAL)
    config.write_text(REAL if settings == REHEARSAL else REHEARSAL)
    with pytest.raises(OtherWorld), reading(paths):
        pass


def test_a_folder_with_a_project_is_real_where_no_settings_said_so(
    paths: StatePaths, config: Path, tmp_path: Path
) -> None:
    config.write_text("")
    act(paths, AddProject(path=str(make_repository(tmp_path / "code", {"a.py": b"a = 1\n"}))))
    config.write_text(REHEARSAL)
    with pytest.raises(OtherWorld, match="holds real work"), reading(paths):
        pass


@pytest.mark.parametrize("rehearsal", [True, False])
def test_nothing_changes_the_world_of_a_database(paths: StatePaths, rehearsal: bool) -> None:
    with closing(open_writer(paths.database, rehearsal=rehearsal)) as connection:
        for statement in ("UPDATE meta SET value = 'x' WHERE key = ?", "DELETE FROM meta WHERE key = ?"):
            with pytest.raises(sqlite3.IntegrityError, match="for good"):
                connection.execute(statement, (WORLD,))
    with closing(open_writer(paths.database)) as connection:
        assert Reader(connection).rehearsal is rehearsal
    with closing(open_reader(paths.database, rehearsal=rehearsal)) as connection:
        assert Reader(connection).rehearsal is rehearsal


def test_a_rehearsal_takes_sample_repositories_only(paths: StatePaths, config: Path, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "code", {"a.py": b"a = 1\n"})
    git(repository, "config", "--unset", "navigator.sample")
    config.write_text(REHEARSAL)
    with pytest.raises(Conflict, match="sample repositories only"):
        act(paths, AddProject(path=str(repository)))
    config.write_text(f'{REHEARSAL}[[project]]\npath = "{repository}"\n')
    problems: list[str] = []
    with locked_dependencies(paths, on_problem=problems.append) as deps:
        assert deps.reader.projects() == []
    assert len(problems) == 1 and "sample repositories only" in problems[0]
    git(repository, "config", "navigator.sample", "true")
    with locked_dependencies(paths) as deps:
        (held,) = deps.reader.projects()
        assert os.path.realpath(held.path) == os.path.realpath(repository)


def test_a_reader_keeps_its_locks_while_a_writer_opens_and_closes(paths: StatePaths) -> None:
    open_writer(paths.database).close()
    with closing(open_reader(paths.database)) as reader:
        reader.execute("SELECT count(*) FROM events").fetchone()
        open_writer(paths.database).close()
        # Leaving the log takes the whole file, and nobody else may have it open.
        leave = f"import sqlite3; sqlite3.connect({str(paths.database)!r}, timeout=0).execute('PRAGMA journal_mode = DELETE')"
        ended = subprocess.run([sys.executable, "-c", leave], capture_output=True, text=True, check=False)
    assert "database is locked" in ended.stderr
