"""One table of requests, sent to the rehearsal and to a real SGLang server: what comes back has to have the same shape.

Compared are status, content type, keys and types of JSON, framing and order of a stream's events, finish reasons, and
SGLang's words where the rehearsal uses them. What differs on purpose stands in `DIFFERENCES`, with its reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from navigator.client.body import ChatRequest
from navigator.client.client import ModelClient
from navigator.config.settings import ServerSettings
from navigator.model.states import Role
from navigator.model.timing import StepTimes
from navigator.rehearsal.api import Api
from navigator.rehearsal.engine import Completion, Pace
from navigator.rehearsal.http import HttpServer
from navigator.rehearsal.tool_calls import ToolCall, call_text, tools_in
from tests.engines.llama import Server
from tests.engines.sglang import CONTEXT, home
from tests.scripted.reading import Messages

pytestmark = [
    pytest.mark.engines,
    pytest.mark.slow,
    pytest.mark.timeout(600),  # the server needs minutes to start where many tests share two cores
    pytest.mark.xdist_group("engines"),
]

DIFFERENCES = {
    "system_fingerprint": "says of every answer that it is a rehearsal's; SGLang sends none",
    "rehearsal": "says it of the server",
    "role": "whose part the rehearsal plays",
    "timing": "the assumptions behind simulated time",
    "simulated": "what else is simulated, and how",
    "context_length": "SGLang tells what was set, which is nothing here; the rehearsal what holds",
}
"""Keys that the rehearsal may have and SGLang has not, or with another type. No other key may differ."""

HELLO = [{"role": "user", "content": "hello"}]
SCHEMA = {
    "type": "object",
    "properties": {"a": {"enum": ["x", "y"]}},
    "required": ["a"],
    "additionalProperties": False,
}
WITH_SCHEMA = {"type": "json_schema", "json_schema": {"name": "review", "schema": SCHEMA}}
USAGE = {"include_usage": True}
TOOLS = [{"type": "function", "function": {"name": "pick", "parameters": SCHEMA, "strict": True}}]
CALLED = [{"id": "c1", "type": "function", "function": {"name": "pick", "arguments": '{"a": "x"}'}}]
A_CALL = {
    "tools": TOOLS,
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "max_tokens": 200,
    "ignore_eos": False,
    "logit_bias": {"2": 50},  # ends the answer where the grammar lets it
}


@dataclass(frozen=True)
class Case:
    """One request. `part`: SGLang may say more than the rehearsal does."""

    name: str
    method: str
    path: str
    body: Any = None
    content: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    part: bool = False


def get(path: str, *, part: bool = False) -> Case:
    return Case(f"GET {path}", "GET", path, part=part)


def post(name: str, path: str, body: Any = None, **more: Any) -> Case:
    return Case(name, "POST", path, body, **more)


def chat(name: str, *, part: bool = False, **fields: Any) -> Case:
    """A short answer. A random model may end at any token; unless a grammar ends it, it shall not."""
    body = {"model": "any", "messages": HELLO, "max_tokens": 6, "ignore_eos": "response_format" not in fields}
    body |= fields
    return Case(f"chat: {name}", "POST", "/v1/chat/completions", body, part=part)


CASES = [
    get("/health"),
    get("/ready"),
    get("/v1/models"),
    get("/model_info", part=True),
    get("/v1/loads", part=True),
    get("/server_info", part=True),
    get("/get_load"),
    get("/nowhere"),
    get("/v1/chat/completions"),
    post("POST /health", "/health"),
    Case("DELETE /v1/models", "DELETE", "/v1/models"),
    post("abort nobody", "/abort_request", {"rid": "nobody"}),
    post("abort all", "/abort_request", {"abort_all": True}),
    post("abort with no JSON", "/abort_request", content=b"x", headers={"Content-Type": "application/json"}),
    chat("plain"),
    chat("with an id", rid="plain-id"),
    chat("without tokens", max_tokens=0),
    chat("with max_completion_tokens", max_tokens=None, max_completion_tokens=3),
    chat("logprobs", logprobs=True),
    chat("top logprobs", logprobs=True, top_logprobs=3),
    chat("top logprobs without logprobs", top_logprobs=3),
    chat("schema", response_format=WITH_SCHEMA, max_tokens=60),
    chat("a whole conversation", messages=[
        {"role": "system", "content": "Be brief."}, *HELLO, {"role": "assistant", "content": "Yes."}, *HELLO,
    ]),
    chat("stream", stream=True),
    chat("stream with usage", stream=True, stream_options=USAGE),
    chat("stream with logprobs", stream=True, logprobs=True, top_logprobs=2),
    chat("stream with a schema", stream=True, stream_options=USAGE, response_format=WITH_SCHEMA, max_tokens=60),
    chat("a call of a tool", **A_CALL),
    chat("a call of a tool, streamed", stream=True, stream_options=USAGE, **A_CALL),
    chat("tools that may not be called", tools=TOOLS, tool_choice="none"),
    chat("a conversation with calls", messages=[
        *HELLO, {"role": "assistant", "content": None, "tool_calls": CALLED},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]),
    chat("a tool without a function", tools=[{"type": "function"}]),
    chat("no messages", messages=[]),
    chat("an unknown role", messages=[{"role": "nobody", "content": "x"}]),
    chat("max_tokens below zero", max_tokens=-1),
    chat("more than the context", max_tokens=CONTEXT + 10),
    chat("a prompt beyond the context", messages=[{"role": "user", "content": "many words " * CONTEXT}]),
    chat("the same, streamed", messages=[{"role": "user", "content": "many words " * CONTEXT}], stream=True),
    chat("a temperature below zero", temperature=-1),
    chat("stream that is no boolean", stream="surely"),
    chat("an unknown format", response_format={"type": "poem"}),
    chat("a schema without schema", response_format={"type": "json_schema", "json_schema": {"name": "x"}}),
    post("chat: no JSON", "/v1/chat/completions", content=b"{", headers={"Content-Type": "application/json"}),
    post("chat: no content type", "/v1/chat/completions", content=b"{}"),
    post("chat: an empty object", "/v1/chat/completions", {}),
]  # fmt: skip


# Both servers


def long_or_fitting(
    messages: Messages, schema: dict[str, Any] | None, repeat: int, temperature: float
) -> Completion:
    if tools_in("\n".join(one["content"] for one in messages)):
        return Completion(call_text(ToolCall("pick", {"a": "x"})))
    return Completion('{"a": "x"}' if schema else "word " * 4000)


@contextlib.asynccontextmanager
async def rehearsing() -> AsyncIterator[str]:
    """A rehearsal at full time scale that needs no loading and has the tiny model's context."""
    times = StepTimes(load_seconds=0.0, decode=184.0, prefill=1e9)
    pace = Pace(times, 1.0)
    api = Api(Role.GENERATOR, pace, long_or_fitting, context_tokens=CONTEXT)
    await api.load()
    server = HttpServer(api)
    await server.start("127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        api.engine.abort_all()
        await server.close()


def client_for(url: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, timeout=120, trust_env=False)


# What is compared


def shape(value: Any) -> Any:
    """Keys and types, without values; a list is the set of its elements' shapes.

    A token's bytes are a list that may be empty: a special token has none.
    """
    if isinstance(value, dict):
        return {
            key: "bytes" if key == "bytes" and isinstance(entry, list) else shape(entry)
            for key, entry in sorted(value.items())
        }
    if isinstance(value, list):
        return [json.loads(text) for text in sorted({json.dumps(shape(entry)) for entry in value})]
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    return "number" if isinstance(value, int | float) else "string"


def without_differences(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_differences(entry) for key, entry in value.items() if key not in DIFFERENCES}
    return [without_differences(entry) for entry in value] if isinstance(value, list) else value


def lacking(ours: Any, theirs: Any, at: str = "$") -> list[str]:
    """Where the rehearsal's shape is not a part of SGLang's."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        missed = [f"{at}.{key}: only the rehearsal has it" for key in ours.keys() - theirs.keys()]
        return missed + [
            problem
            for key in sorted(ours.keys() & theirs.keys())
            for problem in lacking(ours[key], theirs[key], f"{at}.{key}")
        ]
    if isinstance(ours, list) and isinstance(theirs, list):
        return [
            f"{at}[]: {entry} fits none of SGLang's"
            for entry in ours
            if all(lacking(entry, other) for other in theirs)
        ]
    return [] if ours == theirs else [f"{at}: {ours}, with SGLang {theirs}"]


def chunk_kind(chunk: dict[str, Any]) -> str:
    """What a chunk of a stream is for."""
    if not chunk["choices"]:
        return "usage"
    choice = chunk["choices"][0]
    if choice["finish_reason"] is not None:
        return f"finish {choice['finish_reason']}"
    return "role" if "role" in choice["delta"] else "content"


def described(response: httpx.Response) -> dict[str, Any]:
    """Everything that has to be alike, as one value."""
    kind = response.headers.get("content-type", "")
    found: dict[str, Any] = {
        "status": response.status_code,
        "content type": kind,
        "allow": response.headers.get("allow"),
    }
    if kind.startswith("text/event-stream"):
        found |= described_stream(response.content)
    elif kind == "application/json":
        document = without_differences(response.json())
        found["json"] = shape(document)
        found |= described_document(document)
    else:
        found["text"] = response.text
    return found


def described_document(document: Any) -> dict[str, Any]:
    """Values that have to be equal: an error's type and code, SGLang's own words, why an answer ended."""
    if not isinstance(document, dict):
        return {}
    if document.get("object") == "error":
        semantic = document["type"] == "BadRequestError"
        words = re.sub(r"\d+", "N", document["message"]) if semantic else ""
        return {"error": (document["type"], document["code"], words)}
    if document.get("object") == "chat.completion":
        return {"finish": [choice["finish_reason"] for choice in document["choices"]]}
    return {"detail": document["detail"]} if "detail" in document else {}


def described_stream(content: bytes) -> dict[str, Any]:
    assert content.endswith(b"\n\n")
    events = content[:-2].split(b"\n\n")
    assert all(event.startswith(b"data: ") and b"\n" not in event for event in events)
    *chunks, done = [event.removeprefix(b"data: ") for event in events]
    order: list[str] = []
    shapes: dict[str, list[Any]] = {}
    for text in chunks:
        chunk = without_differences(json.loads(text))
        kind = chunk_kind(chunk)
        if not order or order[-1] != kind:
            order.append(kind)
        shapes.setdefault(kind, []).append(chunk)
    return {
        "order": [*order, done.decode()],
        "chunks": {kind: shape(values) for kind, values in shapes.items()},
    }


async def ask(url: str, case: Case) -> httpx.Response:
    async with client_for(url) as client:
        return await client.request(
            case.method, case.path, json=case.body, content=case.content, headers=case.headers
        )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_rehearsal_answers_as_sglang_does(sglang_engine: Server, case: Case) -> None:
    async with rehearsing() as url:
        ours, theirs = [described(await ask(server, case)) for server in (url, sglang_engine.url)]
        for _ in range(4):
            # On a busy machine SGLang puts several tokens into one chunk, and not every form of chunk comes.
            if case.part or ours == theirs or "chunks" not in theirs:
                break
            theirs = described(await ask(sglang_engine.url, case))
    if case.part:
        assert lacking(ours.pop("json"), theirs.pop("json")) == []
    assert ours == theirs


def settings_for(server: Server) -> ServerSettings:
    return ServerSettings.model_validate({"model": str(home() / "tiny"), "base_url": server.url})


async def test_navigators_client_understands_it(sglang_engine: Server) -> None:
    question = ChatRequest(messages=HELLO, max_tokens=100, temperature=1.0, top_p=1.0, schema=SCHEMA)
    async with ModelClient(settings_for(sglang_engine)) as client:
        assert await client.health()
        info = await client.require_model()
        answer = await client.chat(question)
        load = await client.load()
    assert info.kind == "sglang"
    assert json.loads(answer.text)["a"] in ("x", "y")
    assert answer.usage.completion_tokens > 0
    assert load is not None


LONG = {"messages": HELLO, "max_tokens": 3000, "ignore_eos": True}


async def running(client: httpx.AsyncClient, count: int = 1) -> None:
    while (await client.get("/v1/loads?include=core")).json()["loads"][0]["num_running_reqs"] < count:
        await asyncio.sleep(0.02)


async def aborted(url: str, *, stream: bool, everything: bool) -> dict[str, Any]:
    """What a request that runs for long comes to when it is aborted, and what was refused meanwhile."""
    body = {**LONG, "rid": "long", "stream": stream, "stream_options": USAGE if stream else None}
    async with client_for(url) as client:
        while True:
            request = asyncio.create_task(client.post("/v1/chat/completions", json=body))
            await running(client)
            again = await client.post("/v1/chat/completions", json={**LONG, "rid": "long"})
            if again.status_code == 400:
                break
            await request  # on a busy machine it ended before it was asked about: then nothing was shown
        await client.post("/abort_request", json={"abort_all": True} if everything else {"rid": "long"})
        return {"answer": described(await request), "same id": described(again)}


@pytest.mark.parametrize(("stream", "everything"), [(False, True), (True, False)])
async def test_an_abort_ends_a_request_in_order(
    sglang_engine: Server, stream: bool, everything: bool
) -> None:
    async with rehearsing() as url:
        ours, theirs = [
            await aborted(server, stream=stream, everything=everything) for server in (url, sglang_engine.url)
        ]
    for found in (ours, theirs):
        # Whether a token was written before the abort is a matter of moments.
        found["answer"].get("chunks", {}).pop("content", None)
        if "order" in found["answer"]:
            found["answer"]["order"] = [kind for kind in found["answer"]["order"] if kind != "content"]
    assert ours == theirs
    assert "finish abort" in theirs["answer"].get("order", ["finish abort"])
    assert theirs["answer"].get("finish", ["abort"]) == ["abort"]
