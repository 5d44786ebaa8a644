"""Send proposals back with a note: a new attempt is written. Reports, scans and answers without a change go back too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from navigator.actions.base import NoteField, Question, Subject, Told, plural
from navigator.actions.deciding import (
    Decide,
    DecideArgs,
    Decided,
    DecisionRow,
    not_waiting,
    state_words,
)
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.models import Proposal, Task
from navigator.model.states import DecisionKind, TaskState

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction

_MOST_COMMENTS = 5


class SendBackArgs(DecideArgs):
    """`tasks` are tasks without a proposal whose report or answer goes back."""

    tasks: tuple[str, ...] = ()


class SentBack(Decided):
    """`tasks` as they are now, of those that were named as tasks."""

    tasks: tuple[Task, ...] = ()


class SendBack(Decide[SendBackArgs]):
    """The note opens the new attempt's prompt; comments on a proposal's lines go along. Tasks: all or none."""

    name = "send-back"
    args = SendBackArgs
    result = SentBack
    kind = DecisionKind.SEND_BACK

    def ids(self, args: SendBackArgs) -> Iterable[str]:
        return [*super().ids(args), *args.tasks]

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        if on.proposal:
            return None if on.waiting else not_waiting(on)
        if on.state is TaskState.AWAITING_APPROVAL:
            return None
        return Conflict(
            f"{on.task} is not waiting for a decision; it is {state_words(on)}.",
            hint=f"`navigator task show {on.task}` shows its history.",
        )

    def question(self, reader: Reader, args: SendBackArgs) -> Question:
        shown = [reader.proposal(entry.id) for entry in args.proposals]
        tasks = [reader.task(identifier) for identifier in args.tasks]
        lines = [f"{one.project}: {one.title}" for one in shown]
        lines += [f"{task.project}: {task.text.strip().partition(chr(10))[0]}" for task in tasks]
        unsent = [one for held in shown for one in reader.comments(task_id=held.task_id, sent=False)]
        lines += [
            f"{one['path']}:{one['line']}  {one['text']}" if one["line"] else f"{one['path']}  {one['text']}"
            for one in unsent[:_MOST_COMMENTS]
        ]
        if len(unsent) > _MOST_COMMENTS:
            lines.append(f"and {plural(len(unsent) - _MOST_COMMENTS, 'more comment')}")
        needed = "" if unsent and not tasks else "Say what to do differently, or comment on a line."
        names = ", ".join([one.id for one in shown] + [task.id for task in tasks])
        return Question(f"Send {names} back?", tuple(lines), "send back", NoteField(needed=needed))

    async def perform(self, deps: Dependencies, args: SendBackArgs) -> SentBack:
        tasks = [self._task(deps, identifier, args) for identifier in args.tasks]
        rows = (await super().perform(deps, args)).decisions
        with deps.store.transaction() as tx:
            for identifier in tasks:
                tx.new_attempt(identifier, note=args.note.strip())
        return SentBack(decisions=rows, tasks=tuple(deps.reader.task(identifier) for identifier in tasks))

    def tell(self, result: Decided) -> list[Told]:
        tasks = result.tasks if isinstance(result, SentBack) else ()
        return [*super().tell(result), *(Told(task.id, _WORDS) for task in tasks)]

    def told(self, row: DecisionRow) -> Told:
        return Told(row.id, _WORDS)

    def note_for(self, deps: Dependencies, proposal: Proposal, args: SendBackArgs) -> str:
        comments = deps.reader.comments(task_id=proposal.task_id, sent=False)
        full = "\n".join([args.note.strip(), *map(comment_text, comments)]).strip()
        if not full:
            raise _no_note()
        # What is sent back of a part stays a part: its task's note says which.
        return f"{deps.reader.task(proposal.task_id).note}\n\n{full}" if proposal.parent else full

    def write(self, tx: Transaction, proposal: Proposal, note: str) -> None:
        unsent = tx.read.comments(task_id=proposal.task_id, sent=False)
        tx.mark_comments_sent(comment["id"] for comment in unsent)
        tx.new_attempt(proposal.task_id, note=note)

    def _task(self, deps: Dependencies, identifier: str, args: SendBackArgs) -> str:
        if not args.note.strip():
            raise _no_note()
        on = Subject.read(deps.reader, identifier)
        if on.proposal:
            raise Conflict(
                f"{on.task} has a proposal.",
                hint=f"Send that back: `navigator send-back {on.proposal} --note …`.",
            )
        self.require_one(on)
        return on.task


_WORDS = "sent back; a new attempt is queued"


def _no_note() -> UsageError:
    return UsageError(
        "Sending back needs a note that says what to do differently.",
        hint="Add --note TEXT, or comment on a line.",
    )


def comment_text(comment: Mapping[str, Any]) -> str:
    """A comment as a note quotes it: where, the line, the words."""
    return f"{comment['path']}:{comment['line']}: {comment['quote'].strip()}\n  {comment['text']}"
