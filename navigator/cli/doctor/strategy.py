"""`navigator doctor`, the part about the swap strategy: whether the first swap could begin at all."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from navigator.cli.doctor.item import Item
from navigator.domain.errors import NavigatorError
from navigator.domain.states import Role
from navigator.domain.text import safe_line

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths
    from navigator.config.settings import ServerSettings, Settings

_SYSTEMCTL_SECONDS = 10.0
_ANSWER_SECONDS = 5.0
_OLLAMA_PORT = 11434
_NO_BUS = {
    "user": "Log in to a session of your own (not by su or sudo), or have one kept: loginctl enable-linger. "
    'Where there is no systemd, as in most containers, take another [swap] strategy: "sleep", "command", "managed".',
    "system": "Is systemd process 1 here? Where it is not, as in most containers, take another [swap] strategy: "
    '"sleep", "command", "managed".',
}


def strategy_items(settings: Settings, paths: StatePaths) -> Iterator[Item]:
    """The strategy, made as a run would make it; nothing is started by that."""
    from navigator.serving.swap import AVAILABLE, make_strategy

    strategy = settings.swap.strategy
    if strategy is None:
        listed = " or ".join(f'"{name}"' for name in AVAILABLE)
        hint = f"Put strategy = {listed} under [swap] in the settings; `navigator demo` needs none."
        yield Item("swap strategy", "missing", "none is chosen", hint)
        return
    if strategy not in AVAILABLE:
        words = f"{strategy} is not part of this version"
        yield Item("swap strategy", "missing", words, f"Here are: {', '.join(AVAILABLE)}.")
        return
    if strategy != "rehearsal":
        try:
            make_strategy(settings, paths)
        except NavigatorError as error:
            yield Item("swap strategy", "missing", f"{strategy}: {error.message}", error.hint)
            return
    yield Item("swap strategy", "ok", f"{strategy}: {AVAILABLE[strategy]}")
    if strategy == "systemd":
        yield _manager(settings.swap.systemd.scope)


def _manager(scope: str) -> Item:
    """Whether this scope's systemd answers: the first thing that a swap asks of it."""
    # As model-swap.sh does: without the variable systemctl looks nowhere.
    environment = {"XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}"} | dict(os.environ)
    command = ["systemctl", f"--{scope}", "show", "--property=Version"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=_SYSTEMCTL_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            env=environment,
        )
    except OSError as error:
        return Item("systemd", "missing", f"systemctl cannot be run: {error.strerror}", _NO_BUS[scope])
    except subprocess.TimeoutExpired:
        words = f"systemctl --{scope} did not answer within {_SYSTEMCTL_SECONDS:g} seconds"
        return Item("systemd", "missing", words, _NO_BUS[scope])
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        words = f"systemctl --{scope} does not answer: {safe_line(said[0])}"
        return Item("systemd", "missing", f"{words}; a swap would end with no_systemd", _NO_BUS[scope])
    return Item(
        "systemd", "ok", f"--{scope} answers, {safe_line(done.stdout.decode(errors='replace').strip())}"
    )


def managed_items(settings: Settings, roles: list[Role]) -> Iterator[Item]:
    """Strategy `managed`: whether the server has the models; how they lie in memory is its own affair."""
    for role in roles:
        server = settings.server(role)
        try:
            names = asyncio.run(_names(server))
        except (NavigatorError, TimeoutError):
            continue  # that it does not answer was said already
        yield _held(settings, role, names)


async def _names(server: ServerSettings) -> list[str]:
    from navigator.serving.client.client import ModelClient

    async with asyncio.timeout(_ANSWER_SECONDS), ModelClient(server) as client:
        return list(await client.models())


def _held(settings: Settings, role: Role, names: list[str]) -> Item:
    from navigator.serving.client.names import same_model

    server = settings.server(role)
    label = f"{role.value} model"
    if any(same_model(server.model, name) for name in names):
        return Item(label, "ok", f"{server.base_url} has {server.model}")
    found = f"{server.base_url} does not have {server.model}"
    software = settings.swap.managed.server
    ollama = software == "ollama" or (software == "auto" and urlsplit(server.base_url).port == _OLLAMA_PORT)
    if ollama:
        return Item(label, "missing", found, f"ollama pull {server.model}")
    return Item(
        label, "missing", found, "Let `model` be a name that its /v1/models lists, or add the model there."
    )
