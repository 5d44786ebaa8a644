"""Strategy `managed`: the server itself loads what it is asked for: Ollama, llama-swap, llama.cpp's router.

A swap is one request to the wanted model, which makes the server load it, and a look whether it did. Two roles would make such a
server load by turns; the conductor calls the resident role only, so work comes in batches here as everywhere.

Sources: Ollama (`/api/ps`, `/api/version`), llama-swap (`/running`), llama.cpp's router (`status` in `/v1/models`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Any, Literal, get_args

from navigator.config.settings import Settings
from navigator.domain.errors import MissingPart, NavigatorError
from navigator.domain.states import Role
from navigator.serving.client.chat import ChatRequest, Timeouts
from navigator.serving.client.client import ModelClient
from navigator.serving.client.errors import CutByLength, ServingError, Unreachable
from navigator.serving.client.names import same_model
from navigator.serving.client.retry import RetryPolicy
from navigator.serving.client.transport import Transport
from navigator.serving.swap.base import PhaseLog, Report, Sighting, SwapFailed, SwapResult
from navigator.serving.swap.drain import InFlight, drain
from navigator.serving.swap.failures import failure_of
from navigator.serving.swap.watching import is_refused

_ROLES = (Role.GENERATOR, Role.REVIEWER)
_OTHER = {Role.GENERATOR: Role.REVIEWER, Role.REVIEWER: Role.GENERATOR}

Software = Literal["ollama", "llama-swap", "llama.cpp"]
_ASKED: dict[Software, str] = {"ollama": "/api/ps", "llama-swap": "/running", "llama.cpp": "/v1/models"}


class ManagedStrategy:
    """One server in front of both models, or one each.

    Args:
        settings: where it is, the models' names as it knows them, and `[swap.managed]`.
        in_flight: the ids of Navigator's own requests, to abort those that outlast the drain.
    """

    name = "managed"
    both_resident = False
    rehearsal = False

    def __init__(self, settings: Settings, *, in_flight: InFlight = tuple) -> None:
        self._settings = settings
        self._own = settings.swap.managed
        self._in_flight = in_flight
        self._software: dict[str, Software] = {}
        self._last: Role | None = None
        self._lock = asyncio.Lock()

    def base_url(self, role: Role) -> str | None:
        """None: the settings' own address holds."""
        return None

    def model(self, role: Role) -> str | None:
        """None: the settings' own model holds."""
        return None

    async def resident(self) -> Role | None:
        """The role whose model the server says it holds; where it holds both, the one that was asked for last."""
        held = []
        for role in _ROLES:
            try:
                if await self.is_loaded(role):
                    held.append(role)
            except ServingError:
                continue
        if self._last in held:
            return self._last
        return held[0] if held else None

    async def look(self, believed: Role | None) -> Sighting:
        """As `resident`: the servers' lists load nothing and generate nothing. A model that the server unloaded by itself,
        for lack of requests, is not dead."""
        if believed is not None:
            try:
                if await self.is_loaded(believed):
                    return Sighting(believed)
            except ServingError as error:
                if is_refused(error):
                    return Sighting(None, dead=True, failure="crashed", detail=error.message)
                return Sighting(believed, sure=False, detail=error.message)
        return Sighting(await self.resident())

    async def swap(self, to: Role, report: Report) -> SwapResult:
        """Wait until nothing of the other model runs, ask for the wanted one, look whether it came; go back if not."""
        if to not in _ROLES:
            raise ValueError(f"{to.value} is not a role that is swapped")
        async with self._lock:
            log = PhaseLog(report)
            previous = await self.resident()
            try:
                await self._load(to, previous, log)
            except (NavigatorError, OSError) as error:
                return await self._go_back(previous, to, log, error)
            return log.result("done")

    async def close(self) -> None:
        """Nothing is held: the server is somebody else's."""

    async def _load(self, to: Role, previous: Role | None, log: PhaseLog, detail: str = "") -> None:
        there = await self.is_loaded(to)  # that nobody listens is said here, before anything is drained
        if previous is not None and previous is not to:
            with log.phase("drain", detail):
                async with self._client(previous) as client:
                    await drain(client, self._own.drain_seconds, self._in_flight)
        if not there:
            with log.phase("load", detail):
                await self._ask_for(to)
        self._last = to
        with log.phase("verify", detail):
            if not await self.is_loaded(to):
                raise SwapFailed(
                    f"{self._settings.server(to).base_url} answered and does not hold {self._settings.server(to).model}.",
                    hint="Let `model` be the very name that the server lists.",
                    failure="wrong_model",
                )

    async def _ask_for(self, role: Role) -> None:
        """One request of one token; a server that says that it is loading is asked again until the time is up."""
        server = self._settings.server(role)
        question = ChatRequest(
            messages=[{"role": "user", "content": "Say: yes"}],
            max_tokens=1,
            temperature=0.0,
            top_p=1.0,
            extra=server.extra_body,
        )
        seconds = self._own.load_seconds
        patience = Timeouts(first_token=seconds, between_tokens=seconds, total=seconds)
        async with ModelClient(
            server, timeouts=patience, retry=RetryPolicy(retries=10_000, cap=5.0)
        ) as client:
            with contextlib.suppress(CutByLength):  # one token was all that was asked for
                await client.chat(question)

    async def _go_back(
        self, previous: Role | None, to: Role, log: PhaseLog, error: BaseException
    ) -> SwapResult:
        reason, failure = str(error), failure_of(error)
        if previous is None or previous is to:
            return log.result("failed", reason, failure)
        try:
            if not await self.is_loaded(previous):
                await self._load(previous, None, log, f"going back to {previous.value}")
        except (NavigatorError, OSError) as second:
            return log.result("failed", f"{reason} Going back failed too: {second}", failure)
        self._last = previous
        return log.result("went_back", reason, failure)

    async def is_loaded(self, role: Role) -> bool:
        """Whether the server says that it holds the role's model now.

        Raises:
            ServingError: it cannot be asked. MissingPart: it is none of the three.
        """
        server = self._settings.server(role)
        software = await self._which(role)
        status, said = await self._get(role, _ASKED[software])
        if status != 200:
            raise Unreachable(f"{server.base_url} is not ready (HTTP {status}).", status=status)
        return any(same_model(server.model, name, "suffix") for name in loaded_models(software, said))

    async def _which(self, role: Role) -> Software:
        if self._own.server != "auto":
            return self._own.server
        address = self._settings.server(role).base_url
        if address not in self._software:
            for software in get_args(Software):
                status, said = await self._get(role, _ASKED[software])
                if status == 200 and is_from(software, said):
                    self._software[address] = software
                    break
            else:
                raise MissingPart(
                    f"{address} is neither Ollama nor llama-swap nor llama.cpp's router.",
                    hint="Name it in server under [swap.managed], or choose another strategy under [swap].",
                )
        return self._software[address]

    async def _get(self, role: Role, path: str) -> tuple[int, Any]:
        transport = Transport(self._settings.server(role), Timeouts(connect=5.0))
        try:
            return await transport.get(f"{transport.root}{path}", 5.0)
        finally:
            await transport.aclose()

    def _client(self, role: Role) -> ModelClient:
        return ModelClient(self._settings.server(role), timeouts=Timeouts(connect=5.0))


def is_from(software: Software, said: Any) -> bool:
    """Whether an answer has the form that this software gives it."""
    if not isinstance(said, dict):
        return False
    if software == "llama.cpp":
        return any("status" in entry for entry in _entries(said, "data"))
    return isinstance(said.get("models" if software == "ollama" else "running"), list)


def loaded_models(software: Software, said: Any) -> list[str]:
    """The names of what is loaded and can answer; one that is still being loaded or unloaded is not among them."""
    if software == "ollama":
        entries = _entries(said, "models")
        return _names((entry.get("name") for entry in entries), (entry.get("model") for entry in entries))
    if software == "llama-swap":
        ready = (entry for entry in _entries(said, "running") if entry.get("state", "ready") == "ready")
        return _names(entry.get("model") for entry in ready)
    return _names(entry.get("id") for entry in _entries(said, "data") if _status(entry) == "loaded")


def _status(entry: dict[str, Any]) -> Any:
    status = entry.get("status")
    return status.get("value") if isinstance(status, dict) else status


def _entries(said: Any, key: str) -> list[dict[str, Any]]:
    found = said.get(key) if isinstance(said, dict) else None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _names(*groups: Iterable[Any]) -> list[str]:
    return [name for group in groups for name in group if isinstance(name, str) and name]
