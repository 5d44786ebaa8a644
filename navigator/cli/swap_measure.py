"""`navigator swap measure`: swaps to and fro while nothing waits, and the table of what they took."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from navigator.actions.wire import NoConductor
from navigator.cli import output
from navigator.cli.session import confirmed, locked_dependencies, reading, state_paths
from navigator.cli.swap import swap_alone
from navigator.config.settings import time_scale as scale_of
from navigator.engine.acting import request
from navigator.model.errors import Conflict
from navigator.model.states import LOOP_TASK_STATES, Role
from navigator.model.text import plural

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths
    from navigator.journey.dependencies import Dependencies

COMPLETE = "complete"
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

    Only while no task waits and no conductor runs. It ends on the model that was loaded at the start; Ctrl-C ends it after the
    swap in progress, a second Ctrl-C at once. Every swap is recorded as any other.
    """
    paths = state_paths()
    confirmed(
        f"Swap {plural(round_trips, 'time')} each way? `navigator swap log` says how long each takes.",
        yes=yes,
    )
    with suppress(NoConductor):
        request(paths.socket, "status", {}, timeout=5)
        raise Conflict("A conductor is running.", hint="Stop it with `navigator run --stop`, then try again.")
    with locked_dependencies(paths, time_scale=scale_of(None)) as deps:
        strategy = deps.strategy
        if strategy.both_resident:
            raise Conflict(
                f'Strategy "{strategy.name}" keeps both models loaded: there is no swap to measure.'
            )
        if waiting := len(deps.reader.loop_tasks(LOOP_TASK_STATES)):
            raise Conflict(
                f"{waiting:,} task{'s wait' if waiting != 1 else ' waits'}: swaps are measured only while there is no work.",
                hint="`navigator run --until idle` finishes it first.",
            )
        newest = max((swap.id for swap in deps.reader.swaps(1)), default=0)
        ended = asyncio.run(_measured(deps, round_trips, as_json))
        embedded = strategy.embedded
        if embedded:
            with deps.store.transaction() as tx:
                tx.set_meta("resident", "")
    _show_swaps(paths, newest, round_trips, ended, as_json)
    if embedded and not as_json:
        output.note("The rehearsal's server stopped with this command.")
    if ended not in (COMPLETE, _STOPPED):
        sys.exit(1)


async def _measured(deps: Dependencies, round_trips: int, quiet: bool) -> str:
    """Make the swaps; returns why they ended. The model that was loaded before is loaded again."""
    stop = asyncio.Event()
    this = asyncio.current_task()
    assert this is not None

    def interrupted() -> None:
        if stop.is_set():
            this.cancel()
        stop.set()
        output.note("Stopping after this swap. Ctrl-C again stops at once.")

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupted)
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, this.cancel)
    session, ended = deps.reader.last_seq() + 1, COMPLETE
    try:
        home = await deps.strategy.resident()
        first = [] if home else [Role.GENERATOR]
        home = home or Role.GENERATOR
        away = Role.REVIEWER if home is Role.GENERATOR else Role.GENERATOR
        goal = [*first, *[away, home] * round_trips]
        for made, role in enumerate(goal, 1):
            swap = await swap_alone(deps, role, session)
            words = "" if swap.outcome == "done" else f", {swap.outcome}: {swap.reason}"
            if not quiet:
                output.note(f"{made} of {len(goal)}: to the {role.value} in {swap.seconds:.1f} s{words}")
            if swap.outcome != "done":
                ended = f"a swap failed: {swap.reason}"
            elif stop.is_set() and made < len(goal):
                ended = _STOPPED
            if ended != COMPLETE:
                if await deps.strategy.resident() is not home:
                    await swap_alone(deps, home, session)
                break
    except asyncio.CancelledError:
        ended = _STOPPED
    finally:
        await deps.close()
    return ended


def _show_swaps(paths: StatePaths, newest: int, round_trips: int, ended: str, as_json: bool) -> None:
    """The table of the swaps that were made, or its JSON."""
    from navigator.cli.stats import print_table
    from navigator.model.text import SIMULATED
    from navigator.sheet.statistics.cost import swap_table

    with reading(paths) as store:
        made = [swap for swap in store.swaps(2 * round_trips + 10) if swap.id > newest]
        resident, rehearsal = store.meta("resident", str), store.rehearsal
    found = swap_table(made)
    if as_json:
        output.print_json(
            {
                "asked": round_trips,
                "swaps": len(made),
                "ended": ended,
                "resident": resident or None,
                "rehearsal": rehearsal,
            }
            | found.data
        )
        return
    if rehearsal:
        output.say(SIMULATED, bold=True)
    print_table(found)
    output.say(f"Ended: {ended}. Loaded: {resident or 'nothing'}.")
