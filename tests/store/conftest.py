"""A store on a real file, with its lock left to the tests that are about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from navigator.config.paths import StatePaths
from navigator.model.models import Task
from navigator.store.database import open_writer
from navigator.store.lock import StateLock
from navigator.store.writes.writer import Store


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    return StatePaths(tmp_path / "state").ensure()


@pytest.fixture
def store(paths: StatePaths) -> Iterator[Store]:
    made = Store(open_writer(paths.database))
    yield made
    made.close()


@pytest.fixture
def task(store: Store) -> Task:
    """The one that `proposed()` answers."""
    with store.transaction() as tx:
        project = tx.add_project(name="thing", path="/src/thing", root_commit="r0")
        return tx.add_task(project.id, "Fix the rounding")


@contextmanager
def held(paths: StatePaths) -> Iterator[StateLock]:
    """The state folder's lock, held for a block."""
    lock = StateLock(paths)
    assert lock.acquire()
    try:
        yield lock
    finally:
        lock.release()
