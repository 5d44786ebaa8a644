"""One real server of each kind for the tests that talk to it, or the reason why there is none."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
import pytest_asyncio

from navigator.client.client import ModelClient
from navigator.config.settings import ServerSettings
from tests.engines import sglang
from tests.engines.llama import ALIAS, Server, llama_server, missing


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if reason := missing():
        pytest.skip(reason)
    with llama_server(tmp_path_factory.mktemp("llama"), "--metrics") as server:
        ready(server)
        yield server


SGLANG = (
    *("--tool-call-parser", "qwen25", "--enable-lora", "--lora-backend", "torch_native"),
    *("--max-lora-rank", "4", "--lora-target-modules", "down_proj"),
)
"""Options of the server that all tests with SGLang share."""


@pytest.fixture(scope="session")
def _sglang(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Server]]:
    if reason := sglang.missing():
        pytest.skip(reason)
    started: list[Server] = []
    with contextlib.ExitStack() as stack:

        def living() -> Server:
            if not started or started[-1].process.poll() is not None:
                folder = tmp_path_factory.mktemp("sglang")
                started.append(stack.enter_context(sglang.sglang_server(folder, *SGLANG)))
            return started[-1]

        yield living


@pytest.fixture
def sglang_engine(_sglang: Callable[[], Server]) -> Server:
    """SGLang; another one where a test ended it. Starting it takes minutes where many tests share two cores."""
    return _sglang()


@pytest_asyncio.fixture
async def client(engine: Server) -> AsyncIterator[ModelClient]:
    async with ModelClient(settings_for(engine)) as client:
        yield client


def settings_for(engine: Server, **fields: object) -> ServerSettings:
    """Settings that name this server."""
    return ServerSettings.model_validate({"model": ALIAS, "base_url": engine.url} | fields)


async def healthy(server: Server) -> None:
    """Wait until the model is loaded."""
    async with ModelClient(settings_for(server)) as client, asyncio.timeout(60):
        while not await client.health():
            await asyncio.sleep(0.02)


def ready(server: Server) -> None:
    """`healthy`, for tests that run no event loop."""
    asyncio.run(healthy(server))


async def _idle(server: Server) -> None:
    async with ModelClient(settings_for(server)) as client, asyncio.timeout(60):
        while (load := await client.load()) is None or not load.idle:
            await asyncio.sleep(0.02)


def wait_until_idle(server: Server) -> None:
    """Wait until the server works on no request."""
    asyncio.run(_idle(server))
