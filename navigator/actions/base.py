"""What a user can do to something: one class per verb, which CLI, TUI and MCP render alike.

A verb says when it is allowed (`refuse`), what to ask first (`question`), does it (`perform`) and puts the outcome into words
(`tell`). Arguments and results are pydantic models; they cross the conductor's socket as JSON and are validated on both ends.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import ValidationError

from navigator.actions.wire import START, NoConductor
from navigator.config.reading import dotted
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.json_text import require_bounded
from navigator.model.models import Model
from navigator.model.states import DecisionKind, LandingState, PolicyAction, ProposalState, TaskState
from navigator.model.text import plural as plural

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from navigator.journey.dependencies import Controls, Dependencies
    from navigator.model.models import Proposal
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader

A = TypeVar("A", bound=Model)
R = TypeVar("R", bound=Model)

Level = Literal["information", "warning", "error"]
"""How an outcome is shown. "error": what was asked for did not happen; a command exits with 1."""


@dataclass(frozen=True, slots=True)
class Told:
    """The outcome for one thing: `str()` is a sentence; a table shows `id` and `text` in columns.

    `hint` says what to do next, e.g. how to merge a landing. Several rows may share one; show it once.
    """

    id: str
    text: str
    level: Level = "information"
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.id} {self.text}".rstrip(".") + "."


@dataclass(frozen=True, slots=True)
class NoteField:
    """A note that goes with the answer. `needed`: why an empty one is refused; "" where it is optional."""

    placeholder: str = "a note (optional)"
    needed: str = ""


@dataclass(frozen=True, slots=True)
class ConfirmItem:
    """Something to look at and confirm on its own. `key` goes into the arguments' `confirm` once it is confirmed."""

    key: str
    title: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask before a verb is performed: first each of `items`, then `title` with `lines` and the note."""

    title: str
    lines: tuple[str, ...] = ()
    yes: str = "yes"
    note: NoteField | None = None
    items: tuple[ConfirmItem, ...] = ()


class Verb(ABC, Generic[A, R]):
    """One thing a user can do. Stateless; importing its module must stay cheap (no git, HTTP client or Textual)."""

    name: ClassVar[str]
    """Its name in the registry and on the socket."""
    args: type[A]
    result: type[R]
    small: ClassVar[bool] = False
    """It writes only a few bytes: allowed on a full disk too, as long as SQLite can write them."""
    misfit: ClassVar[str] = "Are the two sides of the same version?"
    """What to do about arguments that do not fit."""
    needs_conductor: ClassVar[bool] = False
    """Only a running conductor can do it; see `controls`."""

    def refuse(self, reader: Reader, args: A) -> NavigatorError | None:
        """Why it is not allowed now, as the error that `perform` would raise; None where it is."""
        return None

    def require(self, reader: Reader, args: A) -> None:
        """Raise what `refuse` says.

        Raises:
            NavigatorError: it is not allowed.
        """
        if (refusal := self.refuse(reader, args)) is not None:
            raise refusal

    def question(self, reader: Reader, args: A) -> Question | None:
        """What to ask first; None for nothing. May read repositories: call it in a thread."""
        return None

    @abstractmethod
    async def perform(self, deps: Dependencies, args: A) -> R:
        """Do it.

        Raises:
            NavigatorError: what `refuse` says, or what went wrong.
        """

    @abstractmethod
    def tell(self, result: R) -> list[Told]:
        """The outcome in words."""

    def answered(self, args: A, *, note: str | None = None, confirm: Sequence[str] = ()) -> A:
        """The arguments with what the user answered to `question`."""
        update: dict[str, Any] = {}
        if note is not None and "note" in type(args).model_fields:
            update["note"] = note
        if confirm and "confirm" in type(args).model_fields:
            update["confirm"] = tuple(dict.fromkeys((*args.model_dump()["confirm"], *confirm)))
        return args.model_copy(update=update)

    def read_args(self, document: dict[str, Any]) -> A:
        """Arguments as they came over the socket.

        Raises:
            UsageError: they do not fit.
        """
        require_bounded(document)
        try:
            return self.args.model_validate(document)
        except ValidationError as error:
            raise UsageError(f"{self.name}: {explained(error)}.", hint=self.misfit) from error

    def read_result(self, document: dict[str, Any]) -> R:
        """A result as it came over the socket.

        Raises:
            Conflict: it does not fit: the conductor is of another version.
        """
        try:
            return self.result.model_validate(document)
        except ValidationError as error:
            raise Conflict(
                f"The conductor's answer to {self.name} is of another version: {explained(error)}.",
                hint="Restart it: `navigator run --stop`, then `navigator run`.",
            ) from error


def explained(error: ValidationError) -> str:
    """The first problem in words: `tasks[1].text: is empty`. An unknown key comes first: it explains what is missing."""
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    where = dotted(first["loc"]) or "arguments"
    if first["type"] == "extra_forbidden":
        return f"there is no argument {where!r}"
    return f"{where}: {in_words(first)}"


def in_words(problem: ErrorDetails) -> str:
    """What pydantic found, in words."""
    if problem["type"] == "too_long":
        return (
            f"has {problem['ctx']['actual_length']:,} entries; {problem['ctx']['max_length']:,} are the most"
        )
    return problem["msg"].removeprefix("Value error, ")


@dataclass(frozen=True, slots=True)
class Subject:
    """The task, and its proposal if it has one, that a verb is about: what `refuse_one` decides from.

    Screens make it of a row (`of_card`), everything else of the store (`read`). `existing`: the proposal is a change that was
    there before. `newer` is the open proposal that replaced this one; `waits_for` the part that has to land first; `rival` the
    variant of the same task that is approved; `refused` what policy forbids. A card does not know these four: `perform` looks
    again.
    """

    task: str
    state: TaskState
    proposal: str = ""
    project: str = ""
    title: str = ""
    tree: str = ""
    open: bool = False
    decision: DecisionKind | None = None
    landing: LandingState | None = None
    landed_on: str = ""
    parent: str = ""
    existing: bool = False
    newer: str = ""
    waits_for: str = ""
    rival: str = ""
    refused: str = ""

    @property
    def id(self) -> str:
        """The proposal, or the task where there is none."""
        return self.proposal or self.task

    @property
    def waiting(self) -> bool:
        """Whether its proposal can be decided on now."""
        return self.with_you and not self.existing

    @property
    def with_you(self) -> bool:
        """Whether its proposal, or its review, waits for the developer."""
        return self.open and self.state is TaskState.AWAITING_APPROVAL

    @property
    def approved(self) -> bool:
        """Approved and not landed: the landing is due, or was refused."""
        return self.state is TaskState.APPROVED and self.decision is DecisionKind.APPROVE

    @staticmethod
    def of_card(card: Card) -> Subject:
        """From a row of the deck."""
        decision = {TaskState.REJECTED: DecisionKind.REJECT}.get(card.state)
        return Subject(
            task=card.task,
            state=card.state,
            proposal=card.proposal,
            project=card.project,
            title=card.title,
            tree=card.tree,
            open=card.open,
            decision=DecisionKind.APPROVE if card.landing and not card.open else decision,
            landing=LandingState(card.landing) if card.landing else None,
            landed_on=card.landing_ref.removeprefix("refs/heads/"),
            parent=card.parent,
            existing=card.existing,
        )

    @staticmethod
    def read(reader: Reader, identifier: str) -> Subject:
        """From the store: a proposal's id, or the id of a task, whose open proposal it is then about if it has one.

        Raises:
            NotFound: there is no such proposal or task.
        """
        if identifier[:1] in "Tt":
            task = reader.task(identifier)
            held = reader.proposals({ProposalState.OPEN}, task_id=task.id)
            if held:
                return Subject.of(reader, held[-1])
            title = task.text.strip().partition("\n")[0]
            return Subject(task=task.id, state=task.state, project=task.project, title=title)
        return Subject.of(reader, reader.proposal(identifier))

    @staticmethod
    def of(reader: Reader, proposal: Proposal) -> Subject:
        """From a proposal as it is in the store now."""
        from navigator.sheet.parts import waits_for
        from navigator.sheet.variants import approved_variant

        task = reader.task(proposal.task_id)
        newer = ""
        if proposal.state is ProposalState.SUPERSEDED:
            held = reader.proposals({ProposalState.OPEN}, task_id=task.id)
            newer = held[-1].id if held else ""
        part = waits_for(reader, proposal) if proposal.state is ProposalState.OPEN else None
        refused = next((item for item in proposal.policy if item.action is PolicyAction.REFUSE), None)
        landing = proposal.landing
        return Subject(
            task=task.id,
            state=task.state,
            proposal=proposal.id,
            project=proposal.project,
            title=proposal.title,
            tree=proposal.tree,
            open=proposal.state is ProposalState.OPEN,
            decision=proposal.decision.kind if proposal.decision else None,
            landing=landing.state if landing else None,
            landed_on=landing.ref.removeprefix("refs/heads/") if landing else "",
            parent=proposal.parent,
            existing=proposal.existing,
            newer=newer,
            waits_for=part.id if part else "",
            rival=approved_variant(reader, proposal) if proposal.state is ProposalState.OPEN else "",
            refused=f"{refused.path}: {refused.detail or refused.rule}" if refused else "",
        )


class SubjectVerb(Verb[A, R]):
    """A verb on tasks or proposals: one rule, asked by screens with a row and by everything else with the store."""

    @abstractmethod
    def refuse_one(self, on: Subject) -> NavigatorError | None:
        """Why it is not allowed on this one now; None where it is."""

    @abstractmethod
    def ids(self, args: A) -> Iterable[str]:
        """What the arguments name."""

    def refuse(self, reader: Reader, args: A) -> NavigatorError | None:
        """The first refusal among those named."""
        refusals = (self.refuse_one(Subject.read(reader, identifier)) for identifier in self.ids(args))
        return next((one for one in refusals if one is not None), None)

    def require_one(self, on: Subject) -> None:
        """Raise what `refuse_one` says.

        Raises:
            NavigatorError: it is not allowed.
        """
        if (refusal := self.refuse_one(on)) is not None:
            raise refusal


def refusal_of(check: Callable[[], object]) -> NavigatorError | None:
    """What a check raises; None where it passes."""
    try:
        check()
    except NavigatorError as error:
        return error
    return None


def controls(deps: Dependencies) -> Controls:
    """The conductor of this process.

    Raises:
        NoConductor: none is running.
    """
    if deps.conductor is None:
        raise NoConductor("No conductor is running.", hint=START)
    return deps.conductor
