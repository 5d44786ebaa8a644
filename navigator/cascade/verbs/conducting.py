"""What a running conductor is asked to do: review now, swap to a role, stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from navigator.cascade.verbs.base import Question, Told, Verb, controls, plural
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Model
from navigator.model.states import Role, TaskState

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


class Nothing(Model):
    """No arguments."""


class ReviewNowDone(Model):
    """How many tasks await review."""

    hurry: bool = True
    waiting: int = 0


class ReviewNow(Verb[Nothing, ReviewNowDone]):
    """The reviewer is loaded without waiting for the batch to fill."""

    name = "review.now"
    args = Nothing
    result = ReviewNowDone
    small = True
    needs_conductor = True

    def refuse(self, reader: Reader, args: Nothing) -> NavigatorError | None:
        return None if _waiting(reader) else Conflict("Nothing is waiting for review.")

    async def perform(self, deps: Dependencies, args: Nothing) -> ReviewNowDone:
        controls(deps).review_now()
        return ReviewNowDone(waiting=_waiting(deps.reader))

    def tell(self, result: ReviewNowDone) -> list[Told]:
        return [Told("reviewer", f"is next; {result.waiting} awaiting review")]


class SwapArgs(Model):
    """The role to load."""

    role: Literal[Role.GENERATOR, Role.REVIEWER]


class SwapAsked(Model):
    """`already`: it is loaded. `in_hand`: tasks that are finished first."""

    to: Role
    already: bool
    in_hand: int


class SwapTo(Verb[SwapArgs, SwapAsked]):
    """The role is loaded when current work finishes; then the scheduler decides again."""

    name = "swap.to"
    args = SwapArgs
    result = SwapAsked
    small = True
    needs_conductor = True

    async def perform(self, deps: Dependencies, args: SwapArgs) -> SwapAsked:
        conductor = controls(deps)
        already = conductor.swap_to(args.role)
        return SwapAsked(to=args.role, already=already, in_hand=conductor.running)

    def tell(self, result: SwapAsked) -> list[Told]:
        if result.already:
            return [Told(result.to.value, "is already loaded")]
        after = f" after {plural(result.in_hand, 'running task')}" if result.in_hand else " next"
        return [Told(result.to.value, f"will be loaded{after}")]


class StopDone(Model):
    """The conductor ends soon."""

    stopping: bool = True


class Stop(Verb[Nothing, StopDone]):
    """Work in progress is done again by the next conductor."""

    name = "stop"
    args = Nothing
    result = StopDone
    small = True
    needs_conductor = True

    def question(self, reader: Reader, args: Nothing) -> Question:
        return Question(
            "Stop the conductor?", ("Work in progress is done again by the next one.",), "stop it"
        )

    async def perform(self, deps: Dependencies, args: Nothing) -> StopDone:
        controls(deps).stop("stopped by the user")
        return StopDone()

    def tell(self, result: StopDone) -> list[Told]:
        return [Told("conductor", "is stopping; `navigator run` continues where it stopped")]


def _waiting(reader: Reader) -> int:
    return int(reader.counts()["tasks"][TaskState.AWAITING_REVIEW.value])
