"""Strategy `managed`: the server itself loads the model it is asked for: Ollama, llama-swap, llama.cpp's router.

A swap is one request to the wanted model, which makes the server load it, and a check that it did. Two busy roles would
make such a server load them in turns; the conductor calls the resident role only, so work comes in batches here too.

Sources: Ollama (`/api/ps`, `/api/version`), llama-swap (`/running`), llama.cpp's router (`status` in `/v1/models`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, get_args

from navigator.client.assemble import RetryPolicy
from navigator.client.body import ChatRequest, Timeouts, same_model
from navigator.client.client import ModelClient
from navigator.client.errors import CutByLength, NotReady, ServingError
from navigator.client.transport import Transport
from navigator.model.errors import MissingPart
from navigator.model.states import Role
from navigator.swap.base import LOAD_SECONDS, PhaseLog, SwapStrategy
from navigator.swap.failures import SwapFailed
from navigator.swap.status import ServerLook

Software = Literal["ollama", "llama-swap", "llama.cpp"]
_ASKED: dict[Software, str] = {"ollama": "/api/ps", "llama-swap": "/running", "llama.cpp": "/v1/models"}


class ManagedStrategy(SwapStrategy):
    """One server in front of both models, or one each; `model` is the name as the server knows it."""

    name = "managed"
    about = "one server loads the model it is asked for (Ollama, llama-swap, llama.cpp's router)"
    reads_weights = True
    checks_files = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._software: dict[str, Software] = {}

    async def look_at(self, role: Role) -> ServerLook:
        """Such a server lists models that are not loaded; one that it does not list has to be fetched first."""
        look = await super().look_at(role)
        if look.state == "ready" and not await self._serves(role):
            return replace(look, state="not loaded")
        if look.state == "other" and await self._which(role) == "ollama":
            return replace(
                look, remedy=f"Run `ollama pull {look.wanted}`, or set `model` to a name it lists."
            )
        return look

    async def _is_resident(self, role: Role) -> bool:
        try:
            return await self._serves(role)
        except ServingError:
            return False

    async def _change(self, to: Role, previous: Role | None, log: PhaseLog, detail: str) -> None:
        there = await self._serves(to)  # raises before anything is drained if nothing listens
        if previous is not None:
            await self._drain(previous, log, detail)
        if not there:
            with log.phase("load", detail):
                await self._ask_for(to)
        with log.phase("verify", detail):
            if not await self._serves(to):
                server = self.server(to)
                raise SwapFailed(
                    f"{server.base_url} answered and has not loaded {server.model}.",
                    hint="Set `model` to the name that the server lists.",
                    failure="wrong_model",
                )

    async def _ask_for(self, role: Role) -> None:
        """One request of one token; a server that is still loading is asked again until the time is up."""
        server = self.server(role)
        question = ChatRequest(
            messages=[{"role": "user", "content": "Say: yes"}],
            max_tokens=1,
            temperature=0.0,
            top_p=1.0,
            extra=server.extra_body,
        )
        seconds = LOAD_SECONDS
        patience = Timeouts(first_token=seconds, between_tokens=seconds, total=seconds)
        async with ModelClient(
            server, timeouts=patience, retry=RetryPolicy(retries=10_000, cap=5.0)
        ) as client:
            with contextlib.suppress(CutByLength):  # one token is all that was asked for
                await client.chat(question)

    async def _serves(self, role: Role) -> bool:
        """Whether the server says that the role's model is loaded now.

        Raises:
            ServingError: it cannot be asked. MissingPart: it is none of the three.
        """
        server = self.server(role)
        software = await self._which(role)
        status, said = await self._get(role, _ASKED[software])
        if status != 200:
            raise NotReady(f"{server.base_url} is not ready (HTTP {status}).", status=status)
        return any(same_model(server.model, name) for name in loaded_models(software, said))

    async def _which(self, role: Role) -> Software:
        address = self.server(role).base_url
        if address not in self._software:
            for software in get_args(Software):
                status, said = await self._get(role, _ASKED[software])
                if status == 200 and is_from(software, said):
                    self._software[address] = software
                    break
            else:
                raise MissingPart(
                    f"{address} is neither Ollama nor llama-swap nor llama.cpp's router.",
                    hint="Choose another strategy under [swap].",
                )
        return self._software[address]

    async def _get(self, role: Role, path: str) -> tuple[int, Any]:
        async with Transport(self.server(role), Timeouts(connect=5.0)) as transport:
            status, said = await transport.get(f"{transport.root}{path}", 5.0)
            if status in (401, 403):
                raise transport.failure(status, "")
            return status, said


def is_from(software: Software, said: Any) -> bool:
    """Whether an answer has the form that this software gives it."""
    if not isinstance(said, dict):
        return False
    if software == "llama.cpp":
        return any("status" in entry for entry in _entries(said, "data"))
    return isinstance(said.get("models" if software == "ollama" else "running"), list)


def loaded_models(software: Software, said: Any) -> list[str]:
    """The names of the models that are loaded and can answer, without those still being loaded or unloaded."""
    if software == "ollama":
        entries = _entries(said, "models")
        return _only_names(
            (entry.get("name") for entry in entries), (entry.get("model") for entry in entries)
        )
    if software == "llama-swap":
        ready = (entry for entry in _entries(said, "running") if entry.get("state", "ready") == "ready")
        return _only_names(entry.get("model") for entry in ready)
    return _only_names(entry.get("id") for entry in _entries(said, "data") if _status(entry) == "loaded")


def _status(entry: dict[str, Any]) -> Any:
    status = entry.get("status")
    return status.get("value") if isinstance(status, dict) else status


def _entries(said: Any, key: str) -> list[dict[str, Any]]:
    found = said.get(key) if isinstance(said, dict) else None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _only_names(*groups: Iterable[Any]) -> list[str]:
    return [name for group in groups for name in group if isinstance(name, str) and name]


STRATEGY = ManagedStrategy
