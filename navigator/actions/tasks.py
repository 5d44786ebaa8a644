"""The verbs on tasks: cancel, retry, put away, link, and accept or dismiss what a scan suggests."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from navigator.actions.base import (
    Done,
    Question,
    SubjectVerb,
    Told,
    Verb,
    done,
    plural,
    read_card,
    refusal_of,
)
from navigator.actions.deciding import wrong_state
from navigator.journey.change import cancel, put_away
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.models import Suggestion, Task
from navigator.model.states import (
    CANCELLABLE_TASK_STATES,
    RETRYABLE_TASK_STATES,
    ProposalState,
    SuggestionState,
    TaskKind,
    TaskState,
)
from navigator.sheet.variants import why_it_waits

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction


class TaskVerb(SubjectVerb):
    """A verb on some tasks by id, all or none."""

    words: ClassVar[str] = ""
    """What became of each, after its id."""

    ids: tuple[str, ...]

    async def perform(self, deps: Dependencies) -> Done:
        found = [deps.reader.task(identifier).id for identifier in dict.fromkeys(self.ids)]
        self.require(deps.reader)
        with deps.store.transaction() as tx:
            for identifier in found:
                self.move(tx, tx.read.task(identifier))
        tasks = [deps.reader.task(identifier) for identifier in found]
        return done((Told(task.id, self.said(task)) for task in tasks), tasks=tasks)

    def move(self, tx: Transaction, task: Task) -> None:
        """Take one task to its new state."""
        raise NotImplementedError

    def said(self, task: Task) -> str:
        """What became of one, after its id."""
        return self.words


# Cancel tasks that have not ended.


class Cancel(TaskVerb):
    """A stage that runs ends at once. The proposal is kept: a retry starts from the beginning."""

    op = "task.cancel"
    small = True
    words = "cancelled"

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        if on.state in CANCELLABLE_TASK_STATES:
            return None
        if on.state is TaskState.CANCELLED:
            return Conflict(f"{on.task} is already cancelled.")
        hint = f"Take the approval back first: `navigator undo {on.proposal}`." if on.approved else ""
        return wrong_state(on, f"{on.task} cannot be cancelled; it", hint)

    def question(self, reader: Reader) -> Question:
        found = [read_card(reader, identifier) for identifier in self.ids]
        lines = [f"{on.project}: {on.title}" for on in found]
        if any(on.open for on in found):
            lines.append("An open proposal is dropped; a retry writes it again.")
        return Question(f"Cancel {', '.join(on.task for on in found)}?", tuple(lines), "cancel the task")

    def move(self, tx: Transaction, task: Task) -> None:
        cancel(tx, task.id, "cancelled by the developer")


# Retry tasks that ended without landing: a new attempt.


class Retry(TaskVerb):
    """The last attempt's note opens the new one too."""

    op = "task.retry"
    words = "queued again"

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        if on.state in RETRYABLE_TASK_STATES:
            return None
        hint = ""
        if on.to_decide:
            hint = f"To have the proposal written again: `navigator send-back {on.proposal} --note …`."
        elif on.state is TaskState.LANDED:
            hint = f"Undo the landing first: `navigator undo {on.proposal}`."
        return wrong_state(on, f"{on.task} cannot be retried: it has not ended, or has landed. It", hint)

    def move(self, tx: Transaction, task: Task) -> None:
        if task.ref:
            from navigator.journey.existing import again

            again(tx, task)
        else:
            tx.new_attempt(task.id, note=task.note)


# Put away a report, a scan, an answer that no change is needed or the review of an existing change: the task is done.


class PutAway(TaskVerb):
    """What a scan still suggests is dismissed with it."""

    op = "task.done"
    words = "put away"

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        if on.state is TaskState.DONE:
            return Conflict(f"{on.task} is already put away.")
        if on.state is not TaskState.AWAITING_APPROVAL:
            return wrong_state(on, f"{on.task} cannot be put away; it")
        if on.to_decide:
            return Conflict(
                f"{on.task} has a proposal that is waiting for a decision.",
                hint=f"Approve, reject or send back {on.proposal} instead.",
            )
        return None

    def question(self, reader: Reader) -> Question | None:
        left = 0
        for identifier in self.ids:
            task = reader.task(identifier)
            left += sum(one.state == "open" for one in reader.suggestions(task.id, attempt=task.attempt))
        if not left:
            return None
        line = f"{plural(left, 'open suggestion')} will be dismissed."
        return Question(f"Put {', '.join(self.ids)} away?", (line,), "put away")

    def move(self, tx: Transaction, task: Task) -> None:
        tx.dismiss_suggestions(task.id, task.attempt)
        for read in tx.read.proposals({ProposalState.OPEN}, task_id=task.id):
            tx.set_proposal_state(
                read.id, ProposalState.DECIDED
            )  # an existing change: there is nothing else to decide
        put_away(tx, task, "read")


# Link queued tasks to others that come first, and free them again.


class After(TaskVerb):
    """`after` has to land, to be approved or to be done first, in place of what they came after; without any, they start at once.
    A circle is refused."""

    op = "task.after"
    small = True

    after: tuple[str, ...] = ()

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        if on.state is TaskState.QUEUED:
            return None
        return wrong_state(on, f"Only a queued task waits for others; {on.task}")

    def refuse(self, reader: Reader) -> NavigatorError | None:
        if (refusal := super().refuse(reader)) is not None or self.after:
            return refusal
        alone = next((task for task in map(reader.task, self.ids) if not task.after), None)
        return Conflict(f"{alone.id} comes after no other task.") if alone is not None else None

    def question(self, reader: Reader) -> Question | None:
        if self.after:
            return None
        found = [reader.task(identifier) for identifier in self.ids]
        lines = [
            why_it_waits(
                task.id, [(one.id, one.state) for one in reader.predecessors(task.id) if not one.met]
            )
            for task in found
        ]
        title = f"Start {', '.join(task.id for task in found)} without waiting?"
        return Question(title, tuple(filter(None, lines)), "start")

    def move(self, tx: Transaction, task: Task) -> None:
        tx.link_task(task.id, self.after)

    def said(self, task: Task) -> str:
        others = ", ".join(task.after)
        return f"starts after {others}" if others else "starts without waiting for other tasks"


# Accept or dismiss what a scan suggests; a scan of which nothing is open any more is done.


class Settle(Verb):
    """Queue a task for each, all or none, or put them away. One that was dismissed can be accepted later.

    Suggestions of the scan `task` by `ranks`, or all that are open (`everything`), to `accept` or to dismiss. `attempt` is the
    one that was on the screen: another attempt's ranks mean other suggestions.
    """

    op = "suggestions"

    task: str
    ranks: tuple[int, ...] = ()
    everything: bool = False
    attempt: int | None = None
    accept: bool = True

    def refuse(self, reader: Reader) -> NavigatorError | None:
        return refusal_of(lambda: self.chosen(reader))

    def question(self, reader: Reader) -> Question | None:
        if not (self.accept and self.everything):
            return None
        scan, found = self.chosen(reader)
        return Question(f"Queue {plural(len(found), 'task')} for {scan.project}?", (), "queue")

    async def perform(self, deps: Dependencies) -> Done:
        scan, found = self.chosen(deps.reader)
        made: list[Task] = []
        with deps.store.transaction() as tx:
            for one in found if self.accept else ():
                same = one.model_dump(include={"kind", "complexity", "files"})
                made.append(
                    tx.add_task(scan.project_id, one.text, priority=scan.priority, origin=scan.id, **same)
                )
                tx.accept_suggestion(one, made[-1].id)
            if not self.accept:
                tx.dismiss_suggestions(scan.id, scan.attempt, {one.rank for one in found})
            held = tx.read.suggestions(scan.id, attempt=scan.attempt)
            left = sum(one.state == SuggestionState.OPEN for one in held)
            if not left and scan.state is TaskState.AWAITING_APPROVAL:
                put_away(tx, scan, "every suggestion was accepted or dismissed")
        said = f"{plural(left, 'suggestion')} left" if left else "no suggestions left"
        told = [Told(one.id, f"queued: {one.text.partition(chr(10))[0]}") for one in made]
        return done(
            [*told, Told(scan.id, said)], scan=deps.reader.task(scan.id), suggestions=held, tasks=made
        )

    def chosen(self, reader: Reader) -> tuple[Task, list[Suggestion]]:
        """The scan and the suggestions that the arguments name.

        Raises:
            UsageError: no scan, no such suggestion, or none named.
            Conflict: the scan has another attempt by now, or one was accepted before.
        """
        scan = reader.task(self.task)
        if scan.kind is not TaskKind.SCAN:
            hint = "`navigator task list` shows every task's kind."
            raise UsageError(f"{scan.id} has no suggestions.", hint=hint)
        listing = f"`navigator task show {scan.id}` lists them."
        if self.attempt is not None and self.attempt != scan.attempt:
            raise Conflict(
                f"{scan.id} has a newer attempt.", hint=f"Look again: `navigator task show {scan.id}`."
            )
        found = reader.suggestions(scan.id, attempt=scan.attempt)
        if self.everything == bool(self.ranks):
            raise UsageError("Name suggestions by their numbers, or use --all.", hint=listing)
        if self.everything:
            return scan, [one for one in found if one.state == SuggestionState.OPEN]
        by_rank = {one.rank: one for one in found}
        for rank in self.ranks:
            if rank not in by_rank:
                raise UsageError(f"{scan.id} has no suggestion {rank}.", hint=listing)
            if by_rank[rank].state == SuggestionState.ACCEPTED:
                made = by_rank[rank].made_task
                raise Conflict(
                    f"Suggestion {rank} of {scan.id} was accepted already, as {made}.",
                    hint=f"`navigator task show {made}` shows it; `navigator task cancel {made}` cancels it.",
                )
        return scan, [by_rank[rank] for rank in dict.fromkeys(self.ranks)]
