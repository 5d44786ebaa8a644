"""Measure swaps: to and fro while nothing waits, and stop doing so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from navigator.cascade.verbs.base import Question, Told, Verb, controls, plural
from navigator.model.errors import NavigatorError
from navigator.model.models import Model
from navigator.model.standing import LOOP_TASK_STATES

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies
    from navigator.store.reads.reader import Reader

_SWAPS = 500
"""Newest swaps that the medians of the estimate are made from."""


class MeasureArgs(Model):
    """Swaps in each direction; `strategy` says whose past swaps the estimate is made from."""

    round_trips: int = Field(default=30, ge=1, le=1000)
    strategy: str = ""


class Measuring(Model):
    """How many swaps will be made."""

    swaps: int


class MeasureSwaps(Verb[MeasureArgs, Measuring]):
    """New work ends it at the next swap."""

    name = "swap.measure"
    args = MeasureArgs
    result = Measuring
    small = True
    needs_conductor = True

    def refuse(self, reader: Reader, args: MeasureArgs) -> NavigatorError | None:
        waiting = len(reader.loop_tasks(LOOP_TASK_STATES))
        if not waiting:
            return None
        from navigator.cascade.measuring import busy

        return busy(waiting)

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
