"""`navigator doctor`, the part about the machine that the model servers run on, where it is another one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from navigator.cli.doctor.serving import unit_items
from navigator.config.settings import Settings
from navigator.model.text import safe_line
from navigator.swap.base import ROLES, Check

if TYPE_CHECKING:
    from navigator.swap.remote.machine import There

_SECONDS = 15.0


def remote_items(settings: Settings) -> Iterator[Check]:
    """What a swap needs on the other machine. Nothing is started or changed there."""
    from navigator.swap.remote.machine import There, servers_machine
    from navigator.swap.remote.ssh import ConnectionLost

    try:
        with servers_machine(settings) as machine:
            assert isinstance(machine, There)
            yield from _items(settings, machine)
    except ConnectionLost as error:
        yield Check("ssh", "missing", error.message, error.hint)


def _items(settings: Settings, there: There) -> Iterator[Check]:
    from navigator.setup.places import places_on, system_places
    from navigator.swap.gpu import cards

    found = cards(there)
    for card in found:
        held = f"{card.used_mib} MiB of {card.total_mib} MiB in use, driver {card.driver}"
        yield Check("GPU there", "ok", f"{card.name}, {held}")
    if not found:
        hint = "Check the driver there; free GPU memory cannot be waited for without it."
        yield Check("GPU there", "warn", f"nvidia-smi on {there.host} shows no GPU", hint)
    mine = places_on(there)
    yield _script(settings, there, mine.scripts or Path())
    if settings.swap.systemd.scope == "user":
        yield from unit_items(settings, mine)
        yield from _linger(there)
    else:
        yield from unit_items(settings, system_places(there))
    yield from _ports(settings, there)


def _script(settings: Settings, there: There, folder: Path) -> Check:
    from navigator.config.paths import resource_dir
    from navigator.setup.files import read_text, sealed, state_of

    own = settings.swap.script
    path = Path(own) if own else folder / "model-swap.sh"
    text = read_text(path, there)
    hint = f"`navigator swap install --host {there.host}` puts it there."
    if text is None:
        return Check("swap script", "missing", f"{path} is not on {there.host}", "" if own else hint)
    packaged = sealed((resource_dir("swap") / "model-swap.sh").read_text("utf-8"))
    if own or text == packaged:
        return Check("swap script", "ok", f"{there.host}:{path}")
    words = "of another version" if state_of(path, there) == "ours" else "changed since it was installed"
    return Check("swap script", "warn", f"{there.host}:{path} is {words}", hint)


def _linger(there: There) -> Iterator[Check]:
    """Whether systemd keeps the user's units without a login."""
    asking = 'loginctl show-user "$(id -un)" --property=Linger --value'
    done = there.run(("bash", "-c", asking), _SECONDS)
    said = safe_line(done.out.decode(errors="replace").strip()) if done is not None else ""
    if said == "yes":
        yield Check("linger", "ok", f"units on {there.host} run without a login")
    else:
        hint = (
            f"Run `ssh {there.host} loginctl enable-linger`: else the servers end when the connection does."
        )
        yield Check(
            "linger", "warn", f"units on {there.host} need a login ({said or 'loginctl does not say'})", hint
        )


def _ports(settings: Settings, there: There) -> Iterator[Check]:
    from navigator.setup.host_probe import open_to_others

    done = there.run(("cat", "/proc/net/tcp", "/proc/net/tcp6"), _SECONDS)
    text = done.out.decode(errors="replace") if done is not None else ""
    for port in sorted({urlsplit(settings.server(role).base_url).port or 80 for role in ROLES}):
        others = open_to_others(port, text)
        if others:
            hint = "Start the server with --host 127.0.0.1: the tunnel needs no more, and whoever reaches this port can use it."
            yield Check("access", "warn", f"port {port} of {there.host} is open to the network", hint)
        elif others is not None:
            yield Check("access", "ok", f"port {port} of {there.host} is open to that machine only")
