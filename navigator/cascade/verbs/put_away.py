"""Put away a report, a scan, an answer that no change is needed or the review of an existing change: the task is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.cascade.verbs.base import Question, Subject, plural
from navigator.cascade.verbs.deciding import state_words
from navigator.cascade.verbs.task_verbs import TasksArgs, TaskVerb
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Task
from navigator.model.states import ProposalState, TaskState

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction


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
        tx.set_task_state(task.id, TaskState.DONE, reason="read")
