"""Real processes on loopback, spoken to over real HTTP."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from navigator.model.states import Role
from navigator.rehearsal.api import Api
from navigator.rehearsal.engine import Completion, pace_of
from navigator.rehearsal.http import HttpRequest

GENERATOR = "rehearsal/Qwen3.5-35B-A3B"
HELLO = [{"role": "user", "content": "hello"}]
NEVER_LOADED = "100000"


class Server:
    """One process and a client for it."""

    def __init__(self, process: asyncio.subprocess.Process, client: httpx.AsyncClient) -> None:
        self.process = process
        self.client = client

    async def healthy(self) -> None:
        while (await self.client.get("/health")).status_code != 200:
            await asyncio.sleep(0.01)

    async def chat(self, **body: Any) -> httpx.Response:
        return await self.client.post(
            "/v1/chat/completions", json={"model": GENERATOR, "messages": HELLO, **body}
        )

    async def load(self) -> dict[str, Any]:
        answer = (await self.client.get("/v1/loads")).json()
        load: dict[str, Any] = answer["loads"][0]
        return load


@asynccontextmanager
async def running(*options: str, role: str = "generator") -> AsyncIterator[Server]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.scripted", "--role", role, "--port", "0", *options,
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        port = json.loads(await process.stdout.readline())["port"]
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False
        ) as client:
            yield Server(process, client)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def slow(words: int = 4000) -> dict[str, Any]:
    """A request whose answer is long: a file with much to document."""
    source = "".join(f"def function_number_{n}(value):\n    print(value)\n\n\n" for n in range(words // 40))
    key = "0123456789ab"
    system = f"key {key}\n<<<<<<< SEARCH"
    user = (
        f'[[begin file {key} {{"path": "a.py"}}]]\n{source}[[end file {key}]]\n'
        f'[[begin task {key} {{"kind": "docs"}}]]\nDocstrings for all\n[[end task {key}]]'
    )
    return {"messages": [{"role": "system", "content": system}, {"role": "user", "content": user}]}


async def events(answer: httpx.Response) -> list[Any]:
    return [
        line.removeprefix("data: ") if line.endswith("[DONE]") else json.loads(line.removeprefix("data: "))
        async for line in answer.aiter_lines()
        if line
    ]


async def test_loading_is_told_by_health_alone() -> None:
    async with running("--time-scale", NEVER_LOADED) as server:
        for path in ("/v1/models", "/model_info", "/server_info", "/v1/loads"):
            assert (await server.client.get(path)).status_code == 200
        assert (await server.client.get("/health")).status_code == 503
        answer = await server.chat()

    assert (answer.status_code, answer.json()["message"]) == (503, "The model is still loading.")


async def test_everything_says_that_it_is_a_rehearsal_and_an_answer_how_long_it_is() -> None:
    async with running("--time-scale", "0", role="reviewer") as server:
        await server.healthy()
        info, models, model_info = [
            (await server.client.get(path)).json() for path in ("/server_info", "/v1/models", "/model_info")
        ]
        answer = (await server.chat(model="rehearsal/Qwen3.5-122B-A10B")).json()

    assert (info["rehearsal"], info["timing"]["load_seconds"]) == (True, 42.7)
    assert models["data"][0]["id"] == answer["model"] and model_info["model_path"].startswith("rehearsal/")
    assert (answer["choices"][0]["finish_reason"], answer["system_fingerprint"]) == ("stop", "rehearsal")
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0


async def test_a_stream_with_usage() -> None:
    async with running("--time-scale", "0") as server:
        await server.healthy()
        plain = (await server.chat(**slow())).json()
        body = {"model": GENERATOR, "stream": True, "stream_options": {"include_usage": True}, **slow()}
        async with server.client.stream("POST", "/v1/chat/completions", json=body) as answer:
            kind = answer.headers["content-type"]
            received = await events(answer)

    *chunks, last, done = received
    assert kind.startswith("text/event-stream")
    assert done == "[DONE]"
    assert last["choices"] == []
    assert last["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    assert last["usage"]["completion_tokens"] == plain["usage"]["completion_tokens"]
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert text == plain["choices"][0]["message"]["content"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks][-1] == "stop"


SHAPE, SENSE = "Bad Request", "BadRequestError"


ASKED = b'"messages": [{"role": "user", "content": "x"}]'
REFUSED = (
    (b"{", SHAPE, "JSON decode error"),
    (b"{}", SHAPE, "messages: Field required"),
    (b'{"messages": []}', SENSE, "Messages cannot be empty."),
    (b'{"messages": [{"role": "nobody"}]}', SHAPE, "role"),
    (b'{"stream": "yes", %s}' % ASKED, SHAPE, "boolean"),
    (b'{"max_tokens": -1, %s}' % ASKED, SENSE, "at least 0"),
    (b'{"temperature": -1, %s}' % ASKED, SENSE, "temperature"),
    (b'{"max_tokens": 95, %s}' % ASKED, SENSE, "context length"),
    (b'{"messages": [{"role": "user", "content": "%s"}]}' % (b"x" * 500), SENSE, "context length"),
    (b'{"response_format": {"type": "json_schema"}, %s}' % ASKED, SENSE, "json_schema"),
)


async def test_what_cannot_be_served_is_refused() -> None:
    json_type = {"Content-Type": "application/json"}
    async with running("--time-scale", "0", "--context-tokens", "100") as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.client.base_url.port)
        writer.write(b"nonsense\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 400")
        writer.close()
        await server.healthy()
        for content, kind, said in REFUSED:
            answer = await server.client.post("/v1/chat/completions", content=content, headers=json_type)
            error = answer.json()
            assert said in error.pop("message")
            assert error == {"object": "error", "type": kind, "param": None, "code": 400}, said
            assert answer.status_code == 400
        assert (await server.client.get("/nothing")).status_code == 404
        assert (await server.client.get("/v1/chat/completions")).status_code == 405
        wrong = await server.client.post("/health")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET")
        assert wrong.json() == {"detail": "Method Not Allowed"}


async def test_logprobs_are_given_token_by_token() -> None:
    more = {"logprobs": True, "top_logprobs": 3}
    async with running("--time-scale", "0") as server:
        await server.healthy()
        plain, choice, bare = [
            (await server.chat(**asked)).json()["choices"][0] for asked in ({}, more, {"logprobs": True})
        ]
        streamed = await server.chat(**more, stream=True)
    chunks = [json.loads(line[6:]) for line in streamed.text.splitlines() if line.startswith("data: {")]

    assert plain["logprobs"] is None
    entries = choice["logprobs"]["content"]
    assert "".join(entry["token"] for entry in entries) == choice["message"]["content"]
    for entry in entries:
        assert bytes(entry["bytes"]).decode() == entry["token"]
        ranked = [other["logprob"] for other in entry["top_logprobs"]]
        assert len(ranked) == 3
        assert ranked == sorted(ranked, reverse=True)
        assert ranked[0] <= 0
    assert [entry["top_logprobs"] for entry in bare["logprobs"]["content"]] == [[]] * len(entries)
    pieces = [chunk["choices"][0]["logprobs"] for chunk in chunks]
    told = [entry for piece in pieces if piece for entry in piece["content"]]
    # Asked again, the probabilities are drawn anew; the text is the same.
    assert [entry["token"] for entry in told] == [entry["token"] for entry in entries]


async def test_a_health_check_takes_a_simulated_second() -> None:
    """A scale of 0.5 makes it half a second; loading is skipped, for it would take sixteen."""
    api = Api(Role.GENERATOR, pace_of(Role.GENERATOR, 0.5), lambda *_: Completion("x"))
    api.ready = True
    loop = asyncio.get_running_loop()
    begun = loop.time()
    status = (await api(HttpRequest("GET", "/health", {}, b""))).status
    ready = (await api(HttpRequest("GET", "/ready", {}, b""))).status

    assert (status, ready) == (200, 200)
    assert loop.time() - begun >= 0.5


async def test_sigterm_lets_the_stream_end_and_exits_0() -> None:
    async with running("--time-scale", "0.05") as server:
        await server.healthy()
        body = {"model": GENERATOR, "stream": True, **slow()}
        async with server.client.stream("POST", "/v1/chat/completions", json=body) as answer:
            lines = answer.aiter_lines()
            await anext(lines)
            server.process.send_signal(signal.SIGTERM)
            rest = [line async for line in lines if line]
        code = await server.process.wait()

    assert rest[-1] == "data: [DONE]"
    assert json.loads(rest[-2][6:])["choices"][0]["finish_reason"] == "stop"
    assert code == 0
