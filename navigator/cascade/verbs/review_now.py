"""Review now: the reviewer is loaded without waiting for the batch to fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.cascade.verbs.base import Told, Verb
from navigator.domain.errors import Conflict, NavigatorError
from navigator.domain.models import Model
from navigator.domain.states import TaskState

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


class ReviewNowArgs(Model):
    """Nothing: it is about all that waits."""


class ReviewNowDone(Model):
    """How many proposals wait for the reviewer."""

    hurry: bool = True
    waiting: int = 0


class ReviewNow(Verb[ReviewNowArgs, ReviewNowDone]):
    """Only a running conductor swaps."""

    name = "review.now"
    args = ReviewNowArgs
    result = ReviewNowDone
    small = True
    needs_conductor = True

    def refuse(self, reader: Reader, args: ReviewNowArgs) -> NavigatorError | None:
        return None if _waiting(reader) else Conflict("Nothing is waiting for review.")

    async def perform(self, deps: Dependencies, args: ReviewNowArgs) -> ReviewNowDone:
        deps.review_now()
        return ReviewNowDone(waiting=_waiting(deps.reader))

    def tell(self, result: ReviewNowDone) -> list[Told]:
        return [Told("reviewer", f"comes next; {result.waiting} waiting for review")]


def _waiting(reader: Reader) -> int:
    return int(reader.counts()["tasks"][TaskState.AWAITING_REVIEW.value])
