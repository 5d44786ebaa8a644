"""What is kept without asking: which proposals were looked at, and texts that were typed and not sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from navigator.actions.base import Subject, SubjectVerb, Told, Verb
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Model

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies


class SeenArgs(Model):
    """Proposals by id."""

    ids: tuple[str, ...]
    seen: bool = True


class MarkSeen(Verb[SeenArgs, SeenArgs]):
    """Mark proposals as looked at, or not."""

    name = "seen"
    args = SeenArgs
    result = SeenArgs
    small = True

    async def perform(self, deps: Dependencies, args: SeenArgs) -> SeenArgs:
        with deps.store.transaction() as tx:
            for identifier in args.ids:
                tx.set_proposal_seen(deps.reader.proposal(identifier).id, args.seen)
        return args

    def tell(self, result: SeenArgs) -> list[Told]:
        names = ", ".join(result.ids[:3]) + (" …" if len(result.ids) > 3 else "")
        return [Told(names, f"marked as {'seen' if result.seen else 'not seen'}")] if result.ids else []


class DraftArgs(Model):
    """A text under a key; an empty one is dropped."""

    key: str
    text: str


class SaveDraft(Verb[DraftArgs, DraftArgs]):
    """Keep a text that was typed and not sent."""

    name = "draft.save"
    args = DraftArgs
    result = DraftArgs
    small = True

    async def perform(self, deps: Dependencies, args: DraftArgs) -> DraftArgs:
        with deps.store.transaction() as tx:
            tx.save_draft(args.key, args.text)
        return args

    def tell(self, result: DraftArgs) -> list[Told]:
        return [Told(result.key, "saved as a draft")]


# Comments on lines of a proposal: they go along when it is sent back or split.


class CommentArgs(Model):
    """A comment on `line` (from 1; 0 for the file) of `side` "new" or "old"; `quote` is the text of that line.

    `number` is one that was not sent, which it replaces; an empty `text` only removes that.
    """

    proposal: str
    path: str
    line: int
    text: str
    side: str = "new"
    quote: str = ""
    number: int = 0


class Commented(Model):
    """The comment's number; `removed`: it is gone."""

    comment: int
    removed: bool = False


class KeepComment(SubjectVerb[CommentArgs, Commented]):
    """Allowed while the proposal is open: otherwise nothing would carry the comment. One not sent can always be removed."""

    name = "comment"
    args = CommentArgs
    result = Commented
    small = True

    def ids(self, args: CommentArgs) -> Iterable[str]:
        return [args.proposal] if args.text else []

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        if on.open or on.newer:
            return None
        return Conflict(
            f"{on.id} is already decided; a comment on it would not be sent.",
            hint=f"To take the decision back: `navigator undo {on.id}`." if on.approved or on.landing else "",
        )

    async def perform(self, deps: Dependencies, args: CommentArgs) -> Commented:
        self.require(deps.reader, args)
        held = deps.reader.proposal(args.proposal)
        number = args.number
        with deps.store.transaction() as tx:
            if args.number:
                tx.change_comment(args.number, "")
            if args.text:
                number = tx.add_comment(
                    held.id, path=args.path, side=args.side, line=args.line, quote=args.quote, text=args.text
                )
        return Commented(comment=number, removed=not args.text)

    def tell(self, result: Commented) -> list[Told]:
        became = "removed" if result.removed else "added; it is sent when you send the proposal back"
        return [Told(f"comment {result.comment}", became)]
