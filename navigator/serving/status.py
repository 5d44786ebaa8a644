"""How the configured servers are, for people to look at. Nothing is changed, nothing is loaded, no token is generated.

SGLang's `/health` is never asked here: it writes a token each time, takes a second or more, and ends a server that has let go of
its memory. Its `/ready` says the same for nothing where there is one (0.5.23); an older one counts as ready once it lists its
model.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Any, Literal

from navigator.config.paths import StatePaths
from navigator.config.settings import ServerSettings, Settings
from navigator.domain.errors import NavigatorError
from navigator.domain.states import Role
from navigator.serving.client.chat import Load

State = Literal["ready", "other", "loading", "silent", "not loaded", "unusable", "asleep", "paused", "unsure"]
_PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class ServerLook:
    """One role's server at one moment.

    Attributes:
        state: "ready" answers with the wanted model; "other" serves another one; "loading" is up and takes no work yet;
            "silent" does not answer; "not loaded" is a rehearsal's process that does not run, or a model that its server
            has not loaded; "asleep" has let go of the GPU; "paused" holds it and takes no work; "unsure" was cut off in
            mid-swap; "unusable" cannot be asked (no key, say).
        served: what it says it serves; untrusted.
        seconds: it took to say so; None where it did not.
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

    def document(self) -> dict[str, Any]:
        """As `navigator swap status --json` prints it."""
        return {
            "role": self.role.value,
            "model": self.wanted,
            "address": self.address,
            "state": self.state.replace(" ", "_"),
            "served": self.served,
            "running": self.load.running if self.load else None,
            "waiting": self.load.waiting if self.load else None,
            "token_usage": self.load.token_usage if self.load else None,
            "problem": self.problem,
        }


def look_at_servers(settings: Settings, paths: StatePaths) -> tuple[ServerLook, ...]:
    """Ask each configured server what it serves and how busy it is. Blocks, and needs an event loop of its own."""
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
        look = await _ask(server, blank)
        if role is Role.FINAL or look.state not in ("ready", "loading"):
            return look
        if settings.swap.strategy == "sleep":
            return await _sleeping(settings, paths, role, look)
        if look.state == "ready" and settings.swap.strategy == "managed":
            return await _managed(settings, role, look)
    except NavigatorError as error:
        return replace(blank, state="unusable", problem=error.message)
    return look


async def _ask(server: ServerSettings, blank: ServerLook) -> ServerLook:
    from navigator.serving.client.chat import Timeouts
    from navigator.serving.client.client import ModelClient
    from navigator.serving.client.errors import ServingError, WrongModel

    patience = Timeouts(connect=1.0, probe=_PATIENCE, health=_PATIENCE)
    async with ModelClient(server, timeouts=patience) as client:
        began = time.monotonic()
        try:
            info = await client.require_model()
        except WrongModel:
            return replace(blank, state="other", served=", ".join((await client.models())[:3]))
        except ServingError as error:
            state: State = "loading" if error.status >= 500 else "silent"
            return replace(blank, state=state, problem=error.message)
        took = time.monotonic() - began
        look = replace(blank, state="ready", served=", ".join(info.names[:3]), seconds=took)
        if not (await _takes_work(server) if info.kind == "sglang" else await client.health()):
            return replace(look, state="loading")
        return replace(look, load=await client.load())


async def _takes_work(server: ServerSettings) -> bool:
    """By `/ready`; what does not know it is taken to."""
    status, _ = await _get(server, "/ready")
    return status != 503


async def _get(server: ServerSettings, path: str) -> tuple[int, Any]:
    from navigator.serving.client.chat import Timeouts
    from navigator.serving.client.transport import Transport

    transport = Transport(server, Timeouts(connect=1.0))
    try:
        return await transport.get(f"{transport.root}{path}", _PATIENCE)
    finally:
        await transport.aclose()


async def _sleeping(settings: Settings, paths: StatePaths, role: Role, look: ServerLook) -> ServerLook:
    """A server that sleeps lists its model all the same."""
    from navigator.serving.swap.sleepers import Ledger, sleeper_for

    sleeper = await sleeper_for(
        role, settings.server(role), settings.swap.sleep, Ledger(paths.root / "sleep.json")
    )
    if sleeper is None:
        return replace(look, state="silent")
    try:
        found = await sleeper.state()
    finally:
        await sleeper.aclose()
    states: dict[str, State] = {"awake": "ready", "gone": "silent"}
    return replace(look, state=states.get(found, found))  # type: ignore[arg-type]


async def _managed(settings: Settings, role: Role, look: ServerLook) -> ServerLook:
    """A server that loads on demand lists models that are not loaded."""
    from navigator.serving.swap.strategies.managed import ManagedStrategy

    loaded = await ManagedStrategy(settings).is_loaded(role)
    return look if loaded else replace(look, state="not loaded")


def _rehearsed(server: ServerSettings, paths: StatePaths, role: Role) -> ServerSettings | None:
    """Where the rehearsal's process for a role listens; None where none runs."""
    from navigator.serving.swap import processes
    from navigator.serving.swap.strategies.rehearsal import MODELS

    record = processes.load(paths.rehearsal / "server.json")
    if record is None or record.role != role.value or not record.port or not processes.is_alive(record):
        return None
    address = f"http://127.0.0.1:{record.port}"
    return server.model_copy(update={"model": MODELS[role], "base_url": address, "api_key_env": ""})
