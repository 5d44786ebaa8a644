"""What a user can do to something: one class per verb, which CLI, TUI and MCP render alike.

A verb is a model of its arguments: it crosses the conductor's socket as JSON and is validated on the other end. It says when it
is allowed (`refuse`), what to ask first (`question`), and does it (`perform`). The answer has the outcome in words and as data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import ValidationError

from navigator.model.errors import NavigatorError, UsageError
from navigator.model.json_text import first_misfit, require_bounded
from navigator.model.models import Model
from navigator.sheet.marks import read_card

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader

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


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask before a verb is performed: first each of `items`, then `title` with `lines` and the note."""

    title: str
    lines: tuple[str, ...] = ()
    yes: str = "yes"
    note: NoteField | None = None
    items: tuple[ConfirmItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """What a verb did: a row in words for each thing, and `data`, which `--json` prints."""

    told: tuple[Told, ...]
    data: dict[str, Any]


def done(told: Iterable[Told], **data: Any) -> Done:
    """What a verb did; `data` may hold models, which are JSON once they have crossed to the one who asked."""
    return Done(tuple(told), data)


class Verb(Model, ABC):
    """One thing a user can do, with its arguments. Importing its module must stay cheap (no git, HTTP client or Textual)."""

    op: ClassVar[str]
    """Its name in the registry and on the socket."""
    works_on_full_disk: ClassVar[bool] = False
    """Writes so little that it is allowed when the disk is full."""
    bad_arguments_hint: ClassVar[str] = "Are the two sides of the same version?"
    """What to do about arguments that do not fit."""
    needs_conductor: ClassVar[bool] = False
    """Only a running conductor can do it: there `Dependencies.conductor` is set."""

    def refuse(self, reader: Reader) -> NavigatorError | None:
        """Why it is not allowed now, as the error that `perform` would raise; None where it is."""
        return None

    def require(self, reader: Reader) -> None:
        """Raise what `refuse` says.

        Raises:
            NavigatorError: it is not allowed.
        """
        if (refusal := self.refuse(reader)) is not None:
            raise refusal

    def question(self, reader: Reader) -> Question | None:
        """What to ask first; None for nothing. May read repositories: call it in a thread."""
        return None

    @abstractmethod
    async def perform(self, deps: Dependencies) -> Done:
        """Do it.

        Raises:
            NavigatorError: what `refuse` says, or what went wrong.
        """

    def answered(self, *, note: str | None = None, confirm: Sequence[str] = ()) -> Self:
        """The same with what the user answered to `question`."""
        known = type(self).model_fields
        update: dict[str, Any] = {}
        if note is not None and "note" in known:
            update["note"] = note
        if confirm and "confirm" in known:
            update["confirm"] = tuple(dict.fromkeys((*self.model_dump()["confirm"], *confirm)))
        return self.model_copy(update=update)

    @classmethod
    def read(cls, document: dict[str, Any]) -> Self:
        """The verb with arguments as they came over the socket.

        Raises:
            UsageError: they do not fit.
        """
        require_bounded(document)
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise UsageError(
                f"{cls.op}: {first_misfit(error, 'argument')}.", hint=cls.bad_arguments_hint
            ) from error


class SubjectVerb(Verb):
    """A verb on tasks or proposals: one rule, asked by screens with a row and by everything else with the store.

    `names`: the field that names them, by id.
    """

    names: ClassVar[str] = "ids"

    @classmethod
    @abstractmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        """Why it is not allowed on this one now; None where it is."""

    @property
    def subjects(self) -> Iterable[str]:
        """The ids that the arguments name."""
        named: str | tuple[str, ...] = getattr(self, self.names)
        return (named,) if isinstance(named, str) else named

    def refuse(self, reader: Reader) -> NavigatorError | None:
        """The first refusal among those named."""
        refusals = (self.refuse_one(read_card(reader, identifier)) for identifier in self.subjects)
        return next((one for one in refusals if one is not None), None)

    @classmethod
    def require_one(cls, on: Card) -> None:
        """Raise what `refuse_one` says.

        Raises:
            NavigatorError: it is not allowed.
        """
        if (refusal := cls.refuse_one(on)) is not None:
            raise refusal


def refusal_of(check: Callable[[], object]) -> NavigatorError | None:
    """What a check raises; None where it passes."""
    try:
        check()
    except NavigatorError as error:
        return error
    return None
