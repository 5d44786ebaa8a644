"""How many requests a role has, on average and at most: found on a real server over HTTP, and told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from navigator.client.body import ChatRequest
from navigator.client.client import ModelClient
from navigator.config.settings import Settings
from navigator.journey import requests as asking
from navigator.journey.requests import Requests
from navigator.model.models import Usage
from navigator.model.states import Role
from navigator.rehearsal.server.api import Api
from navigator.rehearsal.server.engine import MODEL_NAMES, Completion, pace_of
from navigator.rehearsal.server.http import HttpServer
from navigator.schedule.inflight import Inflight, TimedAnswer

G = Role.GENERATOR


async def test_the_mean_of_what_was_in_flight_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call of ten seconds, the last four of them beside another one."""
    clock, seen = 100.0, []
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    monkeypatch.setattr(Inflight, "answered", lambda self, answer: seen.append(answer) or self)
    requests = Requests(Settings())
    with requests.asking(G) as first:
        clock = 106.0
        with requests.asking(G):
            assert requests.running(G) == 2
            clock = 110.0
        first.usage = Usage(completion_tokens=500)
    assert seen == [TimedAnswer(500, 10.0, 1.4)]
    assert requests.running(G) == 0


class OneClient:
    def __init__(self, client: ModelClient) -> None:
        self.client = client

    @asynccontextmanager
    async def lent_client(self, role: Role) -> AsyncIterator[ModelClient]:
        yield self.client


async def test_a_server_that_runs_two_at_once_gets_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rehearsal's server tells as SGLang does; its time is scaled."""
    monkeypatch.setattr(asking, "_LOOKS", 0.02)
    pace = pace_of(G, 0.02)
    api = Api(G, replace(pace, scale=0.0), lambda *request: Completion("word" * 300), max_running=2)
    await api.load()
    api.engine.pace = pace
    http = HttpServer(api)
    await http.start("127.0.0.1", 0)
    server = {"model": MODEL_NAMES[G], "base_url": f"http://127.0.0.1:{http.port}", "max_inflight": 6}
    settings = Settings.model_validate({"generator": server})
    requests = Requests(settings)
    async with ModelClient(settings.generator) as client:
        looking = asyncio.create_task(requests.keep_looking(OneClient(client)))

        async def ask() -> None:
            with requests.asking(G) as one:
                request = ChatRequest([{"role": "user", "content": "Go."}], 4000, 0.0, 1.0)
                one.usage = (await client.chat(request)).usage

        assert requests.limit(G) == 6
        await asyncio.gather(*(ask() for _ in range(12)))
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    await http.close()
    assert requests.limit(G) == 2
    told = requests.report()["generator"]
    assert told == {"limit": 2, "most": 6, "running": 0, "why": "the server runs 2 at once"}
    requests.begin(G)
    assert requests.limit(G) == 6, "another residency begins anew"
