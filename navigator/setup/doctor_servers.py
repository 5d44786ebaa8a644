"""`navigator doctor`, the part about model servers, here or on another machine: GPU, model files, units, access."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from navigator.config.paths import resource_dir
from navigator.config.settings import ServerSettings, Settings
from navigator.model.errors import NavigatorError
from navigator.model.states import Role
from navigator.model.text import plural
from navigator.setup.elsewhere import There, servers_machine
from navigator.setup.files import read_text, sealed, state_of
from navigator.setup.install import open_to_others, places_of, program_of_unit, unit_state
from navigator.setup.sglang_flags import FIXED, find_sglang, is_vulnerable
from navigator.setup.speculation import to_look_at
from navigator.swap import strategy_class
from navigator.swap.base import ROLES, Check
from navigator.swap.machine import HERE, Machine, cards, is_local
from navigator.swap.ssh import ConnectionLost
from navigator.swap.weights import model_folder, total_bytes, weight_files

if TYPE_CHECKING:
    from navigator.setup.install import Places
    from navigator.swap.status import ServerLook

_ANSWER_SECONDS = 5.0


def server_items(settings: Settings, *, reached: bool) -> Iterator[Check]:
    """Everything about the servers and their machine. `reached`: the servers' machine answered, as far as is known."""
    if not settings.swap.host:
        yield from serving_items(settings)
    elif reached:
        yield from remote_items(settings)


def context_items(settings: Settings, role: Role) -> Iterator[Check]:
    """Whether the server loaded the model with a shorter context than the settings say: Ollama cuts longer prompts silently."""
    from navigator.setup.servers import look

    server = settings.server(role)
    held = asyncio.run(look(server.base_url, model=server.model)).context
    if held is not None and held < server.context_tokens:
        found = f"loaded with a context of {held:,} tokens; the settings say {server.context_tokens:,}"
        hint = "Start the server with a longer one (Ollama: OLLAMA_CONTEXT_LENGTH), or lower context_tokens."
        yield Check(f"{role.value} context", "warn", found, hint)


def answer_item(look: ServerLook, *, swapped: bool) -> Check:
    """One role's server. `swapped`: a swap starts it."""
    name = look.role.value
    if look.state == "ready":
        return Check(name, "ok", f"{look.address} serves {look.served or 'a model it does not name'}")
    if look.state in ("asleep", "not loaded"):
        now = f"{look.address}: {look.state}; a swap loads it"
        if look.served:
            now = f"{look.address} serves {look.served} now; a swap changes it"
        elif look.down:
            now = f"not running at {look.address}; a swap starts it"
        return Check(name, "ok", now)
    if swapped and look.state == "silent":
        return Check(name, "warn", f"not running at {look.address}; a swap starts it")
    state: Literal["warn", "missing"] = "warn" if look.state in ("loading", "paused", "unsure") else "missing"
    return Check(name, state, look.problem or f"{look.address}: {look.state}", look.remedy)


def card_items(on: Machine = HERE) -> Iterator[Check]:
    """The GPUs, as nvidia-smi shows them."""
    name = "GPU there" if on.host else "GPU"
    found = cards(on)
    for card in found:
        held = f"{card.used_mib} MiB of {card.total_mib} MiB in use, driver {card.driver}"
        yield Check(name, "ok", f"{card.name}, {held}")
    if on.host and not found:
        hint = "Check the driver there: without it a swap cannot wait until GPU memory is free."
        yield Check(name, "warn", f"nvidia-smi on {on.host} shows no GPU", hint)


def serving_items(settings: Settings) -> Iterator[Check]:
    """Everything about servers on this machine. Nothing is started or stopped."""
    if settings.swap.strategy is None:
        return
    strategy = strategy_class(settings.swap.strategy)
    if strategy.embedded:
        return
    local = [role for role in ROLES if is_local(settings.server(role).base_url)]
    if strategy.uses_units:
        yield from unit_items(settings, places_of(settings.swap.systemd.scope))
    for role in local:
        if strategy.checks_files:
            yield from _check_files(settings, role, units=strategy.uses_units)
        yield from _access(settings, role)


# Units


def unit_items(settings: Settings, places: Places) -> Iterator[Check]:
    """The installed units, and what they run."""
    own, on = settings.swap.systemd, places.on
    command = f"navigator swap install{f' --host {on.host}' if on.host else ''}"
    install = f"`{command} --dry-run` shows what it would write."
    for name in (own.generator_unit, own.reviewer_unit):
        path = places.unit(name)
        state = state_of(path, on)
        label = name.removesuffix(".service").removeprefix("navigator-") + " unit"
        if state == "absent":
            yield Check(label, "warn", f"{path} does not exist", install)
            continue
        words = {
            "ours": "as installed",
            "changed": "changed since it was installed",
            "foreign": "not written by Navigator",
        }
        found = f"{name}: {words[state]}, {unit_state(places, name)}"
        program = program_of_unit(read_text(path, on) or "")
        there = on.run(["test", "-e", program], _ANSWER_SECONDS) if program else None
        if there is not None and there.code == 1:
            yield Check(label, "missing", f"{found}; its program {program} does not exist", install)
        elif state == "changed":
            yield Check(
                label, "warn", found, "Put your changes into a drop-in (systemctl edit): it survives updates."
            )
        else:
            yield Check(label, "ok", found)
    yield from _installed_versions(places, (own.generator_unit, own.reviewer_unit))


def _installed_versions(places: Places, units: tuple[str, str]) -> Iterator[Check]:
    """The SGLang that each unit starts, named once if both share it, and what its speculation was decided for."""
    texts = [text for name in units if (text := read_text(places.unit(name), places.on)) is not None]
    programs = {program_of_unit(text) for text in texts if "sglang" in text}
    for program in sorted(filter(None, programs)):
        if not Path(program).name.startswith(("python", "sglang")):
            continue  # the user's own script: what it starts is unknown
        with contextlib.suppress(NavigatorError):  # without SGLang the unit fails with its own message
            found = find_sglang(program, places.on)
            assert found is not None
            yield _vulnerable("SGLang", found.version)
            for text in texts:
                changed = program_of_unit(text) == program and to_look_at(text, found.version, places.on)
                if changed:
                    hint = "Measure again: `navigator lab speculation measure PLAN --write`."
                    yield Check("speculation", "warn", f"measured under other conditions: {changed}", hint)


def _check_files(settings: Settings, role: Role, *, units: bool) -> Iterator[Check]:
    server = settings.server(role)
    dirs = settings.swap.model_dirs
    files = weight_files(server.model, dirs)
    where = model_folder(server.model, dirs)
    label = f"{role.value} files"
    if files:
        size = f"{total_bytes(files) / 1e9:.1f} GB"
        yield Check(label, "ok", f"{size} in {plural(len(files), 'file')}, {where}")
    elif units:  # another strategy's server knows where its files are
        hint = "Set model_dirs under [swap] to the folder of your models"
        hint += f", or run `hf download {server.model}`." if "/" in server.model else "."
        yield Check(label, "warn", f"no weight files of {server.model} found", hint)


# Access: who can use the server


def _access(settings: Settings, role: Role) -> Iterator[Check]:
    server = settings.server(role)
    port = urlsplit(server.base_url).port or 80
    others = open_to_others(port)
    label = f"{role.value} access"
    if others is None:
        return
    if others:
        hint = "Start it with --host 127.0.0.1: anyone who reaches this port can use the server, and may take it over."
        yield Check(label, "warn", f"port {port} is open to the network", hint)
    with contextlib.suppress(NavigatorError, TimeoutError):
        # Only SGLang can be taken over through its API, and only it tells its version.
        if version := asyncio.run(_version(server)):
            yield _vulnerable(f"{role.value} version", version)


async def _version(server: ServerSettings) -> str:
    """SGLang's version; "" of another server."""
    from navigator.client.client import ModelClient

    async with asyncio.timeout(_ANSWER_SECONDS), ModelClient(server) as client:
        return str((await client.server_info()).get("version", ""))


def _vulnerable(label: str, version: str) -> Check:
    if not is_vulnerable(version):
        return Check(label, "ok", f"SGLang {version}: no known vulnerability")
    found = f"SGLang {version}: known vulnerabilities let others run code on the server"
    return Check(label, "warn", found, f"Install {FIXED} or newer, and set both keys.")


# The machine that the model servers run on, where it is another one


def remote_items(settings: Settings) -> Iterator[Check]:
    """What a swap needs on the other machine. Nothing is started or changed there."""
    try:
        with servers_machine(settings) as machine:
            assert isinstance(machine, There)
            yield from _items(settings, machine)
    except ConnectionLost as error:
        yield Check("ssh", "missing", error.message, error.hint)


def _items(settings: Settings, there: There) -> Iterator[Check]:
    yield from card_items(there)
    yield _script(settings, there, places_of("user", there).scripts or Path())
    yield from unit_items(settings, places_of(settings.swap.systemd.scope, there))


def _script(settings: Settings, there: There, folder: Path) -> Check:
    own = settings.swap.script
    path = Path(own) if own else folder / "model-swap.sh"
    text = read_text(path, there)
    hint = f"`navigator swap install --host {there.host}` puts it there."
    if text is None:
        return Check("swap script", "missing", f"{path} is not on {there.host}", "" if own else hint)
    packaged = sealed((resource_dir("swap") / "model-swap.sh").read_text("utf-8"))
    if own or text == packaged:
        return Check("swap script", "ok", f"{there.host}:{path}")
    return Check("swap script", "warn", f"{there.host}:{path} is of another version, or changed", hint)
