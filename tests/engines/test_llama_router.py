"""Strategy `managed` against llama.cpp's own router: two models, one at a time, each a process that the router starts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from navigator.client.body import ChatRequest
from navigator.client.client import ModelClient
from navigator.client.errors import CutByLength
from navigator.config.settings import Settings
from navigator.model.states import Role
from navigator.setup.servers import look
from navigator.swap.base import PhaseEvent
from navigator.swap.strategies.managed import ManagedStrategy
from tests.engines.llama import Server, home, llama_router, missing

pytestmark = [pytest.mark.engines, pytest.mark.xdist_group("engines")]

WRITER, READER, BROKEN = "writer", "reader", "broken"
_NO_PROCESSES = "subprocess is not enabled"


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("router")
    models = folder / "models"
    models.mkdir()
    for name in (WRITER, READER):
        shutil.copy(home() / "tiny.gguf", models / f"{name}.gguf")
    (models / f"{BROKEN}.gguf").write_bytes(b"GGUF, it says")
    if _NO_PROCESSES in _last_words(models):
        pytest.skip(f"a llama-server with a router: remove {home()}, and `make engines` builds it again")
    with llama_router(folder, models=models) as server:
        yield server


def _last_words(models: Path) -> str:
    """What a router says that has no port to listen on: one that cannot start processes says that, and earlier."""
    command = [
        str(home() / "llama-server"),
        "--models-dir",
        str(models),
        "--host",
        "192.0.2.1",
        "--no-ui",
        "--offline",
    ]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False, env={"HOME": str(models)})
    return (done.stdout + done.stderr).decode("utf-8", "replace")


@pytest.fixture
def fresh(router: Server) -> Server:
    """The router with nothing loaded."""
    for name, state in states(router).items():
        if state == "loaded":
            unload(router, name)
    while set(states(router).values()) != {"unloaded"}:
        pass
    return router


def settings(url: str, **models: str) -> Settings:
    server = {"base_url": url, "context_tokens": 16384}
    return Settings.model_validate(
        {
            "generator": server | {"model": models.get("generator", WRITER)},
            "reviewer": server | {"model": models.get("reviewer", READER)},
            "swap": {"strategy": "managed"},
        }
    )


def listed(server: Server) -> list[dict[str, Any]]:
    while True:
        try:
            with urllib.request.urlopen(f"{server.url}/v1/models", timeout=10) as answer:
                entries: list[dict[str, Any]] = json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code != 503:  # its port is open before it has looked at its models
                raise
            time.sleep(0.05)
        else:
            return entries


def states(server: Server) -> dict[str, str]:
    return {entry["id"]: entry["status"]["value"] for entry in listed(server)}


def unload(server: Server, name: str) -> None:
    body = json.dumps({"model": name}).encode()
    with urllib.request.urlopen(f"{server.url}/models/unload", data=body, timeout=30) as answer:
        assert json.load(answer) == {"success": True}


def quiet(event: PhaseEvent) -> None:
    """A report nobody reads."""


async def test_there_and_back_with_one_model_loaded_at_a_time(fresh: Server) -> None:
    swaps = ManagedStrategy(settings(fresh.url))
    assert await swaps.resident() is None
    for role, name, phases in (
        (Role.GENERATOR, WRITER, ["load", "verify"]),
        (Role.REVIEWER, READER, ["drain", "load", "verify"]),
        (Role.REVIEWER, READER, ["verify"]),
        (Role.GENERATOR, WRITER, ["drain", "load", "verify"]),
    ):
        done = await swaps.swap(role, quiet)
        assert (done.outcome, [phase.name for phase in done.phases]) == ("done", phases), done.reason
        assert [model for model, state in states(fresh).items() if state == "loaded"] == [name]
        assert await swaps.resident() is role


async def test_a_request_that_runs_ends_before_its_model_goes(fresh: Server) -> None:
    swaps = ManagedStrategy(settings(fresh.url))
    question = ChatRequest(
        messages=[{"role": "user", "content": "Go on."}],
        max_tokens=1500,
        temperature=1.0,
        top_p=1.0,
        extra={"logit_bias": [[2, False], [0, False]]},
    )
    async with ModelClient(swaps._settings.generator) as client:
        asked = asyncio.create_task(client.chat(question))
        async with asyncio.timeout(60):
            while (load := await client.load()) is None or load.idle:
                await asyncio.sleep(0.02)
        assert load.running == 1
        done = await swaps.swap(Role.REVIEWER, quiet)
        assert (done.outcome, asked.done()) == ("done", True), done.reason
        with pytest.raises(CutByLength):
            await asked


@pytest.mark.parametrize("name", ["absent", BROKEN])
async def test_a_model_that_does_not_come_leaves_the_other_one_in_its_place(fresh: Server, name: str) -> None:
    swaps = ManagedStrategy(settings(fresh.url, reviewer=name))
    await swaps.swap(Role.GENERATOR, quiet)
    done = await swaps.swap(Role.REVIEWER, quiet)
    assert (done.outcome, await swaps.resident()) == ("went_back", Role.GENERATOR), done.reason
    assert name in done.reason


def test_setup_knows_a_router_and_the_context_of_what_it_loaded(fresh: Server) -> None:
    found = asyncio.run(look(fresh.url, model=WRITER))
    assert (found.name, found.loads, found.problem) == ("llama.cpp", True, "")
    assert {WRITER, READER} <= set(found.models) and found.loaded == ()
    assert found.context is None and set(states(fresh).values()) == {"unloaded"}  # asking loads nothing
    question = ChatRequest([{"role": "user", "content": "Count."}], max_tokens=4, temperature=0.0, top_p=1.0)

    async def ask() -> None:
        async with ModelClient(settings(fresh.url).generator) as client:
            with contextlib.suppress(CutByLength):
                await client.chat(question)

    asyncio.run(ask())
    held = asyncio.run(look(fresh.url, model=WRITER))
    assert held.loaded == (WRITER,) and held.context is not None and held.context >= 256
