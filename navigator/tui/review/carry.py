"""Comments carried over to another round: found again by the line they quote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from navigator.domain.models import Proposal
from navigator.tui.diff.model import Comment, Side
from navigator.tui.review.context import Remark, ReviewContext


def found_again(lines: Sequence[str], quote: str, line: int) -> int | None:
    """The line (1-based) that says what was quoted, the nearest to where it stood; None when none does.

    An exact line wins over one that differs in blanks. A quote of blanks alone is not looked for.
    """
    wanted = quote.strip()
    if not wanted:
        return None
    exact = [number for number, text in enumerate(lines, 1) if text == quote]
    places = exact or [number for number, text in enumerate(lines, 1) if text.strip() == wanted]
    return min(places, key=lambda number: (abs(number - line), number), default=None)


def carried(
    context: ReviewContext,
    shown: Proposal,
    new_lines: Mapping[str, Sequence[str]],
    *,
    old_is_base: bool = True,
) -> list[Comment]:
    """Every comment of the task as it stands on the version shown.

    Args:
        new_lines: the files of the version shown that carry comments, by path; a file that is gone is left out.
        old_is_base: the old side of the diff shown is the base; where it is an earlier round, comments on removed lines
            stand on the file as a whole.
    """
    comments = [
        Comment(
            f"c{remark.number}",
            remark.path,
            _line(remark, shown, new_lines, old_is_base),
            remark.text,
            side=_side(remark.side),
            state=_state(remark.sent),
        )
        for remark in context.remarks
    ]
    comments += [
        Comment(
            f"d{index}",
            draft.path,
            draft.line or None,
            draft.text,
            side=_side(draft.side),
            author="you, not finished",
        )
        for index, draft in enumerate(context.unfinished)
        if draft.proposal == shown.id
    ]
    return comments


def _line(
    remark: Remark, shown: Proposal, new_lines: Mapping[str, Sequence[str]], old_is_base: bool
) -> int | None:
    if not remark.line:
        return None
    if remark.side == "old":
        return remark.line if old_is_base and remark.proposal == shown.id else None
    if remark.proposal == shown.id:
        return remark.line
    return found_again(new_lines.get(remark.path, ()), remark.quote, remark.line)


def _side(word: str) -> Side:
    return "old" if word == "old" else "new"


def _state(sent: bool) -> Literal["draft", "sent"]:
    return "sent" if sent else "draft"
