"""What the verbs on tasks share: their ids, the tasks afterwards, and moving all of them or none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from navigator.cascade.verbs.base import SubjectVerb, Told
from navigator.model.models import Model, Task

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies
    from navigator.store.writes.writer import Transaction


class TasksArgs(Model):
    """Tasks by id."""

    ids: tuple[str, ...]


class Tasks(Model):
    """The tasks as they are now."""

    tasks: tuple[Task, ...] = ()


class TaskVerb(SubjectVerb[TasksArgs, Tasks]):
    """A verb that takes some tasks to another state, all or none."""

    args = TasksArgs
    result = Tasks
    words: ClassVar[str]
    """What became of each, after its id."""

    def ids(self, args: TasksArgs) -> Iterable[str]:
        return args.ids

    async def perform(self, deps: Dependencies, args: TasksArgs) -> Tasks:
        found = [deps.reader.task(identifier) for identifier in dict.fromkeys(args.ids)]
        self.require(deps.reader, args)
        with deps.store.transaction() as tx:
            for task in found:
                self.move(tx, task)
        return Tasks(tasks=tuple(deps.reader.task(task.id) for task in found))

    def move(self, tx: Transaction, task: Task) -> None:
        """Take one task to its new state."""
        raise NotImplementedError

    def tell(self, result: Tasks) -> list[Told]:
        return [Told(task.id, self.words) for task in result.tasks]
