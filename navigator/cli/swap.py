"""`navigator swap`: what the GPU holds, change it, and the log of changes."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from navigator.cascade.socket.client import ConductorClient, request
from navigator.cascade.socket.wire import NoConductor
from navigator.cli import output
from navigator.cli.session import locked_dependencies, reading, state_paths
from navigator.config.settings import time_scale as scale_of
from navigator.domain.models import Swap, utc_now
from navigator.domain.states import Role

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies
    from navigator.config.paths import StatePaths


class _WithInstall(click.Group):
    """The group, with `install` imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command."""
        return sorted([*super().list_commands(ctx), "install"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command by its name."""
        if cmd_name != "install":
            return super().get_command(ctx, cmd_name)
        from navigator.cli.swap_install import install

        return install


@click.group(cls=_WithInstall)
def swap() -> None:
    """What the GPU holds; change it; the log of swaps."""


@swap.command("status")
@click.option("--json", "as_json", is_flag=True)
def status(as_json: bool) -> None:
    """What is resident, what each server says of itself now, what the GPU's memory holds."""
    from navigator.config.settings import load_settings
    from navigator.serving.setup.gpu import cards
    from navigator.serving.swap import look_at_servers, make_strategy

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
            {"name": card.name, "total_mib": card.total_mib, "used_mib": card.used_mib} for card in cards()
        ],
    }
    if as_json:
        output.print_json(document)
        return
    _show_status(document)


def _last_known(paths: StatePaths) -> dict[str, Any] | None:
    """Who was last noted to be resident, and how long ago; None before the first note."""
    with reading(paths) as store:
        noted = store.last_event("resident")
    if noted is None:
        return None
    moment = datetime.fromisoformat(noted.at.replace("Z", "+00:00"))
    age = max(0.0, (datetime.now(UTC) - moment).total_seconds())
    return {"role": noted.data.get("role") or None, "at": noted.at, "age_seconds": round(age, 1)}


def _show_status(document: dict[str, Any]) -> None:
    held = "both" if document["both_resident"] and document["resident"] else document["resident"] or "nothing"
    output.say(f"resident: {held} (strategy {document['strategy']})")
    known = document["last_known"]
    if document["resident"] is None and known and known["role"]:
        output.say(f"last known: {known['role']}, {output.duration(known['age_seconds'])} ago")
    if document["swapping_to"]:
        output.say(f"swapping to {document['swapping_to']}")
    elif document["wanted"]:
        output.say(f"{document['wanted']} was asked for and comes once what is in hand has ended")
    for role, reason in document["given_up"].items():
        output.say(f"{role} is given up: {reason} `navigator swap to {role}` tries again.")
    rows = [
        (
            server["role"],
            server["state"].replace("_", " "),
            server["served"] or server["model"],
            "" if server["running"] is None else f"{server['running']} running, {server['waiting']} waiting",
            server["address"],
            server["problem"],
        )
        for server in document["servers"]
    ]
    output.emit(output.table(("role", "state", "model", "load", "at", ""), rows))
    for card in document["gpu"]:
        output.say(f"{card['name']}: {card['used_mib']:,} of {card['total_mib']:,} MiB in use")


@swap.command("to")
@click.argument("role", type=click.Choice([Role.GENERATOR.value, Role.REVIEWER.value]))
@click.option("--time-scale", type=float, default=None, help="The rehearsal's.")
@click.option("--json", "as_json", is_flag=True)
def to(role: str, time_scale: float | None, as_json: bool) -> None:
    """Make ROLE's model resident, its phases told as they come; does nothing where it is already.

    Where a conductor runs, it swaps once what is in hand has ended, and then goes on by its own rules.
    """
    paths = state_paths()
    try:
        made = asyncio.run(_through_conductor(paths, Role(role)))
    except NoConductor:
        with locked_dependencies(paths, time_scale=scale_of(time_scale)) as deps:
            made = asyncio.run(_alone(deps, Role(role)))
    if as_json:
        output.print_json(made.model_dump(mode="json", by_alias=True))
    else:
        output.say(f"{made.outcome} in {made.seconds:.1f} s {made.reason}".rstrip())
        if made.rehearsal and not made.id:
            output.note("The rehearsal's server ended with the command that started it.")
    if made.outcome != "done":
        sys.exit(1)


async def _through_conductor(paths: StatePaths, role: Role) -> Swap:
    """Ask the conductor, tell phases as they come, and return the swap as it stands in the store.

    Raises:
        NoConductor: none answers, or it went away.
    """
    ended, lost = asyncio.Event(), asyncio.Event()

    def hear(message: dict[str, Any]) -> None:
        live, event = message.get("live"), message.get("event")
        told = live.get("swap") if isinstance(live, dict) else None
        if isinstance(told, dict) and told.get("to") == role.value and told.get("state"):
            _tell(told["phase"], told["state"], float(told.get("seconds") or 0.0))
        added = isinstance(event, dict) and event.get("kind") == "swap_added" and event.get("data")
        if added and added.get("to") == role.value:
            ended.set()

    client = ConductorClient(paths.socket, hear, lost.set)
    await client.connect()
    try:
        answer = await client.request("swap.to", {"role": role.value})
        if answer["already"]:
            strategy = (await client.request("status"))["strategy"]
            return Swap(to_role=role, strategy=strategy, started=utc_now(), reason="already resident")
        if answer["in_hand"]:
            output.note(f"waits for {answer['in_hand']} tasks in hand")
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
        raise NoConductor("The conductor went away in mid-swap.", hint="`navigator swap status` looks again.")
    with reading(paths) as store:
        return next(swap for swap in store.swaps(20) if swap.to_role is role)


async def _alone(deps: Dependencies, role: Role) -> Swap:
    """Swap in this process, under the lock that it holds, and write it down."""
    strategy = deps.strategy
    origin, started = await strategy.resident(), utc_now()
    both = strategy.both_resident
    known: dict[str, Any] = {
        "from_role": origin,
        "to_role": role,
        "strategy": strategy.name,
        "started": started,
    }
    known["rehearsal"] = strategy.rehearsal
    try:
        result = await strategy.swap(role, lambda event: _tell(event.phase, event.state, event.seconds))
    except asyncio.CancelledError:
        cut = Swap(**known, outcome="failed", failure="cancelled", reason="Told to stop in mid-swap.")
        _keep(deps, cut, "")
        raise
    finally:
        if strategy.rehearsal:
            await strategy.close()  # a process that nobody would end
    made = Swap(
        **known,
        phases=result.phases,
        seconds=result.seconds,
        outcome=result.outcome,
        reason=result.reason,
        failure=result.failure,
    )
    if origin is not role and not both:
        there = await strategy.resident()
        _keep(deps, made, there.value if there is not None else "")
    return made


@swap.command("rest")
@click.option("--json", "as_json", is_flag=True)
def rest(as_json: bool) -> None:
    """Strategy sleep: put the server that is awake to sleep, so that the other one can be started."""
    from navigator.domain.errors import Conflict, UsageError
    from navigator.serving.swap.strategies.sleep import SleepStrategy

    paths = state_paths()
    with suppress(NoConductor):
        request(paths.socket, "status", {}, timeout=5)
        raise Conflict("A conductor works here.", hint="`navigator stop` ends it; then try again.")
    with locked_dependencies(paths) as deps:
        strategy = deps.strategy
        if not isinstance(strategy, SleepStrategy):
            raise UsageError(
                f'Strategy "{strategy.name}" has no servers that sleep.', hint="This is for strategy sleep."
            )
        result = asyncio.run(strategy.rest(lambda event: _tell(event.phase, event.state, event.seconds)))
        with deps.store.transaction() as tx:
            tx.set_meta("resident", "")
            tx.event("resident", data={"role": ""})
    if as_json:
        output.print_json({"outcome": result.outcome, "seconds": result.seconds, "reason": result.reason})
    else:
        output.say(f"{result.outcome} in {result.seconds:.1f} s {result.reason}".rstrip())
    if result.outcome != "done":
        sys.exit(1)


def _keep(deps: Dependencies, made: Swap, resident: str) -> None:
    with deps.store.transaction() as tx:
        tx.add_swap(made)
        tx.set_meta("resident", resident)
        tx.event("resident", data={"role": resident})


def _tell(phase: str, state: str, seconds: float) -> None:
    output.note(f"swap phase={phase} state={state} t={seconds:.3f}")


@swap.command("log")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def log(limit: int, as_json: bool) -> None:
    """The newest swaps: phases in seconds, why one failed, whose hand it was, how warm the weights were."""
    with reading() as store:
        found = store.swaps(limit)
    if as_json:
        output.print_json({"swaps": [made.model_dump(mode="json", by_alias=True) for made in found]})
        return
    if not found:
        output.say("No swap yet.")
        return
    rows = [
        (
            made.started[:19].replace("T", " "),
            f"{made.from_role.value if made.from_role else 'nothing'} → {made.to_role.value}",
            "" if made.made_by == "outside" else f"{made.seconds:.2f}",
            _outcome(made),
            output.percent(made.warm_bytes / made.weight_bytes) if made.weight_bytes else "",
            "  ".join(f"{phase.name} {phase.seconds:.2f}" for phase in made.phases)
            + (f"  {made.reason}" if made.reason else ""),
        )
        for made in found
    ]
    output.emit(output.table(("started (UTC)", "swap", "s", "outcome", "warm", "phases"), rows, right=(2, 4)))


def _outcome(made: Swap) -> str:
    if made.made_by == "outside":
        return "by other hands"
    words = made.outcome.replace("_", " ") + (f": {made.failure.replace('_', ' ')}" if made.failure else "")
    return words + (" REHEARSAL" if made.rehearsal else "")
