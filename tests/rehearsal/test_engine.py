"""Requests that run for as long as a test wants: the real HTTP server in this process, at one token in a thousand seconds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from navigator.domain.states import Role
from navigator.domain.timing import StepTimes, TimingModel
from navigator.rehearsal.api import Api
from navigator.rehearsal.engine import Answer
from navigator.rehearsal.http import HttpServer
from navigator.rehearsal.timing import Pace


def pace(decode: float, prefill: float = 1e9, scale: float = 1.0) -> Pace:
    times = StepTimes(load_seconds=0.0, decode=decode, prefill=prefill, expert_share=0.2)
    return Pace(TimingModel(times, times, times), scale)


ENDLESS = pace(decode=0.001)
AT_ONCE = pace(decode=1.0, prefill=1.0, scale=0.0)
BODY = {"model": "default", "messages": [{"role": "user", "content": "write"}]}


def long_answer(*_: object) -> Answer:
    return Answer("word " * 1000)


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


async def test_one_runs_and_others_wait_until_they_are_aborted() -> None:
    async with serving(ENDLESS, max_running=1) as (client, _):
        requests = [asyncio.create_task(post(client, rid=f"r{n}")) for n in range(3)]
        load = await load_with(client, "num_waiting_reqs", 2)
        flushed = await client.post("/flush_cache")
        await client.post("/abort_request", json={"rid": "r2"})
        last = await requests[2]
        left = await load_with(client, "num_waiting_reqs", 1)
        await client.post("/abort_request", json={"abort_all": True})
        answers = [await request for request in requests]
        await load_with(client, "num_running_reqs", 0)

    assert (load["num_running_reqs"], load["max_running_requests"], load["num_total_reqs"]) == (1, 1, 3)
    assert left["num_running_reqs"] == 1
    assert flushed.status_code == 400
    assert last["choices"][0]["finish_reason"] == "abort"
    assert {answer["id"] for answer in answers} == {"r0", "r1", "r2"}
    assert all(answer["choices"][0]["finish_reason"] == "abort" for answer in answers)


async def test_the_next_one_waiting_gets_the_place() -> None:
    async with serving(ENDLESS, max_running=1) as (client, api):
        first = asyncio.create_task(post(client, rid="first"))
        await load_with(client, "num_running_reqs", 1)
        second = asyncio.create_task(post(client, rid="second"))
        await load_with(client, "num_waiting_reqs", 1)
        assert api.engine.abort("first")
        await first
        await load_with(client, "num_waiting_reqs", 0)
        assert api.engine.running == 1
        api.engine.abort_all()
        await second


async def test_throughput_is_what_the_pace_says() -> None:
    async with serving(ENDLESS) as (client, api):
        requests = [asyncio.create_task(post(client)) for _ in range(2)]
        load = await load_with(client, "num_running_reqs", 2)
        expected = round(2 * ENDLESS.stream_speed(2), 2)
        api.engine.abort_all()
        await asyncio.gather(*requests)

    assert load["gen_throughput"] == expected


async def test_abort_ends_a_stream_in_order() -> None:
    body = {**BODY, "stream": True}
    async with (
        serving(ENDLESS) as (client, api),
        client.stream("POST", "/v1/chat/completions", json=body) as answer,
    ):
        lines = answer.aiter_lines()
        await anext(lines)
        api.engine.abort_all()
        rest = [line[6:] async for line in lines if line]

    assert rest[-1] == "[DONE]"
    assert json.loads(rest[-2])["choices"][0]["finish_reason"] == "abort"


async def test_a_client_that_goes_away_frees_its_place() -> None:
    async with serving(ENDLESS, max_running=1) as (client, _):
        async with client.stream("POST", "/v1/chat/completions", json={**BODY, "stream": True}) as answer:
            await anext(answer.aiter_lines())
        await load_with(client, "num_running_reqs", 0)


async def test_a_client_that_goes_away_while_waiting_leaves_the_queue() -> None:
    async with serving(ENDLESS, max_running=1) as (client, api):
        first = asyncio.create_task(post(client))
        await load_with(client, "num_running_reqs", 1)
        second = asyncio.create_task(post(client))
        await load_with(client, "num_waiting_reqs", 1)
        second.cancel()
        await load_with(client, "num_waiting_reqs", 0)
        api.engine.abort_all()
        await first
        # The place is free again, for the next one too.
        third = asyncio.create_task(post(client))
        await load_with(client, "num_running_reqs", 1)
        api.engine.abort_all()
        await third


async def test_a_rid_in_use_is_not_given_twice() -> None:
    async with serving(ENDLESS) as (client, api):
        first = asyncio.create_task(post(client, rid="same"))
        await load_with(client, "num_running_reqs", 1)
        second = asyncio.create_task(post(client, rid="same"))
        await load_with(client, "num_running_reqs", 2)
        api.engine.abort_all()
        ids = {(await first)["id"], (await second)["id"]}

    assert len(ids) == 2
    assert "same" in ids


async def test_the_brain_is_told_how_often_a_prompt_came_before() -> None:
    seen: list[int] = []

    def brain(messages: object, schema: object, repeat: int) -> Answer:
        seen.append(repeat)
        return Answer("x")

    async with serving(AT_ONCE, brain=brain) as (client, _):
        for text in ("a", "a", "b", "a"):
            await post(client, messages=[{"role": "user", "content": text}])

    assert seen == [0, 1, 0, 2]


async def test_text_parts_are_joined() -> None:
    prompts: list[Any] = []

    def brain(messages: Any, schema: object, repeat: int) -> Answer:
        prompts.extend(messages)
        return Answer("x")

    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    async with serving(AT_ONCE, brain=brain) as (client, _):
        await post(client, messages=[{"role": "user", "content": parts}])

    assert prompts == [{"role": "user", "content": "ab"}]


async def test_too_large_a_body_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navigator.rehearsal.http.MAX_BODY", 1000)
    async with serving(AT_ONCE) as (client, _):
        answer = await client.post("/v1/chat/completions", content=b"x" * 2000)

    assert answer.status_code == 413
