"""What each configured server says of itself. Nothing is changed, no model is loaded, no token is generated.

SGLang's `/health` is never asked here: it generates a token each time, takes a second or more, and ends a server that has
released its memory. Its `/ready` (0.5.23) answers for free; an older one counts as ready once it lists its model.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal

from navigator.client.body import Load, Timeouts
from navigator.client.client import ModelClient
from navigator.client.errors import (
    NoAnswer,
    NotReady,
    Overloaded,
    ServingError,
    Unauthorized,
    Unreachable,
    WrongModel,
)
from navigator.client.transport import Transport
from navigator.config.settings import ServerSettings
from navigator.model.errors import NavigatorError
from navigator.model.states import Role

State = Literal["ready", "other", "loading", "silent", "not loaded", "unusable", "asleep", "paused", "unsure"]
_PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class ServerLook:
    """One role's server at one moment.

    Attributes:
        state: "ready" serves the wanted model; "other" serves another one; "loading" is up and takes no work yet; "silent"
            does not answer, or not as a model server does; "not loaded" is a rehearsal's process that does not run, or a
            model that its server has not loaded; "asleep" has released the GPU; "paused" holds it and takes no work; "unsure"
            was interrupted during a swap; "unusable" cannot be asked (it rejects the key, say).
        served: what it says it serves; untrusted.
        seconds: it took to answer; None without an answer.
        problem: one sentence with the address and the reason, "" without a problem.
        remedy: what to do about it.
        down: no server listens at the address, as far as can be told.
    """

    role: Role
    wanted: str
    address: str
    state: State
    served: str = ""
    seconds: float | None = None
    load: Load | None = None
    problem: str = ""
    remedy: str = ""
    down: bool = False

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
            "remedy": self.remedy,
        }


async def look_at(role: Role, server: ServerSettings) -> ServerLook:
    """Ask one server what it serves and how busy it is. What goes wrong is in the result, never raised."""
    blank = ServerLook(role, server.model, server.base_url, "silent")
    try:
        return await _ask_server(server, blank)
    except NavigatorError as error:
        return failed_look(blank, error)


def failed_look(blank: ServerLook, error: NavigatorError) -> ServerLook:
    """What an error says about a server: every screen and command shows this sentence and this remedy."""
    state: State = "unusable"
    if isinstance(error, WrongModel):
        state = "other"
    elif isinstance(error, NotReady | Overloaded) or (
        isinstance(error, ServingError) and error.status >= 500
    ):
        state = "loading"
    elif isinstance(error, ServingError) and not isinstance(error, Unauthorized):
        state = "silent"
    down = isinstance(error, Unreachable) and not isinstance(error, NoAnswer | NotReady)
    return replace(blank, state=state, problem=error.message, remedy=error.hint, down=down)


async def _ask_server(server: ServerSettings, blank: ServerLook) -> ServerLook:
    patience = Timeouts(connect=1.0, probe=_PATIENCE, health=_PATIENCE)
    async with ModelClient(server, timeouts=patience) as client:
        began = time.monotonic()
        try:
            info = await client.require_model()
        except WrongModel as error:
            return replace(failed_look(blank, error), served=error.served)
        look = replace(
            blank, state="ready", served=", ".join(info.names[:3]), seconds=time.monotonic() - began
        )
        if not (await _takes_work(server) if info.kind == "sglang" else await client.health()):
            return failed_look(replace(look, seconds=None), NotReady(f"{server.base_url} is not ready yet."))
        return replace(look, load=await client.load())


async def _takes_work(server: ServerSettings) -> bool:
    """By SGLang's `/ready`; a version without it counts as ready."""
    async with Transport(server, Timeouts(connect=1.0)) as transport:
        status, _ = await transport.get(f"{transport.root}/ready", _PATIENCE)
    return status != 503
