"""Link queued tasks to others that come first, and free them again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from navigator.cascade.verbs.base import Question, Subject, SubjectVerb, Told
from navigator.cascade.verbs.deciding import state_words
from navigator.cascade.verbs.task_verbs import Tasks, TasksArgs, TaskVerb
from navigator.cascade.views.links import why_it_waits
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Model, Task
from navigator.model.states import TaskState

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction


def not_queued(on: Subject, what: str) -> NavigatorError | None:
    """Why a task's links do not matter any more; None while they do."""
    if on.state is TaskState.QUEUED:
        return None
    return Conflict(
        f"{on.task} cannot be {what}; it is {state_words(on)}.",
        hint=f"Only a queued task waits for others. `navigator task show {on.task}` shows its history.",
    )


class LinkArgs(Model):
    """Tasks, and those that have to land, to be approved or to be done first."""

    ids: tuple[str, ...]
    after: tuple[str, ...]


class Link(SubjectVerb[LinkArgs, Tasks]):
    """In place of what they came after. A circle is refused."""

    name = "task.link"
    small = True
    args = LinkArgs
    result = Tasks

    def ids(self, args: LinkArgs) -> Iterable[str]:
        return args.ids

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        return not_queued(on, "linked")

    async def perform(self, deps: Dependencies, args: LinkArgs) -> Tasks:
        self.require(deps.reader, args)
        with deps.store.transaction() as tx:
            ids = [tx.read.task(identifier).id for identifier in dict.fromkeys(args.ids)]
            return Tasks(tasks=tuple(tx.link_task(identifier, args.after) for identifier in ids))

    def tell(self, result: Tasks) -> list[Told]:
        return [Told(task.id, f"starts after {', '.join(task.after)}") for task in result.tasks]


class Free(TaskVerb):
    """They start without the tasks that they came after."""

    name = "task.free"
    small = True
    words = "starts without waiting for other tasks"

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        return not_queued(on, "freed")

    def refuse(self, reader: Reader, args: TasksArgs) -> NavigatorError | None:
        if (refusal := super().refuse(reader, args)) is not None:
            return refusal
        for identifier in args.ids:
            task = reader.task(identifier)
            if not task.after:
                return Conflict(f"{task.id} comes after no other task.")
        return None

    def question(self, reader: Reader, args: TasksArgs) -> Question:
        found = [reader.task(identifier) for identifier in args.ids]
        lines = [
            why_it_waits(
                task.id, [(one.id, one.state) for one in reader.predecessors(task.id) if not one.met]
            )
            for task in found
        ]
        title = f"Start {', '.join(task.id for task in found)} without waiting?"
        return Question(title, tuple(filter(None, lines)), "start")

    def move(self, tx: Transaction, task: Task) -> None:
        tx.link_task(task.id, ())
