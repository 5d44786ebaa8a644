"""A damaged database: every command says so and names the newest backup, whatever page the damage is on."""

from __future__ import annotations

import random
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from navigator.cli.main import main
from navigator.config.paths import StatePaths
from navigator.model.states import TaskState
from navigator.store.database import back_up, open_writer
from navigator.store.writes.writer import Store

COMMANDS = (
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
def sound(tmp_path_factory: pytest.TempPathFactory) -> StatePaths:
    paths = StatePaths(tmp_path_factory.mktemp("sound") / "state").ensure()
    with closing(open_writer(paths.database)) as connection:
        store = Store(connection)
        with store.transaction() as tx:
            project = tx.add_project(name="thing", path="/nowhere/thing")
            for number in range(120):
                task = tx.add_task(project.id, f"Task {number}: {'words ' * 40}")
                if number % 3 == 0:
                    tx.set_task_state(task.id, TaskState.CANCELLED, reason="changed my mind")
        back_up(connection, paths.backups)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return paths


@pytest.mark.parametrize("seed", range(DAMAGES))
def test_no_damage_ends_in_a_traceback(
    seed: int,
    sound: StatePaths,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    state = tmp_path / "state"
    shutil.copytree(sound.root, state)
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
    for words in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            main(words)
        said = capsys.readouterr().err
        if ended.value.code and "damaged" in said:
            assert str(state / "backups") in said, words
        else:
            # Not on a page that this command reads, or a row that now says something else.
            assert not ended.value.code or "navigator: " in said, (words, said)
