"""A process that writes without end and says on stdout what was committed; a test kills it."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from navigator.config.paths import StatePaths
from navigator.model.states import Role, TaskState
from navigator.store.database import open_writer
from navigator.store.lock import StateLock
from navigator.store.writes.writer import Store


def main(root: str) -> None:
    paths = StatePaths(Path(root)).ensure()
    if not StateLock(paths).acquire():
        sys.exit("the lock is held")
    store = Store(open_writer(paths.database))
    if not store.read.projects():
        with store.transaction() as tx:
            tx.add_project(name="p", path="/p")
    project = store.read.projects()[0]
    for number in itertools.count():
        with store.transaction() as tx:
            task = tx.add_task(project.id, f"task {number} " + "x" * (number % 7 * 500))
            tx.set_task_state(task.id, TaskState.GENERATING)
            tx.begin_call(Role.GENERATOR, task.id, 0, 0, "generate")
        sys.stdout.write(f"{task.id}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
