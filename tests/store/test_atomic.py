"""State and event come together or not at all, and others see only what was committed."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from navigator.config.paths import StatePaths
from navigator.model.errors import Conflict, NotFound
from navigator.model.models import Event, Task
from navigator.model.states import TaskState
from navigator.store.database import back_up, open_reader, open_writer
from navigator.store.errors import DiskFull, StoreError
from navigator.store.reads.reader import Reader
from navigator.store.writes.writer import Store


class Fault(Exception):
    """Raised in the middle of a transaction."""


def test_a_fault_leaves_neither_the_state_nor_its_event(store: Store, task: Task) -> None:
    told: list[tuple[Event, ...]] = []
    store.on_commit = told.append
    before = store.read.last_seq()
    with pytest.raises(Fault), store.transaction() as tx:
        tx.set_task_state(task.id, TaskState.GENERATING)
        tx.add_task(task.project_id, "another")
        raise Fault
    assert store.read.task(task.id).state is TaskState.QUEUED
    assert len(store.read.tasks()) == 1
    assert store.read.last_seq() == before
    assert told == []


def test_a_fault_between_a_change_and_its_event(store: Store, task: Task) -> None:
    # As if the process had a defect exactly there: the events table refuses, so the change must not stand either.
    store._connection.execute(
        "CREATE TEMP TRIGGER fault BEFORE INSERT ON events WHEN NEW.kind = 'task_state'"
        " BEGIN SELECT RAISE(ABORT, 'fault'); END"
    )
    with pytest.raises(Exception, match="fault"), store.transaction() as tx:
        tx.set_task_state(task.id, TaskState.GENERATING)
    assert store.read.task(task.id).state is TaskState.QUEUED


def test_events_reach_the_listener_after_the_commit_in_order(
    store: Store, task: Task, paths: StatePaths
) -> None:
    other = Reader(open_reader(paths.database))
    seen: list[tuple[str, TaskState]] = []

    def listen(events: tuple[Event, ...]) -> None:
        seen.extend((event.kind, other.task(task.id).state) for event in events)

    store.on_commit = listen
    with store.transaction() as tx:
        tx.set_task_state(task.id, TaskState.GENERATING)
        tx.event("custom", task.id, data={"n": 1})
    assert seen == [("task_state", TaskState.GENERATING), ("custom", TaskState.GENERATING)]
    last = other.events()[-1]
    assert (last.kind, last.task_id, last.data) == ("custom", task.id, {"n": 1})
    assert [event.seq for event in other.events(after_seq=last.seq - 2)] == [last.seq - 1, last.seq]


def test_readers_see_committed_state_only_and_their_snapshot_does_not_move(
    store: Store, task: Task, paths: StatePaths
) -> None:
    other = Reader(open_reader(paths.database))
    with store.transaction() as tx:
        tx.set_task_state(task.id, TaskState.GENERATING)
        assert tx.read.task(task.id).state is TaskState.GENERATING
        assert other.task(task.id).state is TaskState.QUEUED
    with other.snapshot():
        assert other.task(task.id).state is TaskState.GENERATING
        with store.transaction() as tx:
            tx.set_task_state(task.id, TaskState.CHECKING)
        assert other.task(task.id).state is TaskState.GENERATING
    assert other.task(task.id).state is TaskState.CHECKING


def test_a_reader_cannot_write(store: Store, task: Task, paths: StatePaths) -> None:
    connection = open_reader(paths.database)
    before = paths.database.read_bytes()
    for statement in ("DELETE FROM tasks", "CREATE TABLE x (y)", "PRAGMA user_version = 9"):
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute(statement)
    # SQLite's word for a checkpoint through a handle that cannot write.
    with pytest.raises(sqlite3.OperationalError, match="disk I/O error"):
        connection.execute("PRAGMA wal_checkpoint")
    assert paths.database.read_bytes() == before
    assert store.read.tasks()


def test_transactions_do_not_nest(store: Store) -> None:
    with store.transaction(), pytest.raises(StoreError, match="open already"), store.transaction():
        pass
    with store.transaction() as tx:
        tx.set_meta("a", 1)
    assert store.read.meta("a", int) == 1


def test_threads_take_turns(store: Store, task: Task) -> None:
    def work() -> None:
        for _ in range(20):
            with store.transaction() as tx:
                tx.set_meta("n", (tx.read.meta("n", int) or 0) + 1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.read.meta("n", int) == 80


def test_a_full_disk_is_reported_and_what_was_committed_is_kept(store: Store, task: Task) -> None:
    connection = store._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(DiskFull, match="is full") as caught, store.transaction() as tx:
        tx.set_task_state(task.id, TaskState.GENERATING)
        tx.set_meta("big", "x" * 200_000)
    assert "navigator gc" in caught.value.hint
    assert store.read.task(task.id).state is TaskState.QUEUED
    connection.execute(f"PRAGMA max_page_count = {pages + 10_000}")
    with store.transaction() as tx:
        tx.set_task_state(task.id, TaskState.GENERATING)
    assert store.read.task(task.id).state is TaskState.GENERATING


def test_ids_that_name_nothing(store: Store, task: Task) -> None:
    for call in (
        lambda: store.read.task("T99"),
        lambda: store.read.proposal("P99"),
        lambda: store.read.project("none"),
        lambda: store.read.project(99),
        lambda: list(store.read.export_rows("sqlite_master")),
    ):
        with pytest.raises(NotFound):
            call()
    with pytest.raises(NotFound), store.transaction() as tx:
        tx.set_task_state("T99", TaskState.GENERATING)
    with pytest.raises(Conflict), store.transaction() as tx:
        tx._run(
            "INSERT INTO tasks (project_id, text, kind, complexity, state, created, updated, since)"
            " VALUES (1, 'x', 'poetry', 'simple', 'queued', '', '', '')"
        )


def test_every_file_is_the_owners_alone(store: Store, task: Task, paths: StatePaths) -> None:
    files = [path for path in paths.root.iterdir() if path.is_file()]
    assert {path.name for path in files} == {"navigator.db", "navigator.db-wal", "navigator.db-shm"}
    copy = back_up(store._connection, paths.backups)
    for path in (*files, copy):
        assert path.stat().st_mode & 0o777 == 0o600, path
    assert Path(copy).parent == paths.backups
    paths.database.chmod(0o644)  # it is closed to others again
    open_writer(paths.database).close()
    assert paths.database.stat().st_mode & 0o777 == 0o600
