"""Reject proposals: their tasks end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.cascade.verbs.base import NoteField, Question, plural
from navigator.cascade.verbs.deciding import Decide, DecideArgs
from navigator.model.states import DecisionKind, TaskState

if TYPE_CHECKING:
    from navigator.model.models import Proposal
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction


class Reject(Decide[DecideArgs]):
    """The note is the reason; it is optional."""

    name = "reject"
    args = DecideArgs
    kind = DecisionKind.REJECT

    def question(self, reader: Reader, args: DecideArgs) -> Question:
        shown = [reader.proposal(entry.id) for entry in args.proposals]
        title = shown[0].id if len(shown) == 1 else plural(len(shown), "proposal")
        lines = tuple(f"{one.id}  {one.project}  {one.title}" for one in shown)
        return Question(f"Reject {title}?", lines, "reject", note=NoteField("a reason (optional)"))

    def write(self, tx: Transaction, proposal: Proposal, note: str) -> None:
        tx.set_task_state(proposal.task_id, TaskState.REJECTED, reason=note)
