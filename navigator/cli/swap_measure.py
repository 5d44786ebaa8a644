"""`navigator swap measure`: swaps to and fro while nothing waits, and the table of what they took."""

from __future__ import annotations

import asyncio
import signal
import sys
from dataclasses import dataclass
from typing import Any

import click

from navigator.cli import output
from navigator.cli.session import confirmed, locked_dependencies, reading, state_paths
from navigator.config.paths import StatePaths
from navigator.config.settings import time_scale as scale_of
from navigator.engine.measuring import BEGUN, COMPLETE, ENDED, NEW_WORK
from navigator.model.text import plural

_STOPPED = "you stopped it"


@click.command()
@click.option(
    "-n",
    "round_trips",
    type=click.IntRange(1, 1000),
    default=30,
    show_default=True,
    help="Swaps in each direction.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@output.JSON
def measure(round_trips: int, yes: bool, as_json: bool) -> None:
    """Swap to the reviewer and back, again and again, and print count, mean, median and P95.

    Only while no conductor runs and no task waits: new work ends it at the next swap. It ends on the model that was loaded
    at the start; Ctrl-C ends it after the swap in progress, a second Ctrl-C at once. Every swap is recorded as any other.
    """
    paths = state_paths()
    with reading(paths) as store:
        newest = max((swap.id for swap in store.swaps(1)), default=0)
    confirmed(
        f"Swap {plural(round_trips, 'time')} each way? `navigator swap log` says how long each takes.",
        yes=yes,
    )
    watch = _Watch(as_json)
    _measure_swaps(paths, round_trips, watch)
    _show_swaps(paths, newest, round_trips, watch, as_json)
    if watch.reason not in (COMPLETE, NEW_WORK, _STOPPED):
        sys.exit(1)


@dataclass
class _Watch:
    """What is heard of the measurement. `reason`: why it ended, "" until then."""

    quiet: bool
    goal: int = 0
    made: int = 0
    reason: str = ""

    def hear(self, kind: str, data: dict[str, Any]) -> None:
        """One event of the conductor."""
        if kind == "swap_added" and self.goal:
            self.made += 1
            of = f" of {self.goal}" if self.made <= self.goal else ""
            words = "" if data.get("outcome") == "done" else f", {data.get('outcome')}: {data.get('reason')}"
            if not self.quiet:
                output.note(f"{self.made}{of}: to the {data['to']} in {data['seconds']:.1f} s{words}")
        elif kind == BEGUN:
            self.goal = int(data["swaps"])
        elif kind == ENDED:
            self.reason = str(data["reason"])


def _measure_swaps(paths: StatePaths, round_trips: int, watch: _Watch) -> None:
    """Measure in a conductor of this process, which does no task: others can still queue and decide."""
    from navigator.cli.run import log_to
    from navigator.engine.conductor import Conductor, RunOptions
    from navigator.model.secrets import Redactor

    redact = Redactor()
    log_to(paths, redact)
    with locked_dependencies(paths, redact=redact, time_scale=scale_of(None)) as deps:

        async def session() -> None:
            conductor = Conductor(
                deps,
                RunOptions(until="idle", measure=round_trips),
                lambda event: watch.hear(event.kind, event.data),
            )

            def interrupted() -> None:
                if conductor.stop_measuring():
                    output.note("Stopping after this swap. Ctrl-C again stops at once.")
                else:
                    conductor.stop("stopped by SIGINT")

            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGINT, interrupted)
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, conductor.stop, f"stopped by {number.name}")
            await conductor.run()

        asyncio.run(session())
    watch.reason = watch.reason or _STOPPED


def _show_swaps(paths: StatePaths, newest: int, round_trips: int, watch: _Watch, as_json: bool) -> None:
    """The table of the swaps that were made, or its JSON."""
    from navigator.cli.stats import print_table
    from navigator.model.text import SIMULATED
    from navigator.sheet.statistics.cost import swap_table

    resident = None
    with reading(paths) as store:
        made = [swap for swap in store.swaps(watch.made + 10) if swap.id > newest]
        resident, rehearsal = store.meta("resident", str), store.rehearsal
    found = swap_table(made)
    if as_json:
        output.print_json(
            {
                "asked": round_trips,
                "swaps": len(made),
                "ended": watch.reason,
                "resident": resident or None,
                "rehearsal": rehearsal,
            }
            | found.data
        )
        return
    if rehearsal:
        output.say(SIMULATED, bold=True)
    print_table(found)
    output.say(f"Ended: {watch.reason}. Loaded: {resident or 'nothing'}.")
    if not resident and rehearsal:
        output.note("The rehearsal's server stopped with this command.")
    if watch.reason == NEW_WORK:
        output.note("`navigator run` starts it.")
