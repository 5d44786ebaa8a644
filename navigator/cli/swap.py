"""`navigator swap`: what the GPU holds, change it, and the log of changes."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click

from navigator.cascade.client import request
from navigator.cascade.wire import NoConductor
from navigator.cli import output
from navigator.cli.session import own_world, reading, state_paths
from navigator.config.settings import time_scale as scale_of
from navigator.domain.errors import Conflict
from navigator.domain.models import Swap, utc_now
from navigator.domain.states import Role


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
    """Which role's model answers right now, as observed."""
    from navigator.config.settings import load_settings
    from navigator.serving.swap import make_strategy

    paths = state_paths()
    try:
        live = request(paths.socket, "status", {}, timeout=5)
        document: dict[str, Any] = {
            "resident": live["resident"],
            "strategy": live["strategy"],
            "conductor": True,
        }
        document["swapping_to"] = live["swapping_to"]
    except NoConductor:
        strategy = make_strategy(load_settings(), paths)

        async def look() -> Role | None:
            return await strategy.resident()

        found = asyncio.run(look())
        document = {
            "resident": found.value if found else None,
            "strategy": strategy.name,
            "conductor": False,
            "swapping_to": None,
        }
    if as_json:
        output.print_json(document)
        return
    output.say(f"resident: {document['resident'] or 'nothing'} (strategy {document['strategy']})")
    if document["swapping_to"]:
        output.say(f"swapping to {document['swapping_to']}")


@swap.command("to")
@click.argument("role", type=click.Choice([Role.GENERATOR.value, Role.REVIEWER.value]))
@click.option("--time-scale", type=float, default=None, help="The rehearsal's.")
@click.option("--json", "as_json", is_flag=True)
def to(role: str, time_scale: float | None, as_json: bool) -> None:
    """Make ROLE's model resident; does nothing where it is already."""
    paths = state_paths()
    try:
        request(paths.socket, "status", {}, timeout=5)
        raise Conflict(
            "A conductor works here and swaps by itself.", hint="Stop it first, or let it do its work."
        )
    except NoConductor:
        pass  # the GPU is ours to give, under the lock taken below
    with own_world(paths, time_scale=scale_of(time_scale)) as world:

        async def change() -> Swap:
            origin, started = await world.strategy.resident(), utc_now()
            result = await world.strategy.swap(
                Role(role),
                lambda event: output.note(
                    f"swap phase={event.phase} state={event.state} t={event.seconds:.3f}"
                ),
            )
            made = Swap(
                from_role=origin,
                to_role=Role(role),
                strategy=world.strategy.name,
                started=started,
                phases=result.phases,
                seconds=result.seconds,
                outcome=result.outcome,
                reason=result.reason,
                rehearsal=world.strategy.rehearsal,
            )
            if origin is not Role(role):
                with world.store.transaction() as tx:
                    tx.add_swap(made)
                    tx.set_meta("resident", role if result.outcome == "done" else "")
            return made

        made = asyncio.run(change())
    if as_json:
        output.print_json(made.model_dump(mode="json", by_alias=True))
    else:
        output.say(f"{made.outcome} in {made.seconds:.1f} s {made.reason}".rstrip())
    if made.outcome != "done":
        sys.exit(1)


@swap.command("log")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--json", "as_json", is_flag=True)
def log(limit: int, as_json: bool) -> None:
    """The newest swaps, with their phases in seconds."""
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
            f"{made.seconds:.2f}",
            made.outcome + (" REHEARSAL" if made.rehearsal else ""),
            "  ".join(f"{phase.name} {phase.seconds:.2f}" for phase in made.phases)
            + (f"  warm {100 * made.warm_bytes / made.weight_bytes:.0f}%" if made.weight_bytes else "")
            + (f"  {made.reason}" if made.reason else ""),
        )
        for made in found
    ]
    output.emit(output.table(("started (UTC)", "swap", "s", "outcome", "phases"), rows, right=(2,)))
