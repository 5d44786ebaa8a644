"""What the tests of the serving room share."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from navigator.client.assemble import RetryPolicy
from navigator.client.body import ChatRequest, Timeouts
from navigator.client.client import ModelClient
from navigator.config.settings import ServerSettings
from tests.client.scripted import Script, Server, routes, serving

QUICK = RetryPolicy(retries=2, base=0.001, cap=0.002, rng=random.Random(1))


@pytest.fixture
def connect() -> Callable[..., ModelClient]:
    """Make a client for a URL: settings as keywords, `timeouts` and `retry` for the client itself."""

    def make(url: str, **kwargs: Any) -> ModelClient:
        own = {key: kwargs.pop(key) for key in ("timeouts",) if key in kwargs}
        retry = kwargs.pop("retry", QUICK)
        settings = ServerSettings(**({"model": "org/model", "base_url": url} | kwargs))
        own.setdefault("timeouts", Timeouts(connect=2, first_token=20, between_tokens=20, total=30, probe=5))
        return ModelClient(settings, retry=retry, **own)

    return make


def question(**fields: Any) -> ChatRequest:
    """A small request."""
    defaults: dict[str, Any] = {
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 100,
        "temperature": 0.2,
        "top_p": 0.9,
    }
    return ChatRequest(**(defaults | fields))


class Asking:
    """Puts one question to a server of these scripts; `server` is the last one that was asked, also after an error."""

    server: Server

    def __init__(self, connect: Callable[..., ModelClient]) -> None:
        self.connect = connect

    async def __call__(
        self,
        chat: Script | list[Script],
        request: ChatRequest | None = None,
        progress: Callable[[int], None] | None = None,
        **options: Any,
    ) -> Any:
        path = options.pop("path", "")
        async with (
            serving(routes(chat)) as self.server,
            self.connect(self.server.url + path, **options) as client,
        ):
            return await client.chat(request or question(), progress)


@pytest.fixture
def ask(connect: Callable[..., ModelClient]) -> Asking:
    return Asking(connect)
