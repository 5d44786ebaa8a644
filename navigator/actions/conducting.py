"""What a running conductor is asked to do: review now, swap to a role, stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from navigator.actions.base import Question, Told, Verb, controls, plural
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Model
from navigator.model.states import Role, TaskState

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


Doing = Literal["review", "swap", "stop"]


class ConductArgs(Model):
    """What to do: "review" what waits now, "swap" to `role`, or "stop"."""

    do: Doing
    role: Literal[Role.GENERATOR, Role.REVIEWER] = Role.REVIEWER


class Conducted(Model):
    """`waiting`: tasks that await review. `already`: the role is loaded. `in_hand`: tasks that are finished first."""

    do: Doing
    to: Role = Role.REVIEWER
    waiting: int = 0
    already: bool = False
    in_hand: int = 0


class Conduct(Verb[ConductArgs, Conducted]):
    """Load the reviewer before the batch is full, load a role when current work finishes, or stop."""

    name = "conduct"
    args = ConductArgs
    result = Conducted
    small = True
    needs_conductor = True

    def refuse(self, reader: Reader, args: ConductArgs) -> NavigatorError | None:
        if args.do == "review" and not _waiting(reader):
            return Conflict("Nothing is waiting for review.")
        return None

    def question(self, reader: Reader, args: ConductArgs) -> Question | None:
        if args.do != "stop":
            return None
        return Question(
            "Stop the conductor?", ("Work in progress is done again by the next one.",), "stop it"
        )

    async def perform(self, deps: Dependencies, args: ConductArgs) -> Conducted:
        conductor = controls(deps)
        done: dict[str, Any] = {}
        if args.do == "review":
            conductor.review_now()
            done = {"waiting": _waiting(deps.reader)}
        elif args.do == "swap":
            done = {"already": conductor.swap_to(args.role), "in_hand": conductor.running}
        else:
            conductor.stop("stopped by the user")
        return Conducted(do=args.do, to=args.role, **done)

    def tell(self, result: Conducted) -> list[Told]:
        match result:
            case Conducted(do="review"):
                return [Told("reviewer", f"is next; {result.waiting} awaiting review")]
            case Conducted(do="stop"):
                return [Told("conductor", "is stopping; `navigator run` continues where it stopped")]
        if result.already:
            return [Told(result.to.value, "is already loaded")]
        after = f" after {plural(result.in_hand, 'running task')}" if result.in_hand else " next"
        return [Told(result.to.value, f"will be loaded{after}")]


def _waiting(reader: Reader) -> int:
    return int(reader.counts()["tasks"][TaskState.AWAITING_REVIEW.value])


def swap_words(reader: Reader) -> str:
    """What it takes to have the reviewer loaded now, in a sentence."""
    if reader.meta("resident", str) in (Role.REVIEWER.value, "both"):
        return "The reviewer is loaded: no swap."
    there, back, known = swap_seconds(reader)
    return f"It is not loaded: a swap of {there:.1f} s there and {back:.1f} s back ({known})."


def swap_seconds(reader: Reader) -> tuple[float, float, str]:
    """There and back, from this machine's own swaps where there are some, and where the figures are from."""
    from navigator.config.settings import load_settings
    from navigator.sheet.measured import measured_figures

    figures, measured = measured_figures(reader, load_settings().swap)
    known = "measured medians" if {"swap_in", "swap_back"} <= set(measured) else "published times"
    return figures.swap_in, figures.swap_back, "simulated" if reader.rehearsal else known
