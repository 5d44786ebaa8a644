"""`navigator swap`: show which model is on the GPU, change it, list past swaps, and measure them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click

from navigator.cli import output
from navigator.cli.command import Commands, Value, command, switch_given
from navigator.cli.session import (
    confirmed,
    live_status,
    locked_dependencies,
    reading,
    require_no_conductor,
    state_paths,
)
from navigator.cli.status import swapping
from navigator.config.paths import resource_dir
from navigator.config.settings import load_settings
from navigator.engine.following import ConductorClient
from navigator.engine.wire import NoConductor
from navigator.model.errors import Conflict, UsageError
from navigator.model.models import Swap, utc_now
from navigator.model.states import LOOP_TASK_STATES, Role
from navigator.model.text import SIMULATED, plural
from navigator.rehearsal.engine import time_scale as scale_of
from navigator.swap.base import OTHER

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths
    from navigator.journey.dependencies import Dependencies
    from navigator.swap.base import SwapResult


@click.group(cls=Commands)
def swap() -> None:
    """Show and change the model on the GPU."""


@command(swap)
def status() -> None:
    """Show which model is resident, the state of each server, and the GPU's memory."""
    from navigator.setup.elsewhere import servers_machine
    from navigator.swap import look_at_servers, make_strategy
    from navigator.swap.machine import cards
    from navigator.swap.ssh import ConnectionLost

    paths, settings, live = state_paths(), load_settings(), live_status()
    if live is None:
        strategy = make_strategy(settings, paths)
        now: dict[str, Any] = {
            "resident": asyncio.run(strategy.resident()),
            "both_resident": strategy.both_resident,
            "strategy": strategy.name,
        }
    else:
        now = live
    looks = look_at_servers(settings, paths)
    found_cards = []
    # The server states below report a lost connection
    with suppress(ConnectionLost), servers_machine(settings) as machine:
        found_cards = cards(machine)
    document: dict[str, Any] = {
        **{key: now[key] for key in ("resident", "both_resident", "strategy")},
        "conductor": live is not None,
        "swapping_to": now.get("swapping_to"),
        "wanted": now.get("wanted"),
        "given_up": now.get("given_up", {}),
        "servers": looks,
        "gpu": found_cards,
    }
    output.show(document, _show_status)


def _show_status(document: dict[str, Any]) -> None:
    servers = [look.document() for look in document["servers"]]
    held = document["resident"] or "nothing"
    if document["both_resident"]:
        ready = [server["role"] for server in servers if server["state"] == "ready"]
        held = "both" if {"generator", "reviewer"} <= set(ready) else ", ".join(ready) or "nothing"
    output.say(f"resident: {held} (strategy {document['strategy']})")
    if document["swapping_to"]:
        output.say(swapping(document["swapping_to"], document["resident"]))
    elif document["wanted"]:
        output.say(f"{document['wanted']} loads when current work finishes")
    output.table(
        servers,
        ("role", lambda server: server["role"]),
        ("state", lambda server: server["state"].replace("_", " ")),
        ("model", lambda server: server["served"] or server["model"]),
        (
            "load",
            lambda at: "" if at["running"] is None else f"{at['running']} running, {at['waiting']} waiting",
        ),
        ("address", lambda server: server["address"]),
    )
    for server in servers:
        if server["problem"]:
            output.say(f"{server['role']}: {server['problem']} {server['remedy']}".rstrip())
    for card in document["gpu"]:
        output.say(f"{card.name}: {card.used_mib:,} of {card.total_mib:,} MiB in use")


_Target = Literal["generator", "reviewer", "none"]


@command(swap)
def to(role: _Target) -> None:
    """Make ROLE's model resident and print each phase. Does nothing if it is resident already.

    A running conductor swaps when current work finishes, and then continues by its own rules. With strategy sleep, "none" puts
    the server that is awake to sleep, so that the other one can be started.
    """
    if role == "none":
        _sleep_current()
        return
    paths = state_paths()
    try:
        made = asyncio.run(_through_conductor(paths, Role(role)))
    except NoConductor:
        with locked_dependencies(paths, time_scale=scale_of(None)) as deps:
            made = asyncio.run(_alone(deps, Role(role)))
    output.show(made, _say_ended, code=made.outcome != "done")


async def _through_conductor(paths: StatePaths, role: Role) -> Swap:
    """Ask the conductor, print phases as they come, and return the swap from the store.

    Raises:
        NoConductor: none answers, or it stopped meanwhile.
    """
    ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def end(*, swapped: bool) -> None:
        if not ended.done():
            ended.set_result(swapped)

    def hear(message: dict[str, Any]) -> None:
        live, event = message.get("live"), message.get("event")
        if isinstance(live, dict):
            _tell_phase(live)
        added = isinstance(event, dict) and event.get("kind") == "swap_added" and event.get("data")
        if added and added.get("to") == role.value:
            end(swapped=True)

    async with ConductorClient(paths.socket, hear, lambda: end(swapped=False)) as client:
        answer = await client.request("conduct", {"do": "swap", "role": role.value})
        if answer["already"]:
            return _unrecorded(role, (await client.request("status"))["strategy"])
        if answer["in_hand"]:
            output.note(f"waiting for {answer['in_hand']} running tasks")
        if not await ended:
            raise NoConductor("The conductor stopped during the swap.", hint="Run `navigator swap status`.")
    with reading(paths) as store:
        return next(swap for swap in store.swaps(20) if swap.to_role is role)


def _unrecorded(role: Role, strategy: str, reason: str = "already resident", outcome: str = "done") -> Swap:
    return Swap(to_role=role, strategy=strategy, started=utc_now(), outcome=outcome, reason=reason)


async def _alone(deps: Dependencies, role: Role) -> Swap:
    async with _local_swaps(deps) as swap:
        return await swap(role)


@asynccontextmanager
async def _local_swaps(deps: Dependencies) -> AsyncIterator[Callable[[Role], Awaitable[Swap]]]:
    """Swap within this process, under the lock it holds; recorded as a conductor would."""
    from navigator.engine.conductor_state import ConductorState
    from navigator.engine.residency import Batches, Residency
    from navigator.engine.summary import SessionSummary
    from navigator.journey.recovery import Storage

    live, session, strategy = ConductorState(), SessionSummary(deps), deps.servers.strategy
    storage = Storage(deps, lambda reason: None)
    residency = Residency(deps, live, session, storage, Batches(deps), lambda: None)
    deps.on_live = _tell_phase
    live.resident = await strategy.resident()

    async def swap(role: Role) -> Swap:
        if strategy.both_resident:  # its server answers, or it does not: nothing is swapped
            found = await strategy.swap(role, lambda event: None)
            return _unrecorded(role, strategy.name, found.reason, found.outcome)
        if live.resident is role:
            return _unrecorded(role, strategy.name)
        live.wanted = role  # so that it is recorded, too, where the servers' machine cannot be reached
        await residency.swap(role)
        return session.swaps[-1]

    try:
        yield swap
    except asyncio.CancelledError:
        live.resident = None  # what it left behind is not known
        raise
    finally:
        await residency.warmth.close()
        await deps.servers.close()
        if strategy.embedded:
            live.resident = None  # its process has just ended
        if not strategy.both_resident:
            residency.note()


def _sleep_current() -> None:
    """Put the server that is awake to sleep."""
    require_no_conductor()
    with locked_dependencies(state_paths()) as deps:
        result = asyncio.run(deps.servers.strategy.rest(lambda event: _tell_phase({"swap": asdict(event)})))
        with deps.store.transaction() as tx:
            tx.set_meta("resident", "")
            tx.event("resident", data={"role": ""})
    told = {"outcome": result.outcome, "seconds": result.seconds, "reason": result.reason}
    output.show(told, lambda _: _say_ended(result), code=result.outcome != "done")


def _tell_phase(live: dict[str, Any]) -> None:
    """A line for a phase of a swap that begins or ends."""
    told = live.get("swap")
    if isinstance(told, dict) and told.get("state"):
        output.note(f"swap phase={told['phase']} state={told['state']} t={float(told['seconds']):.3f}")


def _say_ended(made: Swap | SwapResult) -> None:
    reason = f": {made.reason}" if made.reason else ""
    output.say(f"{made.outcome.replace('_', ' ')} in {made.seconds:.1f} s{reason}")


@command(swap)
def log() -> None:
    """List the 20 newest swaps: phases in seconds, and why one failed."""
    with reading() as store:
        found, rehearsal = store.swaps(20), store.rehearsal
    output.show({"swaps": found, "rehearsal": rehearsal}, lambda _: _show_log(found))


def _show_log(found: list[Swap]) -> None:
    output.table(
        found,
        ("started (UTC)", lambda made: made.started[:19].replace("T", " ")),
        (
            "swap",
            lambda made: f"{made.from_role.value if made.from_role else 'nothing'} → {made.to_role.value}",
        ),
        ("s", lambda made: "" if made.made_by == "outside" else f"{made.seconds:.2f}"),
        ("outcome", _outcome_words),
        ("phases", _phases),
        ("meanwhile", lambda made: "  ".join(f"{work} {s:.2f}" for work, s in made.filled_with.items())),
        empty="No swaps yet.",
    )


def _phases(made: Swap) -> str:
    return "  ".join([*(f"{one.name} {one.seconds:.2f}" for one in made.phases), made.reason]).rstrip()


def _outcome_words(made: Swap) -> str:
    if made.made_by == "outside":
        return "externally"
    return made.outcome.replace("_", " ") + (f": {made.failure.replace('_', ' ')}" if made.failure else "")


# Swaps to and fro while nothing waits, and the table of what they took

COMPLETE = "complete"


@command(swap, yes=True)
def measure(*, n: Annotated[int, Value(type=click.IntRange(1, 1000))] = 30) -> None:
    """Swap to the reviewer and back, again and again, and print count, mean, median and P95.

    Only while no task waits and no conductor runs. It ends on the model that was loaded at the start. Every swap is recorded as
    any other.

    Args:
        n: Swaps in each direction.
    """
    confirmed(f"Swap {plural(n, 'time')} each way? `navigator swap log` says how long each takes.")
    require_no_conductor()
    paths = state_paths()
    with locked_dependencies(paths, time_scale=scale_of(None)) as deps:
        strategy = deps.servers.strategy
        if strategy.both_resident:
            raise Conflict(
                f'Strategy "{strategy.name}" keeps both models loaded: there is no swap to measure.'
            )
        if waiting := len(deps.reader.loop_tasks(LOOP_TASK_STATES, deps.settings.routing.writer)):
            raise Conflict(
                f"{waiting:,} task{'s wait' if waiting != 1 else ' waits'}: swaps are measured only while there is no work.",
                hint="`navigator run --until idle` finishes it first.",
            )
        newest = max((swap.id for swap in deps.reader.swaps(1)), default=0)
        ended = asyncio.run(_measured(deps, n))
    _show_swaps(paths, newest, n, ended)


async def _measured(deps: Dependencies, round_trips: int) -> str:
    """Make the swaps; returns why they ended. The model that was loaded before is loaded again."""
    async with _local_swaps(deps) as swap:
        home = await deps.servers.strategy.resident()
        first = [] if home else [Role.GENERATOR]
        home = home or Role.GENERATOR
        goal = [*first, *[OTHER[home], home] * round_trips]
        for made, role in enumerate(goal, 1):
            one = await swap(role)
            words = "" if one.outcome == "done" else f", {one.outcome}: {one.reason}"
            output.note(f"{made} of {len(goal)}: to the {role.value} in {one.seconds:.1f} s{words}")
            if one.outcome != "done":
                await swap(home)
                return f"a swap failed: {one.reason}"
    return COMPLETE


def _show_swaps(paths: StatePaths, newest: int, asked: int, ended: str) -> None:
    """The table of the swaps that were made, or its JSON."""
    from navigator.figures.cost import swap_table

    with reading(paths) as store:
        made = [swap for swap in store.swaps(2 * asked + 10) if swap.id > newest]
        resident, rehearsal = store.meta("resident", str), store.rehearsal
    found = swap_table(made)
    beside = {"asked": asked, "swaps": len(made), "ended": ended}

    def text(_: object) -> None:
        if rehearsal:
            output.say(SIMULATED, bold=True)
        output.tables([found], "No swap was made.")
        output.say(f"Ended: {ended}. Loaded: {resident or 'nothing'}.")

    document = beside | {"resident": resident or None, "rehearsal": rehearsal} | found.data
    output.show(document, text, code=ended != COMPLETE)


# The model servers' units, their keys and swap.conf


@command(swap, yes=True)
def install(
    *,
    profile: str | None = None,
    host: str | None = None,
    sglang: str | None = None,
    sleep: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
) -> None:
    """Write the model servers' units, their keys and swap.conf, after showing them and asking.

    Args:
        profile: A packaged pair of models, or the path of a .toml file.
        host: Install on another machine, by ssh: a name that ssh knows, or user@host.
        sglang: SGLang's virtual environment, or its python.
        sleep: Set up servers that both stay up (strategy sleep).
        overwrite: Also overwrite files that were changed, or not written by Navigator.
        dry_run: Show the changes without writing them.
    """
    from navigator.setup.files import action_for, refuse_foreign, shown_diff
    from navigator.setup.install import carry_out, places_at, reload_systemd
    from navigator.setup.profiles import profile_names
    from navigator.setup.render import next_steps, prepared, render, settings_snippet

    with places_at(host) as places:
        if profile is None:
            listed = ", ".join(profile_names(resource_dir("swap") / "profiles"))
            raise UsageError("No profile is named.", hint=f"Use --profile NAME. Profiles: {listed}.")
        wanted, left_out = prepared(profile, places, sglang, asleep=sleep, note=output.note)
        files = render(wanted)
        changes = [planned for planned in files if action_for(planned) != "same"]
        document: dict[str, Any] = {
            "host": places.on.host,
            "profile": wanted.profile.name,
            "sglang": {"version": wanted.known.version, "python": wanted.python, "left_out": left_out},
            "files": [
                {"host": each.on.host, "path": each.path, "action": action_for(each)} for each in files
            ],
            "dry_run": dry_run,
            "written": False,
            "reload": "",
            "settings": settings_snippet(wanted),
        }
        output.note(f"Every flag was checked by the parser of SGLang {wanted.known.version}.")
        if left_out:
            output.note(f"Left out, because this version does not have them: {', '.join(left_out)}.")
        if not switch_given("--json"):
            output.say("\n".join(map(shown_diff, changes)) or "Everything is up to date.")
        if changes and not dry_run:
            if not overwrite:
                refuse_foreign(changes)
            confirmed(f"Write {plural(len(changes), 'file')}?")
            carry_out(changes)
            document |= {"written": True, "reload": reload_systemd(places)}
    steps = "\n".join(next_steps(wanted, reload=document["reload"], written=not dry_run))
    output.show(document, lambda _: output.note(steps), code=bool(document["reload"]))
