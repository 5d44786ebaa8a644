"""Accept or dismiss what a scan suggests; a scan of which nothing is open any more is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from navigator.actions.base import Question, Told, Verb, plural, refusal_of
from navigator.journey.change import put_away
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.models import Model, Suggestion, Task
from navigator.model.states import SuggestionState, TaskKind, TaskState

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction


class SuggestionArgs(Model):
    """Suggestions of the scan `task` by `ranks`, or all that are open (`everything`), to accept or to dismiss.

    `attempt` is the one that was on the screen: another attempt's ranks mean other suggestions.
    """

    task: str
    ranks: tuple[int, ...] = ()
    everything: bool = False
    attempt: int | None = None
    accept: bool = True


class Settled(Model):
    """The scan and its suggestions as they are now, and the tasks made of those that were accepted."""

    scan: Task
    suggestions: tuple[Suggestion, ...] = ()
    tasks: tuple[Task, ...] = ()

    @property
    def left(self) -> int:
        """How many are open."""
        return sum(one.state == SuggestionState.OPEN for one in self.suggestions)


class Settle(Verb[SuggestionArgs, Settled]):
    """Queue a task for each, all or none, or put them away. One that was dismissed can be accepted later."""

    name = "suggestions"
    args = SuggestionArgs
    result = Settled

    def refuse(self, reader: Reader, args: SuggestionArgs) -> NavigatorError | None:
        return refusal_of(lambda: chosen(reader, args))

    def question(self, reader: Reader, args: SuggestionArgs) -> Question | None:
        if not (args.accept and args.everything):
            return None
        scan, found = chosen(reader, args)
        return Question(f"Queue {plural(len(found), 'task')} for {scan.project}?", (), "queue")

    async def perform(self, deps: Dependencies, args: SuggestionArgs) -> Settled:
        scan, found = chosen(deps.reader, args)
        with deps.store.transaction() as tx:
            made = _accept(tx, scan, found) if args.accept else []
            if not args.accept:
                tx.dismiss_suggestions(scan.id, scan.attempt, {one.rank for one in found})
            left = any(
                one.state == SuggestionState.OPEN
                for one in tx.read.suggestions(scan.id, attempt=scan.attempt)
            )
            if not left and scan.state is TaskState.AWAITING_APPROVAL:
                put_away(tx, scan, "every suggestion was accepted or dismissed")
        return Settled(
            scan=deps.reader.task(scan.id),
            suggestions=tuple(deps.reader.suggestions(scan.id, attempt=scan.attempt)),
            tasks=tuple(made),
        )

    def tell(self, result: Settled) -> list[Told]:
        left = f"{plural(result.left, 'suggestion')} left" if result.left else "no suggestions left"
        return [
            *(Told(one.id, f"queued: {one.text.partition(chr(10))[0]}") for one in result.tasks),
            Told(result.scan.id, left),
        ]


def _accept(tx: Transaction, scan: Task, found: Sequence[Suggestion]) -> list[Task]:
    """Queue a task for each; `origin` of each is the scan."""
    made: list[Task] = []
    for one in found:
        new = tx.add_task(
            scan.project_id,
            one.text,
            kind=one.kind,
            complexity=one.complexity,
            priority=scan.priority,
            files=one.files,
            origin=scan.id,
        )
        tx.accept_suggestion(one, new.id)
        made.append(new)
    return made


def scan_of(reader: Reader, identifier: str) -> Task:
    """A task that is a scan.

    Raises:
        UsageError: it is another kind.
    """
    scan = reader.task(identifier)
    if scan.kind is not TaskKind.SCAN:
        raise UsageError(
            f"{scan.id} has no suggestions.",
            hint="`navigator task list` shows every task's kind.",
        )
    return scan


def chosen(reader: Reader, args: SuggestionArgs) -> tuple[Task, list[Suggestion]]:
    """The scan and the suggestions that the arguments name.

    Raises:
        UsageError: no scan, no such suggestion, or none named.
        Conflict: the scan has another attempt by now, or one was accepted before.
    """
    scan = scan_of(reader, args.task)
    listing = f"`navigator task show {scan.id}` lists them."
    if args.attempt is not None and args.attempt != scan.attempt:
        raise Conflict(
            f"{scan.id} has a newer attempt.", hint=f"Look again: `navigator task show {scan.id}`."
        )
    found = reader.suggestions(scan.id, attempt=scan.attempt)
    if args.everything == bool(args.ranks):
        raise UsageError("Name suggestions by their numbers, or use --all.", hint=listing)
    if args.everything:
        return scan, [one for one in found if one.state == SuggestionState.OPEN]
    by_rank = {one.rank: one for one in found}
    for rank in args.ranks:
        if rank not in by_rank:
            raise UsageError(f"{scan.id} has no suggestion {rank}.", hint=listing)
        if by_rank[rank].state == SuggestionState.ACCEPTED:
            made = by_rank[rank].made_task
            raise Conflict(
                f"Suggestion {rank} of {scan.id} was accepted already, as {made}.",
                hint=f"`navigator task show {made}` shows it; `navigator task cancel {made}` cancels it.",
            )
    return scan, [by_rank[rank] for rank in dict.fromkeys(args.ranks)]
