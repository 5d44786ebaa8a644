"""Requests that run for as long as a test wants: the real HTTP server in this process, at one token in a thousand seconds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.model.states import Role
from navigator.model.timing import StepTimes
from navigator.rehearsal.api import Api
from navigator.rehearsal.engine import (
    CHARACTERS_PER_TOKEN,
    PAGE_TOKENS,
    Completion,
    EngineJob,
    Pace,
    PrefixCache,
    SimulatedEngine,
    estimate_tokens,
)
from navigator.rehearsal.http import HttpServer


def pace(decode: float, prefill: float = 1e9, scale: float = 1.0) -> Pace:
    return Pace(StepTimes(load_seconds=0.0, decode=decode, prefill=prefill, expert_share=0.2), scale)


ENDLESS = pace(decode=0.001)
AT_ONCE = pace(decode=1.0, prefill=1.0, scale=0.0)
BODY = {"model": "default", "messages": [{"role": "user", "content": "write"}]}


def long_answer(*_: object) -> Completion:
    return Completion("word " * 1000)


@asynccontextmanager
async def serving(pace: Pace, **options: Any) -> AsyncIterator[tuple[httpx.AsyncClient, Api]]:
    api = Api(Role.GENERATOR, pace, options.pop("brain", long_answer), **options)
    await api.load()
    server = HttpServer(api)
    await server.start("127.0.0.1", 0)
    try:
        url = f"http://127.0.0.1:{server.port}"
        async with httpx.AsyncClient(base_url=url, timeout=60, trust_env=False) as client:
            yield client, api
    finally:
        api.engine.abort_all()
        await server.close()


async def post(client: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = (await client.post("/v1/chat/completions", json={**BODY, **more})).json()
    return answer


async def load_with(client: httpx.AsyncClient, name: str, count: int) -> dict[str, Any]:
    """The server's load once `name` stands at `count`."""
    while True:
        load: dict[str, Any] = (await client.get("/v1/loads")).json()["loads"][0]
        if load[name] == count:
            return load
        await asyncio.sleep(0.005)


async def test_requests_run_or_wait_until_they_are_aborted_by_the_beginning_of_their_ids() -> None:
    async with serving(ENDLESS, max_running=2) as (client, api):
        requests = {rid: asyncio.create_task(post(client, rid=rid)) for rid in ("a", "ab", "b", "c")}
        load = await load_with(client, "num_waiting_reqs", 2)
        assert (load["num_running_reqs"], load["max_running_requests"]) == (2, 2)
        again = await client.post("/v1/chat/completions", json={**BODY, "rid": "b"})
        assert (again.status_code, api.engine.abort("")) == (400, False)
        assert again.json()["message"] == "Duplicate request ID detected: b"
        await client.post("/abort_request", json={"rid": "a"})
        ended = [await requests[rid] for rid in ("a", "ab")]
        # The others get the places, and whoever goes away while it waits leaves the queue.
        left = await load_with(client, "num_waiting_reqs", 0)
        assert left["num_running_reqs"] == 2
        waiting = asyncio.create_task(post(client))
        await load_with(client, "num_waiting_reqs", 1)
        waiting.cancel()
        await load_with(client, "num_waiting_reqs", 0)
        await client.post("/abort_request", json={"abort_all": True})
        ended += [await requests[rid] for rid in ("b", "c")]
        await load_with(client, "num_running_reqs", 0)

    assert [(one["id"], one["choices"][0]["finish_reason"]) for one in ended] == [
        (rid, "abort") for rid in requests
    ]


async def test_a_stream_begins_with_its_first_token_and_an_abort_ends_it_in_order() -> None:
    """Not a byte before, the status included: so it is with SGLang, and clients measure by it."""
    body = {**BODY, "stream": True, "stream_options": {"include_usage": True}}
    async with serving(ENDLESS) as (client, api):
        request = asyncio.create_task(client.post("/v1/chat/completions", json=body))
        await load_with(client, "num_running_reqs", 1)
        await asyncio.sleep(0.05)
        assert not request.done()
        api.engine.abort_all()
        answer = await request

    opening, closing, counts, done = [line[6:] for line in answer.text.splitlines() if line]
    assert json.loads(opening)["choices"][0]["delta"]["role"] == "assistant"
    assert json.loads(closing)["choices"][0]["finish_reason"] == "abort"
    assert json.loads(counts)["usage"]["completion_tokens"] == 0
    assert done == "[DONE]"


async def test_a_client_that_goes_away_in_mid_stream_frees_its_place() -> None:
    first_at_once = pace(decode=30.0)
    async with serving(first_at_once, max_running=1) as (client, _):
        body = {**BODY, "stream": True}
        async with client.stream("POST", "/v1/chat/completions", json=body) as answer:
            lines = answer.aiter_lines()
            while "word" not in await anext(lines):
                pass
        await load_with(client, "num_running_reqs", 0)


async def test_one_prompt_is_read_at_a_time_and_nothing_is_written_meanwhile() -> None:
    """100 tokens a second are read: a prompt of 400 characters takes one second; answers take none to speak of."""
    engine = SimulatedEngine(pace(decode=1e9, prefill=100.0, scale=0.1), max_running=8)
    loop = asyncio.get_running_loop()
    ends: list[float] = []

    async def ask(text: str) -> None:
        job = EngineJob(text[0], text, 100, 10, lambda: Completion("word"))
        async for _ in engine.run(job):
            pass
        ends.append(loop.time())

    begun = loop.time()
    await asyncio.gather(*(ask(letter * 400) for letter in "abc"))

    assert ends[0] - begun >= 0.1
    assert ends[2] - begun >= 0.3


async def test_the_brain_is_told_joined_parts_and_how_often_a_prompt_came_before() -> None:
    seen: list[Any] = []

    def brain(messages: Any, schema: object, repeat: int, temperature: float) -> Completion:
        seen.append((messages[0]["content"], repeat))
        return Completion("x")

    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    async with serving(AT_ONCE, brain=brain) as (client, _):
        for content in ("a", "a", parts, "a"):
            await post(client, messages=[{"role": "user", "content": content}])

    assert seen == [("a", 0), ("a", 1), ("ab", 0), ("a", 2)]


async def test_too_large_a_body_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navigator.rehearsal.http.MAX_BODY", 1000)
    async with serving(AT_ONCE) as (client, _):
        answer = await client.post("/v1/chat/completions", content=b"x" * 2000)

    assert answer.status_code == 413


WIDTH = PAGE_TOKENS * CHARACTERS_PER_TOKEN


def admit(cache: PrefixCache, prompt: str) -> int:
    return cache.admit(prompt, estimate_tokens(prompt))


@given(st.integers(0, 4), st.integers(1, 4))
def test_whole_pages_of_a_common_beginning_count(common: int, rest: int) -> None:
    cache = PrefixCache()
    start = "".join(chr(97 + page) * WIDTH for page in range(common))
    admit(cache, start + "1" * WIDTH * rest)

    assert admit(cache, start + "2" * WIDTH * rest) == common * PAGE_TOKENS


def test_the_least_recently_used_leaves_first() -> None:
    cache = PrefixCache(capacity_tokens=PAGE_TOKENS * 2)
    assert admit(cache, "a" * WIDTH) == 0
    admit(cache, "b" * WIDTH)
    admit(cache, "a" * WIDTH)
    admit(cache, "c" * WIDTH)

    assert cache.usage == 1.0
    assert admit(cache, "a" * WIDTH) == PAGE_TOKENS - 1
    assert admit(cache, "b" * WIDTH) == 0
