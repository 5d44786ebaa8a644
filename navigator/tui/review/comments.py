"""Comments on lines, in Review: where one is written, and keeping, changing or removing it."""

from __future__ import annotations

from dataclasses import dataclass

from navigator.cascade.verbs.comment import AddComment, CommentArgs, RemoveComment, RemoveCommentArgs
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.states import ProposalState
from navigator.tui.base import BaseApp
from navigator.tui.data.drafts import DraftKeeper
from navigator.tui.diff.model import find_line
from navigator.tui.diff.view import DiffView
from navigator.tui.review.context import ReviewContext, SavedComment, comment_key
from navigator.tui.verbs import send


@dataclass(frozen=True, slots=True)
class CommentPlace:
    """What is being commented on. `line` is 1-based, 0 for the whole file; `changing` is the comment that is edited."""

    proposal: str
    path: str
    side: str
    line: int
    quote: str
    changing: SavedComment | None = None

    @property
    def key(self) -> str:
        """The key of its draft."""
        number = self.changing.number if self.changing is not None else 0
        return comment_key(self.proposal, self.side, self.line, self.path, number)

    @property
    def title(self) -> str:
        """`billing/totals.py:24`."""
        removed = " (removed)" if self.side == "old" else ""
        return f"{self.path}:{self.line}{removed}" if self.line else self.path


def place_at_cursor(
    context: ReviewContext, proposal: str, diff: DiffView, *, between: bool, undo_key: str
) -> CommentPlace:
    """Where a comment goes that is begun now: a new one on the line under the cursor, or the comment that is there.

    Args:
        proposal: the version shown.
        between: the diff shows what changed since the round before.
        undo_key: the key that takes a decision back, for the message.

    Raises:
        Conflict: no comment can be made here.
    """
    if context.current.state is not ProposalState.OPEN:
        raise Conflict(
            f"{context.current.id} is decided; a comment would not be sent.",
            hint=f"{undo_key} takes the decision back.",
        )
    found = next((c for c in context.comments if f"c{c.number}" == diff.current_key and not c.sent), None)
    if found is not None:
        return CommentPlace(proposal, found.path, found.side, found.line, found.quote, found)
    at = diff.location
    if not at.path:
        raise UsageError("No line is under the cursor.")
    if at.side == "old" and between:
        raise UsageError("That line belongs to the round before; comment on it there.")
    return CommentPlace(proposal, at.path, at.side, at.line or 0, _quote(diff))


def _quote(diff: DiffView) -> str:
    """The text of the line under the cursor."""
    at = diff.location
    if at.line is None:
        return ""
    ref = find_line(diff.files, at.path, at.side, at.line)
    return "" if ref is None else diff.files[ref.file].hunks[ref.hunk].lines[ref.line].text


async def save(app: BaseApp, place: CommentPlace, text: str, drafts: DraftKeeper) -> None:
    """Keep a finished comment and drop its draft; an emptied one is removed. What cannot be kept stays a draft."""
    changing, kept = place.changing, text.strip()
    try:
        if kept and (changing is None or kept != changing.text):
            on = changing.proposal if changing is not None else place.proposal
            args = CommentArgs(
                proposal=on, path=place.path, side=place.side, line=place.line, quote=place.quote, text=kept
            )
            await send(app, AddComment(), args)
        if changing is not None and kept != changing.text:
            await send(app, RemoveComment(), RemoveCommentArgs(number=changing.number))
    except NavigatorError as error:
        drafts.keep(place.key, text)
        app.toast(f"{error} Your text is kept as a draft.", "error")
    else:
        drafts.keep(place.key, "")
    await drafts.flush()
