"""`navigator swap`: show which model is on the GPU, change it, and list past swaps."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from navigator.actions.wire import NoConductor
from navigator.cli import output
from navigator.cli.lazy import LazyGroup
from navigator.cli.session import locked_dependencies, reading, state_paths
from navigator.cli.status import swapping
from navigator.config.settings import time_scale as scale_of
from navigator.engine.acting import request
from navigator.engine.following import ConductorClient
from navigator.model.models import Swap, age_seconds, utc_now
from navigator.model.states import Role

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths
    from navigator.journey.dependencies import Dependencies
    from navigator.swap.base import PhaseEvent


@click.group(
    cls=LazyGroup,
    table={
        "status": ("swap", "Show which model is resident, the state of each server, and the GPU's memory"),
        "to": ("swap", "Make a model resident"),
        "log": ("swap", "List the newest swaps"),
        "measure": ("swap_measure", "Swap there and back, again and again, and print what it took"),
        "install": ("swap_install", "Write the model servers' units, their keys and swap.conf"),
    },
)
def swap() -> None:
    """Show and change the model on the GPU."""


@click.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(as_json: bool) -> None:
    """Show which model is resident, the state of each server, and the GPU's memory."""
    from navigator.config.settings import load_settings
    from navigator.swap import look_at_servers, make_strategy
    from navigator.swap.gpu import cards
    from navigator.swap.remote.machine import servers_machine
    from navigator.swap.remote.ssh import ConnectionLost

    paths, settings = state_paths(), load_settings()
    try:
        live: dict[str, Any] | None = request(paths.socket, "status", {}, timeout=5)
    except NoConductor:
        live = None
    if live is None:
        strategy = make_strategy(settings, paths)
        name, both = strategy.name, strategy.both_resident

        async def seen() -> Role | None:
            return await strategy.resident()

        found = asyncio.run(seen())
        resident = found.value if found else None
    else:
        name, both, resident = live["strategy"], live["both_resident"], live["resident"]
    looks = look_at_servers(settings, paths)
    found_cards = []
    with suppress(ConnectionLost), servers_machine(settings) as machine:  # the servers' states say so
        found_cards = cards(machine)
    document: dict[str, Any] = {
        "resident": resident,
        "both_resident": both,
        "strategy": name,
        "conductor": live is not None,
        "swapping_to": live["swapping_to"] if live else None,
        "wanted": live["wanted"] if live else None,
        "given_up": live["given_up"] if live else {},
        "last_known": _last_known(paths),
        "servers": [look.document() for look in looks],
        "gpu": [
            {"name": card.name, "total_mib": card.total_mib, "used_mib": card.used_mib}
            for card in found_cards
        ],
    }
    if as_json:
        output.print_json(document)
        return
    _show_status(document)


def _last_known(paths: StatePaths) -> dict[str, Any] | None:
    """The role last recorded as resident, and how long ago; None before the first record."""
    with reading(paths) as store:
        at, noted = store.newest_event("resident")
    if not at:
        return None
    return {"role": noted.get("role") or None, "at": at, "age_seconds": round(age_seconds(at), 1)}


def _show_status(document: dict[str, Any]) -> None:
    held = document["resident"] or "nothing"
    if document["both_resident"]:
        ready = [server["role"] for server in document["servers"] if server["state"] == "ready"]
        held = "both" if {"generator", "reviewer"} <= set(ready) else ", ".join(ready) or "nothing"
    output.say(f"resident: {held} (strategy {document['strategy']})")
    known = document["last_known"]
    if document["resident"] is None and known and known["role"]:
        output.say(f"last known: {known['role']}, {output.duration(known['age_seconds'])} ago")
    if document["swapping_to"]:
        output.say(swapping(document["swapping_to"], document["resident"]))
    elif document["wanted"]:
        output.say(f"{document['wanted']} loads when current work finishes")
    for role, reason in document["given_up"].items():
        output.say(
            f"{role} is disabled after repeated failures: {reason} `navigator swap to {role}` tries again."
        )
    rows = [
        (
            server["role"],
            server["state"].replace("_", " "),
            server["served"] or server["model"],
            "" if server["running"] is None else f"{server['running']} running, {server['waiting']} waiting",
            server["address"],
        )
        for server in document["servers"]
    ]
    output.emit(output.table(("role", "state", "model", "load", "address"), rows))
    for server in document["servers"]:
        if server["problem"]:
            output.say(f"{server['role']}: {server['problem']} {server['remedy']}".rstrip())
    for card in document["gpu"]:
        output.say(f"{card['name']}: {card['used_mib']:,} of {card['total_mib']:,} MiB in use")


_NONE = "none"


@click.command("to")
@click.argument("role", type=click.Choice([Role.GENERATOR.value, Role.REVIEWER.value, _NONE]))
@output.JSON
def to(role: str, as_json: bool) -> None:
    """Make ROLE's model resident and print each phase. Does nothing if it is resident already.

    A running conductor swaps when current work finishes, and then continues by its own rules. With strategy sleep, "none" puts
    the server that is awake to sleep, so that the other one can be started.
    """
    if role == _NONE:
        _rest(as_json)
        return
    paths, embedded = state_paths(), False
    try:
        made = asyncio.run(_through_conductor(paths, Role(role)))
    except NoConductor:
        with locked_dependencies(paths, time_scale=scale_of(None)) as deps:
            made, embedded = asyncio.run(swap_alone(deps, Role(role))), deps.strategy.embedded
    if as_json:
        output.print_json(made.model_dump(mode="json", by_alias=True))
    else:
        _say_ended(made.outcome, made.seconds, made.reason)
        if embedded:
            output.note("The rehearsal's server stopped with this command.")
    if made.outcome != "done":
        sys.exit(1)


async def _through_conductor(paths: StatePaths, role: Role) -> Swap:
    """Ask the conductor, print phases as they come, and return the swap from the store.

    Raises:
        NoConductor: none answers, or it stopped meanwhile.
    """
    ended, lost = asyncio.Event(), asyncio.Event()

    def hear(message: dict[str, Any]) -> None:
        live, event = message.get("live"), message.get("event")
        told = live.get("swap") if isinstance(live, dict) else None
        if isinstance(told, dict) and told.get("to") == role.value and told.get("state"):
            _note_phase(told["phase"], told["state"], float(told.get("seconds") or 0.0), "")
        added = isinstance(event, dict) and event.get("kind") == "swap_added" and event.get("data")
        if added and added.get("to") == role.value:
            ended.set()

    client = ConductorClient(paths.socket, hear, lost.set)
    await client.connect()
    try:
        answer = await client.request("conduct", {"do": "swap", "role": role.value})
        if answer["already"]:
            strategy = (await client.request("status"))["strategy"]
            return Swap(to_role=role, strategy=strategy, started=utc_now(), reason="already resident")
        if answer["in_hand"]:
            output.note(f"waiting for {answer['in_hand']} running tasks")
        waits = [asyncio.create_task(event.wait()) for event in (ended, lost)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
    finally:
        with suppress(NoConductor):
            await client.close()
    if not ended.is_set():
        raise NoConductor("The conductor stopped during the swap.", hint="Run `navigator swap status`.")
    with reading(paths) as store:
        return next(swap for swap in store.swaps(20) if swap.to_role is role)


async def swap_alone(deps: Dependencies, role: Role, session: int = 0) -> Swap:
    """Swap in this process, under the lock that it holds, and record it.

    Args:
        session: of a measurement, to which the swap belongs; the rehearsal's process then goes on.
    """
    from navigator.engine.swapping import CanaryWatch, confirmed, first_answer, garbage
    from navigator.journey.recovery import Storage
    from navigator.model.states import CanaryOutcome

    strategy = deps.strategy
    origin, started, began = await strategy.resident(), utc_now(), time.monotonic()
    both = strategy.both_resident
    known: dict[str, Any] = {
        "from_role": origin,
        "to_role": role,
        "strategy": strategy.name,
        "started": started,
        "session": session,
    }
    try:
        result, there = await confirmed(strategy, role, await strategy.swap(role, _tell_event))
        if result.outcome == "done" and origin is not role and not both:
            watch = CanaryWatch(deps, Storage(deps, lambda reason: None))
            result, found = await first_answer(watch, role, result, _tell_event)
            if found is not None and found.outcome is CanaryOutcome.GARBAGE:
                result = replace(result, outcome="failed", failure="garbage", reason=garbage(found))
    except asyncio.CancelledError:
        cut = Swap(**known, outcome="failed", failure="cancelled", reason="Interrupted during the swap.")
        _keep(deps, cut, "")
        raise
    finally:
        if strategy.embedded and not session:
            await strategy.close()  # nothing else would stop its process
    made = Swap(
        **known,
        phases=result.phases,
        seconds=round(time.monotonic() - began, 3),
        outcome=result.outcome,
        reason=result.reason,
        failure=result.failure,
    )
    if origin is not role and not both:
        left = None if strategy.embedded and not session else there  # the rehearsal's process has just ended
        _keep(deps, made, left.value if left is not None else "")
    return made


def _rest(as_json: bool) -> None:
    from navigator.model.errors import Conflict

    paths = state_paths()
    with suppress(NoConductor):
        request(paths.socket, "status", {}, timeout=5)
        raise Conflict("A conductor is running.", hint="Stop it with `navigator run --stop`, then try again.")
    with locked_dependencies(paths) as deps:
        result = asyncio.run(deps.strategy.rest(_tell_event))
        with deps.store.transaction() as tx:
            tx.set_meta("resident", "")
            tx.event("resident", data={"role": ""})
    if as_json:
        output.print_json({"outcome": result.outcome, "seconds": result.seconds, "reason": result.reason})
    else:
        _say_ended(result.outcome, result.seconds, result.reason)
    if result.outcome != "done":
        sys.exit(1)


def _keep(deps: Dependencies, made: Swap, resident: str) -> None:
    with deps.store.transaction() as tx:
        tx.add_swap(made)
        tx.set_meta("resident", resident)
        tx.event("resident", data={"role": resident})


def _note_phase(phase: str, state: str, seconds: float, detail: str) -> None:
    output.note(f"swap phase={phase} state={state} t={seconds:.3f}{' detail=' + detail if detail else ''}")


def _tell_event(event: PhaseEvent) -> None:
    _note_phase(event.phase, event.state, event.seconds, event.detail)


def _say_ended(outcome: str, seconds: float, reason: str) -> None:
    output.say(f"{outcome.replace('_', ' ')} in {seconds:.1f} s{': ' + reason if reason else ''}")


@click.command("log")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Number of swaps.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def log(limit: int, as_json: bool) -> None:
    """List the newest swaps: phases in seconds, why one failed, how much of the weights was in memory, and what was
    done meanwhile."""
    with reading() as store:
        found, rehearsal = store.swaps(limit), store.rehearsal
    if as_json:
        swaps = [made.model_dump(mode="json", by_alias=True) for made in found]
        output.print_json({"swaps": swaps, "rehearsal": rehearsal})
        return
    rows = [
        (
            made.started[:19].replace("T", " "),
            f"{made.from_role.value if made.from_role else 'nothing'} → {made.to_role.value}",
            "" if made.made_by == "outside" else f"{made.seconds:.2f}",
            _outcome_words(made),
            output.percent(made.warm_bytes / made.weight_bytes) if made.weight_bytes else "",
            "  ".join([*(f"{one.name} {one.seconds:.2f}" for one in made.phases), made.reason]).rstrip(),
            "  ".join(f"{work} {seconds:.2f}" for work, seconds in made.filled_with.items()),
        )
        for made in found
    ]
    columns = ("started (UTC)", "swap", "s", "outcome", "warm", "phases", "meanwhile")
    output.emit(output.table(columns, rows, right=(2, 4)) if rows else "No swaps yet.")


def _outcome_words(made: Swap) -> str:
    if made.made_by == "outside":
        return "externally"
    return made.outcome.replace("_", " ") + (f": {made.failure.replace('_', ' ')}" if made.failure else "")
