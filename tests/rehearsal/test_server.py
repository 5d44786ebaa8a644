"""Real processes on loopback, spoken to over real HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from navigator.rehearsal.__main__ import parse_options

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
        sys.executable, "-m", "navigator.rehearsal", "--role", role, "--port", "0", *options,
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
        statuses = {
            path: (await server.client.get(path)).status_code
            for path in (
                "/health",
                "/health_generate",
                "/v1/models",
                "/model_info",
                "/server_info",
                "/v1/loads",
            )
        }
        answer = await server.chat()

    assert statuses == {
        "/health": 503, "/health_generate": 503, "/v1/models": 200, "/model_info": 200, "/server_info": 200,
        "/v1/loads": 200,
    }  # fmt: skip
    assert answer.status_code == 503
    assert answer.json()["error"]["message"] == "The model is still loading."


async def test_everything_says_that_it_is_a_rehearsal() -> None:
    async with running("--time-scale", "0", role="reviewer") as server:
        await server.healthy()
        info = (await server.client.get("/server_info")).json()
        models = (await server.client.get("/v1/models")).json()
        model_info = (await server.client.get("/get_model_info")).json()

    assert info["rehearsal"] is True
    assert info["timing"]["load_seconds"] == 42.7
    assert models["data"][0]["id"].startswith("rehearsal/")
    assert model_info["model_path"].startswith("rehearsal/")


async def test_a_plain_answer() -> None:
    async with running("--time-scale", "0") as server:
        await server.healthy()
        answer = (await server.chat()).json()

    assert answer["choices"][0]["message"]["content"] == "OK."
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["system_fingerprint"] == "rehearsal"
    assert answer["model"] == GENERATOR
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


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


async def test_the_cache_is_flushed_when_idle() -> None:
    async with running("--time-scale", "0") as server:
        await server.healthy()
        cached = []
        for _ in range(2):
            answer = (await server.chat(**slow())).json()
            cached.append(answer["usage"]["prompt_tokens_details"]["cached_tokens"])
        flushed = await server.client.post("/flush_cache")
        answer = (await server.chat(**slow())).json()
        cached.append(answer["usage"]["prompt_tokens_details"]["cached_tokens"])

    assert flushed.status_code == 200
    assert cached[0] == cached[2] == 0 < cached[1]


async def test_max_tokens_cuts() -> None:
    async with running("--time-scale", "0") as server:
        await server.healthy()
        answer = (await server.chat(max_tokens=3, **slow())).json()

    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 3
    assert len(answer["choices"][0]["message"]["content"]) == 12


async def test_thinking_goes_to_its_own_field() -> None:
    async with running("--time-scale", "0") as server:
        await server.healthy()
        answer = (await server.chat(chat_template_kwargs={"enable_thinking": True})).json()

    message = answer["choices"][0]["message"]
    assert "does not think" in message["reasoning_content"]
    assert message["content"] == "OK."
    assert answer["usage"]["reasoning_tokens"] > 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "not JSON"),
        (b"[]", "JSON object"),
        (b"{}", "messages"),
        (b'{"messages": [{"role": "nobody"}]}', "role"),
        (b'{"messages": [{"role": "user", "content": 3}]}', "text"),
        (b'{"model": "other", "messages": [{"role": "user", "content": "x"}]}', "does not exist"),
        (
            b'{"model": "default", "max_tokens": 0, "messages": [{"role": "user", "content": "x"}]}',
            "max_tokens",
        ),
        (
            b'{"model": "default", "messages": [{"role": "user", "content": "%s"}]}' % (b"x" * 500),
            "context length",
        ),
        (
            b'{"model": "default", "response_format": {"type": "json_schema"}, '
            b'"messages": [{"role": "user", "content": "x"}]}',
            "json_schema",
        ),
    ],
)
async def test_what_cannot_be_served_is_refused(shared: Server, content: bytes, said: str) -> None:
    answer = await shared.client.post("/v1/chat/completions", content=content)

    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]
    assert answer.json()["error"]["code"] == 400


@pytest.fixture
async def shared() -> AsyncIterator[Server]:
    async with running("--time-scale", "0", "--context-tokens", "100") as server:
        await server.healthy()
        yield server


async def test_unknown_paths_and_methods(shared: Server) -> None:
    assert (await shared.client.get("/nothing")).status_code == 404
    assert (await shared.client.get("/v1/chat/completions")).status_code == 405
    assert (await shared.client.post("/health")).status_code == 405


async def test_a_connection_is_kept_alive() -> None:
    async with running("--time-scale", "0") as server:
        await server.healthy()
        port = server.client.base_url.port
        assert port is not None
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        one = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
        writer.write(one + one)  # both before either is answered
        writer.write(b"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received = await reader.read()
        writer.close()

    assert received.count(b"HTTP/1.1 200") == 2
    assert received.count(b"HTTP/1.1 404") == 1


async def test_what_is_not_http_is_refused() -> None:
    async with running("--time-scale", "0") as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.client.base_url.port)
        writer.write(b"nonsense\r\n\r\n")
        received = await reader.read()
        writer.close()
        await server.healthy()

    assert received.startswith(b"HTTP/1.1 400")


async def test_sigterm_lets_the_stream_end_and_exits_0() -> None:
    async with running("--time-scale", "0.05") as server:
        await server.healthy()
        body = {"model": GENERATOR, "stream": True, **slow()}
        async with server.client.stream("POST", "/v1/chat/completions", json=body) as answer:
            lines = answer.aiter_lines()
            await anext(lines)
            server.process.send_signal(signal.SIGTERM)
            while (await server.client.get("/health")).status_code != 503:
                await asyncio.sleep(0.005)
            refused = await server.chat()
            rest = [line async for line in lines if line]
        code = await server.process.wait()

    assert refused.status_code == 503
    assert rest[-1] == "data: [DONE]"
    assert json.loads(rest[-2][6:])["choices"][0]["finish_reason"] == "stop"
    assert code == 0


async def test_sigterm_while_loading_exits_0() -> None:
    async with running("--time-scale", NEVER_LOADED) as server:
        server.process.send_signal(signal.SIGTERM)

        assert await server.process.wait() == 0


async def test_it_goes_with_the_process_it_was_told_to_watch() -> None:
    parent = await asyncio.create_subprocess_exec("sleep", "1000")
    async with running("--time-scale", "0", "--parent", str(parent.pid)) as server:
        await server.healthy()
        parent.kill()
        await parent.wait()

        assert await server.process.wait() == 0


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the kernel's parent death signal is Linux's"
)
async def test_it_dies_with_its_parent() -> None:
    script = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-m', 'navigator.rehearsal', '--role', 'generator', '--time-scale', '0',"
        " '--die-with-parent'], stdout=subprocess.PIPE)\n"
        "p.stdout.readline()\n"
        "print(p.pid, flush=True)\n"
        "time.sleep(1000)\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    parent.kill()
    await parent.wait()

    while _alive(pid):
        await asyncio.sleep(0.02)


def _alive(pid: int) -> bool:
    """Whether a process runs; one that ended and waits for its parent to notice does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.parametrize(
    "arguments",
    [
        ["--role", "nobody"],
        ["--role", "generator", "--host", "0.0.0.0"],
        ["--role", "generator", "--host", "example.org"],
        ["--role", "generator", "--time-scale", "-1"],
        ["--role", "generator", "--fault-rate", "2"],
        ["--role", "generator", "--max-running", "0"],
    ],
)
def test_wrong_use_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        parse_options(arguments)

    assert error.value.code == 2
    assert "usage:" in capsys.readouterr().err
