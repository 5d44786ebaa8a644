"""`navigator swap measure`: swaps to and fro while nothing waits, and the table of what they took."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import click

from navigator.actions.conducting import Conduct, ConductArgs
from navigator.actions.wire import NoConductor
from navigator.cli import output
from navigator.cli.session import ask, locked_dependencies, reading, state_paths
from navigator.config.paths import StatePaths
from navigator.config.settings import time_scale as scale_of
from navigator.engine.client import request
from navigator.engine.following import ConductorClient
from navigator.engine.measuring import BEGUN, COMPLETE, ENDED, NEW_WORK

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
@click.option("--time-scale", type=float, default=None, help="Rehearsal only: factor on simulated times.")
@output.JSON
def measure(round_trips: int, yes: bool, time_scale: float | None, as_json: bool) -> None:
    """Swap to the reviewer and back, again and again, and print count, mean, median and P95.

    Only while no task waits or runs: new work ends it at the next swap. It ends on the model that was loaded at the start;
    Ctrl-C ends it after the swap in progress, a second Ctrl-C at once. Every swap is recorded as any other.
    """
    from navigator.config.settings import load_settings
    from navigator.model.errors import Conflict
    from navigator.swap import make_strategy

    paths = state_paths()
    strategy = make_strategy(load_settings(), paths)
    if strategy.both_resident:
        raise Conflict(f'Strategy "{strategy.name}" keeps both models loaded: there is no swap to measure.')
    verb = Conduct()
    args = ConductArgs(do="measure", round_trips=round_trips)
    with reading(paths) as store:
        verb.require(store, args)
        newest = max((swap.id for swap in store.swaps(1)), default=0)
    ask(verb, args, yes=yes)
    watch = _Watch(as_json)
    try:
        asyncio.run(_through_conductor(paths, args, watch))
    except NoConductor:
        if watch.begun:
            raise
        _measure_alone(paths, args, watch, scale_of(time_scale))
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
    begun: bool = False
    ended: Callable[[], None] = field(default=lambda: None)

    def hear(self, kind: str, data: dict[str, Any]) -> None:
        """One event of the conductor."""
        if kind == "swap_added" and self.begun:
            self.made += 1
            of = f" of {self.goal}" if self.made <= self.goal else ""
            words = "" if data.get("outcome") == "done" else f", {data.get('outcome')}: {data.get('reason')}"
            if not self.quiet:
                output.note(f"{self.made}{of}: to the {data['to']} in {data['seconds']:.1f} s{words}")
        elif kind == BEGUN:
            self.goal, self.begun = int(data["swaps"]), True
        elif kind == ENDED:
            self.reason = str(data["reason"])
            self.ended()


async def _through_conductor(paths: StatePaths, args: ConductArgs, watch: _Watch) -> None:
    """Have the running conductor measure, and wait for its end.

    Raises:
        NoConductor: none answers, or it stopped meanwhile.
    """
    over = asyncio.Event()
    watch.ended = over.set

    def hear(message: dict[str, Any]) -> None:
        event = message.get("event")
        if isinstance(event, dict):
            watch.hear(str(event.get("kind")), event.get("data") or {})

    stops: list[asyncio.Task[Any]] = []
    client = ConductorClient(paths.socket, hear, over.set)
    await client.connect()
    try:
        await client.request(Conduct.name, args.model_dump(mode="json"))

        def interrupted() -> None:
            if stops:
                over.set()
                return
            output.note(
                "Stopping after this swap. Ctrl-C again returns at once; the conductor finishes by itself."
            )
            stops.append(
                asyncio.create_task(client.request(Conduct.name, {"do": "measure", "round_trips": 0}))
            )

        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted)
        await over.wait()
    finally:
        with suppress(NoConductor):
            await client.close()
    if not watch.reason:
        if stops:
            watch.reason = _STOPPED
            return
        raise NoConductor(
            "The conductor stopped during the measurement.", hint="Run `navigator swap status`."
        )


def _measure_alone(paths: StatePaths, args: ConductArgs, watch: _Watch, scale: float) -> None:
    """Measure in a conductor of this process, which does no task: others can still queue and decide."""
    from navigator.cli.run import log_to
    from navigator.engine.conductor import Conductor, RunOptions
    from navigator.model.secrets import Redactor

    redact = Redactor()
    log_to(paths, redact)
    with locked_dependencies(paths, redact=redact, time_scale=scale) as deps:

        async def session() -> None:
            conductor = Conductor(
                deps,
                RunOptions(until="idle", measure=args.round_trips),
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
        with suppress(NoConductor):
            request(paths.socket, "status", {}, timeout=5)
            return
        output.note("`navigator run` starts it.")
