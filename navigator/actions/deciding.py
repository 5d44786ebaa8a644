"""What approve, reject and send back share: which proposals, whether they wait, and recording the decision."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeVar

from pydantic import AfterValidator

from navigator.actions.base import NoteField, Question, Subject, SubjectVerb, Told, plural
from navigator.journey.change import (
    reject,
    withdraw_approval,
)
from navigator.model import patterns
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Decision, Model, Proposal, utc_now
from navigator.model.states import DecisionKind, LandingState, ProposalState

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction


TREE_DIGITS = 12
"""Digits of a tree's hash that a pin needs at least."""


def tree_pin(value: str) -> str:
    """A tree's hash, or the beginning of it, in lower case; "" for none.

    Raises:
        ValueError: too short, or no hash.
    """
    if value and not patterns.fullmatch(rf"[0-9a-fA-F]{{{TREE_DIGITS},64}}", value):
        raise ValueError(f"{value!r} is not a hash of at least {TREE_DIGITS} digits")
    return value.lower()


TreePin = Annotated[str, AfterValidator(tree_pin)]


class Pinned(Model):
    """A proposal, and the tree that the user looked at; a tree that is given must be the proposal's."""

    id: str
    tree: TreePin = ""


class DecideArgs(Model):
    """Which proposals, and the note that goes with the decision."""

    proposals: tuple[Pinned, ...] = ()
    note: str = ""


class DecisionRow(Model):
    """What became of one proposal. `landing`, `ref` and `commit` are an approval's; `reason` says what went wrong."""

    id: str
    kind: DecisionKind
    recorded: bool = False
    landing: LandingState | None = None
    reason: str = ""
    ref: str = ""
    commit: str = ""
    transplanted: bool = False

    @property
    def branch(self) -> str:
        """The branch it landed on."""
        return self.ref.removeprefix("refs/heads/")


class Decided(Model):
    """One row for each proposal, in the order they were named."""

    decisions: tuple[DecisionRow, ...] = ()


Arguments = TypeVar("Arguments", bound=DecideArgs)


class Decide(SubjectVerb[Arguments, Decided]):
    """One decision on some proposals. Each is answered separately: one that is refused does not hold up the others."""

    kind: ClassVar[DecisionKind]
    takes_back: ClassVar[bool] = False
    """It may follow an approval whose landing was refused, which it takes back."""
    result = Decided
    misfit = "`navigator proposals --json` shows each proposal's tree."

    def ids(self, args: Arguments) -> Iterable[str]:
        return [entry.id for entry in args.proposals]

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        refused = self.takes_back and on.approved and on.landing is LandingState.REFUSED
        return None if on.waiting or refused else not_waiting(on)

    async def perform(self, deps: Dependencies, args: Arguments) -> Decided:
        return Decided(decisions=tuple(self._record(deps, entry, args) for entry in args.proposals))

    def tell(self, result: Decided) -> list[Told]:
        return [
            self.told(row)
            if row.recorded
            else Told(row.id, after_id(row.id, row.reason, "not changed"), "error")
            for row in result.decisions
        ]

    def told(self, row: DecisionRow) -> Told:
        """The outcome of a decision that was recorded."""
        return Told(row.id, f"{self.kind.value}ed")

    def note_for(self, deps: Dependencies, proposal: Proposal, args: Arguments) -> str:
        """The note to record."""
        return args.note

    def confirmed(self, deps: Dependencies, proposal: Proposal, args: Arguments) -> tuple[str, ...]:
        """The policy items that were confirmed, as recorded.

        Raises:
            Conflict: one is missing.
        """
        return ()

    def write(self, tx: Transaction, proposal: Proposal, note: str) -> None:
        """What follows from the decision, in its transaction."""
        raise NotImplementedError

    def _record(self, deps: Dependencies, entry: Pinned, args: Arguments) -> DecisionRow:
        row = DecisionRow(id=entry.id.upper(), kind=self.kind)
        try:
            proposal = deps.reader.proposal(entry.id)
            row = row.model_copy(update={"id": proposal.id})
            require_tree(proposal, entry.tree)
            self.require_one(Subject.of(deps.reader, proposal))
            confirmed = self.confirmed(deps, proposal, args)
            note = self.note_for(deps, proposal, args)
            made = Decision(kind=self.kind, note=note, tree=proposal.tree, confirmed=confirmed, at=utc_now())
            with deps.store.transaction() as tx:
                again = self.takes_back and proposal.state is ProposalState.DECIDED
                if again:
                    withdraw_approval(tx, proposal.id, tx.read.task(proposal.task_id))
                if again or proposal.state is ProposalState.OPEN:
                    tx.add_decision(proposal.id, made)
                self.write(tx, proposal, note)
        except NavigatorError as error:
            return row.model_copy(update={"reason": str(error)})
        return row.model_copy(update={"recorded": True})


def after_id(identifier: str, reason: str, otherwise: str) -> str:
    """A reason to show after an id: without the id it begins with, else after `otherwise`."""
    return (
        reason.removeprefix(f"{identifier} ")
        if reason.startswith(f"{identifier} ")
        else f"{otherwise}: {reason}"
    )


def require_tree(proposal: Proposal, tree: str) -> None:
    """Refuse another tree than the one that was looked at.

    Raises:
        Conflict: it is another one.
    """
    if tree and not proposal.tree.startswith(tree):
        raise Conflict(
            f"{proposal.id} has changed since you looked at it.",
            hint=f"Look again: `navigator diff {proposal.id}`.",
        )


def not_waiting(on: Subject) -> Conflict:
    """Why a proposal cannot be decided on: what happened to it, and what to do instead."""
    if not on.proposal:
        return Conflict(
            f"{on.task} has no proposal to decide on; it is {state_words(on)}.",
            hint=f"`navigator task show {on.task}` shows its history.",
        )
    if on.existing and on.with_you:
        return Conflict(
            f"{on.proposal} reviews a change that is in the repository already; there is nothing to decide or to land.",
            hint=f"To have its findings fixed: x in Review, or `navigator fix {on.proposal}`. "
            f"To put it away: d in Review, or `navigator task done {on.task}`.",
        )
    if on.newer:
        return Conflict(
            f"{on.proposal} is an earlier round; {on.newer} replaced it.", hint=f"Decide on {on.newer}."
        )
    if on.landing is LandingState.LANDED:
        return Conflict(
            f"{on.proposal} has already landed on {on.landed_on}.",
            hint=f"To take it back: `navigator undo {on.proposal}`.",
        )
    if on.landing is LandingState.UNDONE:
        return Conflict(
            f"{on.proposal} has landed and was undone.",
            hint=f"To have it written again: `navigator task retry {on.task}`.",
        )
    if on.approved:
        return Conflict(
            f"{on.proposal} is already approved, but has not landed.",
            hint=f"To try the landing again: `navigator approve {on.proposal}`. "
            f"To take the approval back: `navigator undo {on.proposal}`.",
        )
    if on.decision is DecisionKind.REJECT:
        return Conflict(
            f"{on.proposal} is already rejected.",
            hint=f"To have it written again: `navigator task retry {on.task}`.",
        )
    if on.decision is DecisionKind.SEND_BACK:
        return Conflict(
            f"{on.proposal} was sent back already.",
            hint=f"`navigator task show {on.task}` shows the new attempt.",
        )
    return Conflict(
        f"{on.proposal} is not waiting for a decision; {on.task} is {state_words(on)}.",
        hint=f"`navigator task show {on.task}` shows its history.",
    )


def state_words(on: Subject) -> str:
    """`awaiting review`."""
    return on.state.value.replace("_", " ")


# Reject proposals: their tasks end.


class Reject(Decide[DecideArgs]):
    """The note is the reason; it is optional."""

    name = "reject"
    args = DecideArgs
    kind = DecisionKind.REJECT
    takes_back = True

    def question(self, reader: Reader, args: DecideArgs) -> Question:
        shown = [reader.proposal(entry.id) for entry in args.proposals]
        title = shown[0].id if len(shown) == 1 else plural(len(shown), "proposal")
        lines = tuple(f"{one.id}  {one.project}  {one.title}" for one in shown)
        return Question(f"Reject {title}?", lines, "reject", note=NoteField("a reason (optional)"))

    def write(self, tx: Transaction, proposal: Proposal, note: str) -> None:
        reject(tx, proposal.task_id, note)
