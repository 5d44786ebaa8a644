"""Model servers on this machine: who answers at the usual ports, loopback only."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from navigator.domain.errors import NavigatorError

if TYPE_CHECKING:
    from navigator.serving.client.client import ModelClient

PORTS: tuple[tuple[int, str], ...] = (
    (30000, "SGLang"),
    (8080, "llama.cpp"),
    (11434, "Ollama"),
    (1234, "LM Studio"),
    (8000, "vLLM"),
    (5800, "llama-swap"),
)
"""Usual ports and whose they are; what answers there is asked for itself."""

_KINDS = {"sglang": "SGLang", "vllm": "vLLM", "llamacpp": "llama.cpp", "ollama": "Ollama"}
_KNOCK = 0.5
_ASK = 3.0


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answered: its software, its address, and the models it lists."""

    name: str
    url: str
    models: tuple[str, ...]


async def find_servers(ports: Sequence[tuple[int, str]] = PORTS) -> tuple[FoundServer, ...]:
    """Knock at every port at once; those that list models are found."""
    found = await asyncio.gather(*(_look(port, usual) for port, usual in ports))
    return tuple(server for server in found if server is not None)


async def _look(port: int, usual: str) -> FoundServer | None:
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), _KNOCK)
    except (OSError, TimeoutError):
        return None
    writer.close()
    url = f"http://127.0.0.1:{port}"
    try:
        return await asyncio.wait_for(_ask(url, usual), _ASK)
    except (NavigatorError, TimeoutError):
        return None


async def _ask(url: str, usual: str) -> FoundServer:
    client = await asyncio.to_thread(_client, url)
    async with client:
        info = await client.model_info()
    return FoundServer(_KINDS.get(info.kind, usual), url, info.names)


def _client(url: str) -> ModelClient:
    """A client for one address. In a thread, since the HTTP library takes its time to import."""
    from navigator.config.settings import ServerSettings
    from navigator.serving.client.client import ModelClient

    return ModelClient(ServerSettings(model="", base_url=url))
