"""`kill -9` while writers look: what was answered is not asked again, every task ends as if nothing had happened, and no
process, clone or temporary folder is left.

A few moments run by default; `NAVIGATOR_KILLS=50` kills as often as that.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from navigator.model.states import TaskState
from tests.journey.killed_at import KILLED_AT
from tests.journey.scripted_models import Messages, Models, speaking
from tests.journey.support import PATIENCE, Desk, make_repository
from tests.journey.test_looking import look, turns

KILLS = int(os.environ.get("NAVIGATOR_KILLS", "2"))
LOOKING = "navigator.journey.looking"
MOMENTS = (
    ("event", "looked", 1),
    ("event", "call_ended=generator", 1),
    ("before", f"{LOOKING}:records", 1),
    ("event", "call_started=generator", 2),
    ("event", "call_ended=generator", 2),
    ("soon", "20", 6),
)
LOOKS = 3
"""Turns of looking in each task."""


SCRATCH = ("blobs-", "tree-", "new-", "own-", "snapshot-", "check-", "merge-", "checkout-")
"""Beginnings of the names of folders that last as long as one step."""


def processes_of(folder: Path) -> list[str]:
    """What still runs with this folder in its arguments or its environment, some time after its parent died."""
    deadline = time.monotonic() + 20.0
    while (found := _running(str(folder).encode())) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def _running(folder: bytes) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes()
            if folder in words or folder in (entry / "environ").read_bytes():
                found.append(words.replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue  # it ended meanwhile, or is another user's
    return found


def test_killed_while_looking_nothing_is_asked_twice_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    # The processes that parse and search are given no other part of the environment: it is how they are recognised.
    monkeypatch.setenv("TMPDIR", str(temporary))
    files = {
        f"part{n}.py": f"RATE = {n}\n\n\ndef cost(x):\n    return RATE * x\n".encode() for n in range(40)
    }
    files |= {f"other{n}.py": b"RATE = 1\n" * 700 for n in range(8)}

    def write(messages: Messages) -> str:
        number = int(messages[1]["content"].rpartition("task number ")[2].split()[0])
        seen = turns(messages)
        if seen < LOOKS:
            return look(f"search RATE part{number}.py", f"read other{seen}.py:1-9", f"definition cost{seen}")
        return f"part{number}.py\n<<<<<<< SEARCH\nRATE = {number}\n=======\nRATE = {number + 100}\n>>>>>>> REPLACE\n"

    with speaking(Models(write)) as models:
        desk = Desk.make(tmp_path, models.settings)
        repository = make_repository(tmp_path / "code", files)
        desk.run("project", "add", str(repository), "--name", "code")
        count = max(2, KILLS // 4)
        for number in range(count):
            desk.run("task", "add", "code", f"Change the thing, task number {number} of many")
        chance, killed, strays = random.Random(7), 0, 0
        while killed < KILLS:
            moment, what, nth = MOMENTS[killed] if killed < len(MOMENTS) else chance.choice(MOMENTS)
            child = desk.python(KILLED_AT, moment, what, str(nth), "run", "--until", "idle", "--json")
            out, err = child.communicate(timeout=PATIENCE)
            if child.returncode == 0:
                desk.run("task", "add", "code", f"Change the thing, task number {count} of many")
                count += 1
                continue
            assert child.returncode == -signal.SIGKILL, f"{out.decode()[-2000:]}\n{err.decode()[-2000:]}"
            killed += 1
            strays += bool(processes_of(tmp_path))
        desk.json("run", "--until", "idle")
        left = processes_of(tmp_path)
        with desk.reading() as store:
            tasks = store.tasks()
            calls = [call for call in store.calls() if call.role == "generator"]
            looks = {task.id: store.looks(task.id) for task in tasks}
            ways = [proposal.way for proposal in store.proposals()]
    assert {task.state for task in tasks} == {TaskState.AWAITING_APPROVAL}
    for task in tasks:
        mine = Counter(call.outcome for call in calls if call.task_id == task.id)
        assert (mine["looked"], mine["ok"]) == (LOOKS, 1), f"{task.id}: {mine}"
        assert mine.keys() <= {"looked", "ok", "lost"}
        assert [one.turn for one in looks[task.id]] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert (strays, left) == (0, [])
    assert list(temporary.iterdir()) == []
    assert [path for path in desk.root.rglob("*") if path.name.startswith(SCRATCH)] == []
    assert [path.suffix for path in desk.paths.private.iterdir() if path.is_dir()] == [".git"]
    assert not (repository / ".git" / "worktrees").exists()
    assert ways == ["looking"] * count
    # The server was asked once for every answer that is stored, and once for each call that a kill cut off.
    assert len(models.written) <= len(calls)
