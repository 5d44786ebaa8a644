"""Comments on lines of a proposal: they go along when it is sent back or split."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from navigator.cascade.verbs.base import Subject, SubjectVerb, Told, Verb
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Model

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies


class CommentArgs(Model):
    """A comment on `line` (from 1; 0 for the file) of `side` "new" or "old"; `quote` is the text of that line."""

    proposal: str
    path: str
    line: int
    text: str
    side: str = "new"
    quote: str = ""


class RemoveCommentArgs(Model):
    """A comment by its number."""

    number: int


class Commented(Model):
    """The comment's number."""

    comment: int


class AddComment(SubjectVerb[CommentArgs, Commented]):
    """Allowed while the proposal is open: otherwise nothing would carry the comment."""

    name = "comment.add"
    args = CommentArgs
    result = Commented

    def ids(self, args: CommentArgs) -> Iterable[str]:
        return [args.proposal]

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
        with deps.store.transaction() as tx:
            number = tx.add_comment(
                held.id, path=args.path, side=args.side, line=args.line, quote=args.quote, text=args.text
            )
        return Commented(comment=number)

    def tell(self, result: Commented) -> list[Told]:
        return [Told(f"comment {result.comment}", "added; it is sent when you send the proposal back")]


class RemoveComment(Verb[RemoveCommentArgs, Commented]):
    """Only one that was not sent."""

    name = "comment.remove"
    args = RemoveCommentArgs
    result = Commented
    small = True

    async def perform(self, deps: Dependencies, args: RemoveCommentArgs) -> Commented:
        with deps.store.transaction() as tx:
            tx.change_comment(args.number, "")
        return Commented(comment=args.number)

    def tell(self, result: Commented) -> list[Told]:
        return [Told(f"comment {result.comment}", "removed")]
