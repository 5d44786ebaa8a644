"""The verbs on tasks: cancel, retry, put away, link, accept or dismiss what a scan suggests; and queue new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from navigator.actions.base import (
    Done,
    Question,
    SubjectVerb,
    Told,
    Verb,
    done,
    refusal_of,
)
from navigator.actions.deciding import wrong_state
from navigator.journey.moves import cancel, put_away
from navigator.journey.variants import variations
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.json_text import MOST_FILES, MOST_VARIANTS
from navigator.model.models import Model, Suggestion, Task, Variation
from navigator.model.states import (
    CANCELLABLE_TASK_STATES,
    REPORT_KINDS,
    RETRYABLE_TASK_STATES,
    Complexity,
    ProposalState,
    SuggestionState,
    TaskKind,
    TaskState,
)
from navigator.model.text import plural
from navigator.sheet.marks import read_card
from navigator.sheet.variants import variant_words

if TYPE_CHECKING:
    from navigator.config.settings import Settings
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
    works_on_full_disk = True
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
        return wrong_state(on, f"{on.task} cannot be retried; it", hint)

    def move(self, tx: Transaction, task: Task) -> None:
        if task.ref:
            from navigator.journey.existing import review_again

            review_again(tx, task)
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
        left = sum(read_card(reader, identifier).suggestions for identifier in dict.fromkeys(self.ids))
        if not left:
            return None
        line = f"{plural(left, 'open suggestion')} will be dismissed."
        return Question(f"Put {', '.join(self.ids)} away?", (line,), "put away")

    def move(self, tx: Transaction, task: Task) -> None:
        tx.dismiss_suggestions(task.id, task.attempt)
        for proposal in tx.read.proposals({ProposalState.OPEN}, task_id=task.id):
            tx.set_proposal_state(
                proposal.id, ProposalState.DECIDED
            )  # an existing change: there is nothing else to decide
        put_away(tx, task, "read")


# Link queued tasks to others that come first, and free them again.


class After(TaskVerb):
    """Make tasks wait until all of `after` have landed, been approved or been done. It replaces what they waited for; with none
    they start at once. A circle is refused."""

    op = "task.after"
    works_on_full_disk = True

    after: tuple[str, ...] = ()

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        if on.state is TaskState.QUEUED:
            return None
        return wrong_state(on, f"Only a queued task waits for others; {on.task}")

    def move(self, tx: Transaction, task: Task) -> None:
        tx.link_task(task.id, self.after)

    def said(self, task: Task) -> str:
        others = ", ".join(task.after)
        return f"starts after {others}" if others else "starts without waiting for other tasks"


# Accept or dismiss what a scan suggests; a scan of which nothing is open any more is done.


class Settle(Verb):
    """Accept suggestions of a scan (each becomes a task, all or none), or dismiss them. A dismissed one can be accepted later.

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
                fields = one.model_dump(include={"kind", "complexity", "files"})
                made.append(
                    tx.add_task(scan.project_id, one.text, priority=scan.priority, origin=scan.id, **fields)
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


# Queue tasks, all or none.

TEXT_LIMIT = 20_000
"""Characters in a task's text at most; more belongs in a file of the repository."""


MOST_TASKS = 1_000
"""Tasks in one request."""


class NewTask(Model):
    """A task as a client asks for it.

    `after` are tasks that have to land, to be approved or to be done first: ids, or the `name`s of tasks in the same request.
    `variants`: how many versions are written, at different temperatures; one of them is approved.
    """

    project: str
    text: str
    kind: TaskKind = TaskKind.IMPLEMENT
    complexity: Complexity = Complexity.MEDIUM
    priority: int = 0
    files: tuple[str, ...] = Field(default=(), max_length=MOST_FILES)
    name: str = Field(default="", max_length=200)
    after: tuple[str, ...] = Field(default=(), max_length=MOST_FILES)
    variants: int = Field(default=1, ge=1, le=MOST_VARIANTS)

    @model_validator(mode="after")
    def _changes(self) -> Self:
        if self.variants > 1 and self.kind in REPORT_KINDS:
            raise ValueError(f"has variants, and a {self.kind.value} ends without a change to choose")
        return self

    @field_validator("text")
    @classmethod
    def _some_text(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is empty")
        if len(value) > TEXT_LIMIT:
            raise ValueError(f"has more than {TEXT_LIMIT} characters")
        return value.strip()

    @field_validator("files")
    @classmethod
    def _relative(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for path in value:
            if not path or path.startswith("/") or ".." in path.split("/"):
                raise ValueError(f"has {path!r}, which is not a path from the project's root")
        return value


class AddTasks(Verb):
    """Queue them in their order, in one transaction: a task that cannot be queued queues none."""

    op = "task.add"
    bad_arguments_hint = f"A task has {', '.join(NewTask.model_fields)}. Nothing was queued."

    tasks: tuple[NewTask, ...] = Field(max_length=MOST_TASKS)

    async def perform(self, deps: Dependencies) -> Done:
        projects = {task.project: deps.reader.project(task.project) for task in self.tasks}
        added: list[list[str]] = []
        with deps.store.transaction() as tx:
            for task in self.tasks:
                ways = _ways(deps.settings, task)
                fields = task.model_dump(include={"kind", "complexity", "priority", "files"})
                ids = [tx.add_task(projects[task.project].id, task.text, **fields).id for _ in ways]
                if len(ids) > 1:
                    tx.make_variants(ids, ways)
                added.append(ids)
            _link(tx, self.tasks, added)
            made = [tx.read.task(identifier) for ids in added for identifier in ids]
        return done((Told(task.id, _queued(task)) for task in made), tasks=made)


def _queued(task: Task) -> str:
    """`queued for web as implement, after T3`."""
    variant, after = variant_words(task), ", ".join(task.after)
    said = f"queued for {task.project} as {task.kind.value}{f', {variant}' if variant else ''}"
    return f"{said}, after {after}" if after else said


def _ways(settings: Settings, task: NewTask) -> list[Variation]:
    """How each variant of a task is written."""
    if task.variants == 1:
        return [Variation()]
    writer = settings.routing.writer(task.kind, task.complexity)
    return variations(task.variants, settings.server(writer).temperature)


def _link(tx: Transaction, wanted: Sequence[NewTask], added: Sequence[Sequence[str]]) -> None:
    """Have each task, all its variants, start after those that it names; of variants that are named, the first one stands
    for all until one is approved."""
    named: dict[str, list[str]] = {}
    for task, ids in zip(wanted, added, strict=True):
        if task.name:
            named.setdefault(task.name, []).append(ids[0])
    for task, ids in zip(wanted, added, strict=True):
        after = [identifier for name in task.after for identifier in named.get(name, [name])]
        for identifier in ids if after else ():
            tx.link_task(identifier, after)
