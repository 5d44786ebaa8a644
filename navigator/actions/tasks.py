"""What the verbs on tasks share: their ids, the tasks afterwards, and moving all of them or none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from navigator.actions.base import Question, Subject, SubjectVerb, Told, plural
from navigator.actions.deciding import state_words
from navigator.journey.change import cancel, put_away
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Model, Task
from navigator.model.states import CANCELLABLE_TASK_STATES, RETRYABLE_TASK_STATES, ProposalState, TaskState
from navigator.sheet.variants import why_it_waits

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader
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


# Cancel tasks that have not ended.


class Cancel(TaskVerb):
    """A stage that runs ends at once. The proposal is kept: a retry starts from the beginning."""

    name = "task.cancel"
    small = True
    words = "cancelled"

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        if on.state in CANCELLABLE_TASK_STATES:
            return None
        if on.state is TaskState.CANCELLED:
            return Conflict(f"{on.task} is already cancelled.")
        hint = f"`navigator task show {on.task}` shows its history."
        if on.approved:
            hint = f"Take the approval back first: `navigator undo {on.proposal}`."
        return Conflict(f"{on.task} cannot be cancelled; it is {state_words(on)}.", hint=hint)

    def question(self, reader: Reader, args: TasksArgs) -> Question:
        found = [Subject.read(reader, identifier) for identifier in args.ids]
        lines = [f"{on.project}: {on.title}" for on in found]
        if any(on.proposal for on in found):
            lines.append("An open proposal is dropped; a retry writes it again.")
        return Question(f"Cancel {', '.join(on.task for on in found)}?", tuple(lines), "cancel the task")

    def move(self, tx: Transaction, task: Task) -> None:
        cancel(tx, task.id, "cancelled by the developer")


# Retry tasks that ended without landing: a new attempt.


class Retry(TaskVerb):
    """The last attempt's note opens the new one too."""

    name = "task.retry"
    words = "queued again"

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        if on.state in RETRYABLE_TASK_STATES:
            return None
        hint = f"`navigator task show {on.task}` shows its history."
        if on.waiting:
            hint = f"To have the proposal written again: `navigator send-back {on.proposal} --note …`."
        elif on.state is TaskState.LANDED:
            hint = f"Undo the landing first: `navigator undo {on.proposal or 'P…'}`."
        return Conflict(
            f"{on.task} cannot be retried; it is {state_words(on)}. Only a task that ended without landing can.",
            hint=hint,
        )

    def move(self, tx: Transaction, task: Task) -> None:
        if task.ref:
            from navigator.journey.existing import again

            again(tx, task)
        else:
            tx.new_attempt(task.id, note=task.note)


# Put away a report, a scan, an answer that no change is needed or the review of an existing change: the task is done.


class PutAway(TaskVerb):
    """What a scan still suggests is dismissed with it."""

    name = "task.done"
    words = "put away"

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        if on.state is TaskState.DONE:
            return Conflict(f"{on.task} is already put away.")
        if on.state is not TaskState.AWAITING_APPROVAL:
            return Conflict(
                f"{on.task} cannot be put away; it is {state_words(on)}.",
                hint=f"`navigator task show {on.task}` shows its history.",
            )
        if on.waiting:
            return Conflict(
                f"{on.task} has a proposal that is waiting for a decision.",
                hint=f"Approve, reject or send back {on.proposal} instead.",
            )
        return None

    def question(self, reader: Reader, args: TasksArgs) -> Question | None:
        left = 0
        for identifier in args.ids:
            task = reader.task(identifier)
            left += sum(one.state == "open" for one in reader.suggestions(task.id, attempt=task.attempt))
        if not left:
            return None
        line = f"{plural(left, 'open suggestion')} will be dismissed."
        return Question(f"Put {', '.join(args.ids)} away?", (line,), "put away")

    def move(self, tx: Transaction, task: Task) -> None:
        tx.dismiss_suggestions(task.id, task.attempt)
        for read in tx.read.proposals({ProposalState.OPEN}, task_id=task.id):
            tx.set_proposal_state(
                read.id, ProposalState.DECIDED
            )  # an existing change: there is nothing else to decide
        put_away(tx, task, "read")


# Link queued tasks to others that come first, and free them again.


class AfterArgs(TasksArgs):
    """Tasks, and those that have to land, to be approved or to be done first; without any, they start at once."""

    after: tuple[str, ...] = ()


class After(SubjectVerb[AfterArgs, Tasks]):
    """In place of what they came after. A circle is refused."""

    name = "task.after"
    small = True
    args = AfterArgs
    result = Tasks

    def ids(self, args: AfterArgs) -> Iterable[str]:
        return args.ids

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        if on.state is TaskState.QUEUED:
            return None
        return Conflict(
            f"{on.task} cannot be linked or freed; it is {state_words(on)}.",
            hint=f"Only a queued task waits for others. `navigator task show {on.task}` shows its history.",
        )

    def refuse(self, reader: Reader, args: AfterArgs) -> NavigatorError | None:
        if (refusal := super().refuse(reader, args)) is not None or args.after:
            return refusal
        alone = next((task for task in map(reader.task, args.ids) if not task.after), None)
        return Conflict(f"{alone.id} comes after no other task.") if alone is not None else None

    def question(self, reader: Reader, args: AfterArgs) -> Question | None:
        if args.after:
            return None
        found = [reader.task(identifier) for identifier in args.ids]
        lines = [
            why_it_waits(
                task.id, [(one.id, one.state) for one in reader.predecessors(task.id) if not one.met]
            )
            for task in found
        ]
        title = f"Start {', '.join(task.id for task in found)} without waiting?"
        return Question(title, tuple(filter(None, lines)), "start")

    async def perform(self, deps: Dependencies, args: AfterArgs) -> Tasks:
        self.require(deps.reader, args)
        with deps.store.transaction() as tx:
            ids = [tx.read.task(identifier).id for identifier in dict.fromkeys(args.ids)]
            return Tasks(tasks=tuple(tx.link_task(identifier, args.after) for identifier in ids))

    def tell(self, result: Tasks) -> list[Told]:
        return [
            Told(
                task.id,
                f"starts after {', '.join(task.after)}"
                if task.after
                else "starts without waiting for other tasks",
            )
            for task in result.tasks
        ]
