"""What a running conductor is asked to do: review now, swap to a role, stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from navigator.actions.base import Question, Told, Verb, controls, plural
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Model
from navigator.model.states import LOOP_TASK_STATES, Role, TaskState

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
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


# Measure swaps: to and fro while nothing waits, and stop doing so.

_SWAPS = 500
"""Newest swaps that the medians of the estimate are made from."""


class MeasureArgs(Model):
    """Swaps in each direction; `strategy` says whose past swaps the estimate is made from."""

    round_trips: int = Field(default=30, ge=1, le=1000)
    strategy: str = ""


class Measuring(Model):
    """How many swaps will be made."""

    swaps: int


def busy(waiting: int) -> Conflict:
    """Why swaps are not measured now."""
    tasks = "1 task waits or runs" if waiting == 1 else f"{waiting:,} tasks wait or run"
    return Conflict(
        f"{tasks}: swaps are measured only while there is no work.",
        hint="`navigator run --until idle` finishes it first.",
    )


class MeasureSwaps(Verb[MeasureArgs, Measuring]):
    """New work ends it at the next swap."""

    name = "swap.measure"
    args = MeasureArgs
    result = Measuring
    small = True
    needs_conductor = True

    def refuse(self, reader: Reader, args: MeasureArgs) -> NavigatorError | None:
        waiting = len(reader.loop_tasks(LOOP_TASK_STATES))
        return busy(waiting) if waiting else None

    def question(self, reader: Reader, args: MeasureArgs) -> Question:
        from navigator.figures.swaps import usual_swap
        from navigator.schedule.forecast import PUBLISHED

        swaps = reader.swaps(_SWAPS)
        ways = (("generator", "reviewer"), ("reviewer", "generator"))
        measured = [usual_swap(swaps, origin, to, args.strategy) for origin, to in ways]
        known = all(measured)
        there, back = (
            found.seconds.median if found and found.seconds else published
            for found, published in zip(measured, (PUBLISHED.swap_in, PUBLISHED.swap_back), strict=True)
        )
        source = "measured medians" if known else "published times; not both are measured here yet"
        minutes = args.round_trips * (there + back) / 60
        return Question(
            f"Swap {plural(args.round_trips, 'time')} each way?",
            (
                f"This takes about {minutes:.0f} min: {there:.1f} s to the reviewer, {back:.1f} s back ({source}).",
                "New work ends it at the next swap. Ctrl-C ends it and loads the model that is loaded now.",
            ),
            "swap",
        )

    async def perform(self, deps: Dependencies, args: MeasureArgs) -> Measuring:
        self.require(deps.reader, args)
        return Measuring(swaps=controls(deps).measure(args.round_trips))

    def tell(self, result: Measuring) -> list[Told]:
        return [Told("conductor", f"makes {plural(result.swaps, 'swap')} to measure them")]


class StopMeasuringArgs(Model):
    """No arguments."""


class MeasuringStopped(Model):
    """Whether swaps were being measured."""

    was_running: bool


class StopMeasuring(Verb[StopMeasuringArgs, MeasuringStopped]):
    """After the swap in progress the model that was loaded before is loaded again."""

    name = "swap.measure.stop"
    args = StopMeasuringArgs
    result = MeasuringStopped
    small = True
    needs_conductor = True

    async def perform(self, deps: Dependencies, args: StopMeasuringArgs) -> MeasuringStopped:
        return MeasuringStopped(was_running=controls(deps).stop_measuring())

    def tell(self, result: MeasuringStopped) -> list[Told]:
        if not result.was_running:
            return [Told("conductor", "measures no swaps")]
        return [Told("conductor", "stops measuring after the swap in progress")]
