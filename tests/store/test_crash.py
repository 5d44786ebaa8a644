"""kill -9 in the middle of writing loses nothing that was answered, and leaves nothing half done."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from navigator.config.paths import StatePaths
from navigator.model.states import Role, TaskState
from navigator.store.database import open_reader, open_writer, quick_check
from navigator.store.lock import StateLock
from navigator.store.reads.reader import Reader
from navigator.store.writes.writer import Store

ROUNDS = 3
ROOT = Path(__file__).resolve().parents[2]


def start(paths: StatePaths) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.store.writing_child", str(paths.root)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_killed_again_and_again_nothing_answered_is_lost(paths: StatePaths) -> None:
    dice = random.Random(20)
    acknowledged: set[str] = set()
    for _ in range(ROUNDS):
        child = start(paths)
        assert child.stdout is not None
        # The first line says that it writes; then it is killed at some moment of some later transaction.
        acknowledged.add(child.stdout.readline().strip())
        time.sleep(dice.uniform(0.0, 0.05))
        child.kill()
        acknowledged.update(line.strip() for line in child.stdout if line.endswith("\n"))
        child.wait()
    assert len(acknowledged) > ROUNDS
    # A reader opens what the killed writer left.
    assert paths.database.with_name("navigator.db-wal").stat().st_size > 0
    assert {task.id for task in Reader(open_reader(paths.database)).tasks()} >= acknowledged

    lock = StateLock(paths)
    assert lock.holder() is None
    assert lock.acquire()
    connection = open_writer(paths.database)
    assert quick_check(connection) == "ok"
    # Making a store is what a restarted conductor does: calls in flight are lost from then on.
    store = Store(connection)
    tasks = {task.id: task for task in store.read.tasks()}
    assert acknowledged <= tasks.keys()
    # Each transaction is there whole: the task, its state, its events and its call, or none of them.
    events = store.read.events(limit=1_000_000)
    for kind in ("task_added", "task_state", "call_started"):
        assert [event.task_id for event in events if event.kind == kind] == list(tasks)
    assert {task.state for task in tasks.values()} == {TaskState.GENERATING}
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    counts = store.read.call_counts()
    assert counts == {"made": len(tasks), "repeated": 0, "lost": len(tasks), "running": 0}
    with store.transaction() as tx:
        tx.begin_call(Role.GENERATOR, "T1", 0, 0, "generate")
    assert store.read.call_counts()["repeated"] == 1
    store.close()
