"""How the configured servers are. Asks only those, and blocks: call it in a thread."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Literal

from navigator.config.paths import StatePaths
from navigator.config.settings import ServerSettings, Settings
from navigator.domain.errors import NavigatorError
from navigator.domain.states import Role
from navigator.serving.chat import Load

State = Literal["ready", "other", "loading", "silent", "not loaded", "unusable"]


@dataclass(frozen=True, slots=True)
class ServerLook:
    """One role's server at one moment.

    Attributes:
        state: "ready" answers with the wanted model; "other" serves another one; "loading" is up and not healthy;
            "silent" does not answer; "not loaded" is a rehearsal's process that does not run; "unusable" cannot be
            asked (no key, say).
        served: what it says it serves; untrusted.
        seconds: of the health question; None where it was not answered.
        problem: a sentence, "" where there is none.
    """

    role: Role
    wanted: str
    address: str
    state: State
    served: str = ""
    seconds: float | None = None
    load: Load | None = None
    problem: str = ""


def look_at_servers(settings: Settings, paths: StatePaths) -> tuple[ServerLook, ...]:
    """Ask each configured server for its health, its model and its load. Needs an event loop of its own."""
    return asyncio.run(_all(settings, paths))


async def _all(settings: Settings, paths: StatePaths) -> tuple[ServerLook, ...]:
    roles = [Role.GENERATOR, Role.REVIEWER, *([Role.FINAL] if settings.final.enabled else [])]
    return tuple(await asyncio.gather(*(_look(settings, paths, role) for role in roles)))


async def _look(settings: Settings, paths: StatePaths, role: Role) -> ServerLook:
    server = settings.server(role)
    if settings.swap.strategy == "rehearsal" and role is not Role.FINAL:
        found = _rehearsed(server, paths, role)
        if found is None:
            return ServerLook(role, server.model, "a process of its own", "not loaded")
        server = found
    blank = ServerLook(role, server.model, server.base_url, "silent")
    try:
        return await _ask(server, blank)
    except NavigatorError as error:
        return replace(blank, state="unusable", problem=error.message)


async def _ask(server: ServerSettings, blank: ServerLook) -> ServerLook:
    from navigator.serving.chat import Timeouts
    from navigator.serving.client import ModelClient
    from navigator.serving.errors import ServingError, WrongModel
    from navigator.serving.retry import RetryPolicy

    # SGLang answers a health question by generating a token, and may take a second or two when it is busy.
    patience = Timeouts(connect=1.0, probe=2.0, health=5.0)
    async with ModelClient(server, timeouts=patience, retry=RetryPolicy()) as client:
        began = time.monotonic()
        healthy = await client.health()
        took = time.monotonic() - began
        try:
            info = await client.require_model()
        except WrongModel:
            return replace(blank, state="other", served=", ".join(await client.models()), seconds=took)
        except ServingError as error:
            return replace(blank, state="silent", problem=error.message)
        served = ", ".join(info.names[:3])
        if not healthy:
            return replace(blank, state="loading", served=served)
        return replace(blank, state="ready", served=served, seconds=took, load=await client.load())


def _rehearsed(server: ServerSettings, paths: StatePaths, role: Role) -> ServerSettings | None:
    """Where the rehearsal's process for a role listens; None where none runs."""
    from navigator.serving.swap import processes
    from navigator.serving.swap.rehearsal import MODELS

    record = processes.load(paths.rehearsal / "server.json")
    if record is None or record.role != role.value or not record.port or not processes.is_alive(record):
        return None
    address = f"http://127.0.0.1:{record.port}"
    return server.model_copy(update={"model": MODELS[role], "base_url": address, "api_key_env": ""})
