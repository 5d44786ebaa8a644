"""Reject, send back, undo: which proposals, whether they wait, and recording the decision. Approving is in `approve`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator

from navigator.actions.base import Done, NoteField, Question, SubjectVerb, Told, Verb, done
from navigator.journey.moves import reject, withdraw_approval
from navigator.model import patterns
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.models import Decision, Model, Proposal, utc_now
from navigator.model.states import DecisionKind, LandingState, ProposalState, TaskState
from navigator.model.text import plural
from navigator.sheet.marks import read_card
from navigator.sheet.parts import built_on, is_landed
from navigator.sheet.writing import comment_text, place_of

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.cards import Card
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


class Decide(SubjectVerb):
    """One decision on some proposals, and the note that goes with it. Each is answered separately: one that is refused does not
    hold up the others."""

    kind: ClassVar[DecisionKind]
    takes_back: ClassVar[bool] = False
    """It may follow an approval whose landing was refused, which it takes back."""

    proposals: tuple[Pinned, ...] = ()
    note: str = ""

    @property
    def subjects(self) -> Iterable[str]:
        return [entry.id for entry in self.proposals]

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        refused = cls.takes_back and on.approved and on.landing == LandingState.REFUSED
        return None if on.to_decide or refused else not_waiting(on)

    async def perform(self, deps: Dependencies) -> Done:
        rows = [self._record(deps, entry) for entry in self.proposals]
        return self.outcome([await self.follow(deps, row) if row.recorded else row for row in rows])

    @classmethod
    def outcome(cls, rows: Sequence[DecisionRow]) -> Done:
        """What became of each, in the order they were named."""
        told = (
            cls.told(row)
            if row.recorded
            else Told(row.id, after_id(row.id, row.reason, "not changed"), "error")
            for row in rows
        )
        return done(told, decisions=list(rows))

    @classmethod
    def told(cls, row: DecisionRow) -> Told:
        """The outcome of a decision that was recorded."""
        return Told(row.id, f"{cls.kind.value}ed")

    def note_for(self, deps: Dependencies, proposal: Proposal) -> str:
        """The note to record."""
        return self.note

    def confirmed(self, on: Card) -> tuple[str, ...]:
        """The policy items that were confirmed, as recorded.

        Raises:
            Conflict: one is missing.
        """
        return ()

    def write(self, tx: Transaction, proposal: Proposal, note: str) -> None:
        """What follows from the decision, in its transaction."""
        raise NotImplementedError

    async def follow(self, deps: Dependencies, row: DecisionRow) -> DecisionRow:
        """What follows once all of them are recorded."""
        return row

    def _record(self, deps: Dependencies, entry: Pinned) -> DecisionRow:
        row = DecisionRow(id=entry.id.upper(), kind=self.kind)
        try:
            proposal = deps.reader.proposal(entry.id)
            row = row.model_copy(update={"id": proposal.id})
            require_tree(proposal, entry.tree)
            on = read_card(deps.reader, proposal.id)
            self.require_one(on)
            confirmed, note = self.confirmed(on), self.note_for(deps, proposal)
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


def decided(found: Done) -> list[DecisionRow]:
    """The rows of a decision's outcome, as it came over the socket."""
    return [DecisionRow.model_validate(row) for row in found.data["decisions"]]


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


def not_waiting(on: Card) -> Conflict:
    """Why a proposal cannot be decided on: what happened to it, and what to do instead."""
    if not on.proposal:
        return wrong_state(on, f"{on.task} has no proposal to decide on; it")
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
    if on.landing == LandingState.LANDED:
        return Conflict(
            f"{on.proposal} has already landed on {on.landing_ref.removeprefix('refs/heads/')}.",
            hint=f"To take it back: `navigator undo {on.proposal}`.",
        )
    if on.landing == LandingState.UNDONE:
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
    return wrong_state(on, f"{on.proposal} is not waiting for a decision; {on.task}")


def wrong_state(on: Card, said: str, hint: str = "") -> Conflict:
    """A refusal that ends with the state of the task: `T5 cannot be retried; it is landed.`"""
    history = f"`navigator task show {on.task}` shows its history."
    return Conflict(f"{said} is {on.state.value.replace('_', ' ')}.", hint=hint or history)


# Reject proposals: their tasks end.


class Reject(Decide):
    """The note is the reason; it is optional."""

    op = "reject"
    kind = DecisionKind.REJECT
    takes_back = True

    def question(self, reader: Reader) -> Question:
        shown = [reader.proposal(entry.id) for entry in self.proposals]
        title = shown[0].id if len(shown) == 1 else plural(len(shown), "proposal")
        lines = tuple(f"{one.id}  {one.project}  {one.title}" for one in shown)
        return Question(f"Reject {title}?", lines, "reject", note=NoteField("a reason (optional)"))

    def write(self, tx: Transaction, proposal: Proposal, note: str) -> None:
        reject(tx, proposal.task_id, note)


# Send back with a note: a new attempt is written. Reports, scans and answers without a change go back too.

_SENT_BACK = "sent back; a new attempt is queued"


class SendBack(Decide):
    """The note opens the new attempt's prompt; comments on a proposal's lines go along. `tasks` are tasks without a proposal
    whose report or answer goes back: all or none."""

    op = "send-back"
    kind = DecisionKind.SEND_BACK

    tasks: tuple[str, ...] = ()

    @property
    def subjects(self) -> Iterable[str]:
        return [*super().subjects, *self.tasks]

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        if on.proposal:
            return None if on.to_decide else not_waiting(on)
        if on.state is TaskState.AWAITING_APPROVAL:
            return None
        return wrong_state(on, f"{on.task} is not waiting for a decision; it")

    def question(self, reader: Reader) -> Question:
        shown = [reader.proposal(entry.id) for entry in self.proposals]
        tasks = [reader.task(identifier) for identifier in self.tasks]
        lines = [f"{one.project}: {one.title}" for one in shown]
        lines += [f"{task.project}: {task.text.strip().partition(chr(10))[0]}" for task in tasks]
        unsent = [one for held in shown for one in reader.comments(task_id=held.task_id, sent=False)]
        lines += [f"{place_of(one)}  {one.text}" for one in unsent]
        needed = "" if unsent and not tasks else "Say what to do differently, or comment on a line."
        names = ", ".join([one.id for one in shown] + [task.id for task in tasks])
        return Question(f"Send {names} back?", tuple(lines), "send back", NoteField(needed=needed))

    async def perform(self, deps: Dependencies) -> Done:
        tasks = list(dict.fromkeys(self._task(deps, identifier) for identifier in self.tasks))
        found = await super().perform(deps)
        with deps.store.transaction() as tx:
            for identifier in tasks:
                tx.new_attempt(identifier, note=self.note.strip())
        told = [*found.told, *(Told(identifier, _SENT_BACK) for identifier in tasks)]
        return done(told, **found.data, tasks=[deps.reader.task(identifier) for identifier in tasks])

    @classmethod
    def told(cls, row: DecisionRow) -> Told:
        return Told(row.id, _SENT_BACK)

    def note_for(self, deps: Dependencies, proposal: Proposal) -> str:
        comments = deps.reader.comments(task_id=proposal.task_id, sent=False)
        full = "\n".join([self.note.strip(), *map(comment_text, comments)]).strip()
        if not full:
            raise _no_note()
        # What is sent back of a part stays a part: its task's note says which.
        return f"{deps.reader.task(proposal.task_id).note}\n\n{full}" if proposal.parent else full

    def write(self, tx: Transaction, proposal: Proposal, note: str) -> None:
        unsent = tx.read.comments(task_id=proposal.task_id, sent=False)
        tx.mark_comments_sent(comment.id for comment in unsent)
        tx.new_attempt(proposal.task_id, note=note)

    def _task(self, deps: Dependencies, identifier: str) -> str:
        if not self.note.strip():
            raise _no_note()
        on = read_card(deps.reader, identifier)
        if on.open:
            raise Conflict(
                f"{on.task} has a proposal.",
                hint=f"Send that back: `navigator send-back {on.proposal} --note …`.",
            )
        self.require_one(on)
        return on.task


def _no_note() -> UsageError:
    return UsageError(
        "Sending back needs a note that says what to do differently.",
        hint="Add --note TEXT, or comment on a line.",
    )


# Take back a landing, or an approval that has not landed.


class Undo(SubjectVerb):
    """Undo landings: move the branch back, or make a revert commit on a new branch. Withdraw approvals that have not landed."""

    op = "undo"
    works_on_full_disk = True

    ids: tuple[str, ...]

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        if on.landing == LandingState.LANDED or on.approved:
            return None
        if on.landing == LandingState.UNDONE and on.state is TaskState.UNDONE:
            return Conflict(
                f"{on.id} has already been undone.",
                hint=f"To have it written again: `navigator task retry {on.task}`.",
            )
        if on.to_decide:
            return Conflict(f"{on.id} is waiting for your decision; there is nothing to undo.")
        return Conflict(
            f"{on.id} has not landed and is not approved; there is nothing to undo.",
            hint="`navigator proposals --state landed` lists what has landed.",
        )

    def question(self, reader: Reader) -> Question | None:
        landed = [one for one in map(reader.proposal, self.ids) if is_landed(one)]
        if not landed:
            # One key withdraws the approval, another gives it again.
            return None
        lines = []
        for one in landed:
            assert one.landing is not None
            where = one.landing.ref.removeprefix("refs/heads/")
            lines += [f"{one.id}  {one.project}: {one.title}", f"{one.landing.commit[:12]} on {where}"]
            if above := _above(reader, one):
                lines.append(f"⚠ built on it: {above}")
        lines.append(
            "What is undone does not wait for you again; a retry (`t` on the screens) writes it again."
        )
        return Question(f"Undo the landing of {', '.join(one.id for one in landed)}?", tuple(lines), "undo")

    async def perform(self, deps: Dependencies) -> Done:
        found = [deps.reader.proposal(identifier) for identifier in dict.fromkeys(self.ids)]
        # Newest first, so that each finds its own commit at the tip.
        found.sort(key=lambda proposal: proposal.landing.at if proposal.landing else "", reverse=True)
        rows = [await self._undo(deps, proposal) for proposal in found]
        told = (
            Told(row["id"], f"undone: {row['reason']}")
            if row["undone"]
            else Told(row["id"], after_id(row["id"], row["reason"], "not undone"), "error")
            for row in rows
        )
        return done(told, undone=rows)

    async def _undo(self, deps: Dependencies, proposal: Proposal) -> dict[str, Any]:
        """The result for one proposal; `ref` is the branch that was moved or made, "" for an approval that was withdrawn."""
        from navigator.journey.land import undo
        from navigator.store.database import require_space

        row: dict[str, Any] = {"id": proposal.id, "undone": False, "ref": ""}
        try:
            # A landing under way is not interrupted: once it is done, there is a landing to undo and no approval.
            async with deps.repositories.lock(proposal.project_id):
                on = read_card(deps.reader, proposal.id)
                self.require_one(on)
                if on.landing != LandingState.LANDED:
                    with deps.store.transaction() as tx:
                        withdraw_approval(tx, on.proposal, tx.read.task(on.task))
                    why = "the approval is withdrawn; it is waiting for your decision again"
                    return row | {"undone": True, "reason": why}
            require_space(deps.paths.root)
            landing = await undo(deps, proposal.id)
        except NavigatorError as error:
            return row | {"reason": str(error)}
        above = _above(deps.reader, proposal)
        more = f"; {above} built on it, and will be rewritten once it is approved" if above else ""
        return row | {"undone": True, "ref": landing.ref, "reason": landing.reason + more}


def _above(reader: Reader, proposal: Proposal) -> str:
    """The tasks that build on a proposal, by id."""
    return ", ".join(task.id for task in built_on(reader, proposal))


class LookForReverts(Verb):
    """Look for landed commits that were reverted since; nothing is changed. Commits already known to be reverted are skipped."""

    op = "reverts.look"

    async def perform(self, deps: Dependencies) -> Done:
        from navigator.exam.blame import look_at_findings
        from navigator.journey.reverts import look_for

        told = []
        for project in deps.reader.projects():
            fates = Counter(fate.fate for fate in await look_for(deps, project))
            await look_at_findings(deps, project)
            if n := fates.total():
                looked, reverted, unknown = plural(n, "landed commit"), fates["reverted"], fates["unknown"]
                said = f"{looked} checked: {reverted} reverted, {unknown} unknown"
                told.append(Told(project.name, said))
        return done(told)
