"""Strategy `managed`: Ollama, llama-swap and llama.cpp's router, each on its own wire; and `adapter`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from navigator.config.settings import Settings
from navigator.model.errors import MissingPart
from navigator.model.states import Role
from navigator.swap.strategies import managed
from navigator.swap.strategies.adapter import AdapterStrategy
from navigator.swap.strategies.managed import ManagedStrategy, is_from, loaded_models
from tests.client.machines import (
    Gpu,
    LlamaRouter,
    LlamaSwap,
    Manager,
    Ollama,
    ended,
    quiet,
    running,
    streaming,
    two_roles,
)
from tests.client.scripted import Request, Wire, models, refuse, routes, serving

WRITER, READER = "writer-35b", "reader-122b"
SIZES = {WRITER: 30, READER: 80}
KINDS: dict[str, type[Manager]] = {"ollama": Ollama, "llama-swap": LlamaSwap, "llama.cpp": LlamaRouter}


@pytest.fixture(params=sorted(KINDS))
def manager(request: pytest.FixtureRequest) -> Manager:
    return KINDS[request.param](Gpu(100), dict(SIZES))


@pytest.fixture
async def swaps(manager: Manager) -> AsyncIterator[ManagedStrategy]:
    """The strategy, while the manager runs."""
    async with running(manager):
        yield ManagedStrategy(settings(manager.url))


def settings(url: str) -> Settings:
    return two_roles((WRITER, url), (READER, url), strategy="managed")


async def test_there_and_back(manager: Manager, swaps: ManagedStrategy) -> None:
    assert await swaps.resident() is None
    first = await swaps.swap(Role.GENERATOR, quiet)
    assert ended(first) == ("done", ["load", "verify"])
    there = await swaps.swap(Role.REVIEWER, quiet)
    assert ended(there) == ("done", ["drain", "load", "verify"])
    assert await swaps.resident() is Role.REVIEWER
    again = await swaps.swap(Role.REVIEWER, quiet)
    assert ended(again) == ("done", ["verify"])
    assert manager.loads == [WRITER, READER]
    asked = [body for body in manager.bodies if body]
    assert [body["max_tokens"] for body in asked] == [1, 1]


async def test_looking_loads_nothing(manager: Manager, swaps: ManagedStrategy) -> None:
    await swaps.swap(Role.GENERATOR, quiet)
    for believed in (Role.GENERATOR, Role.REVIEWER, None) * 5:
        assert (await swaps.look(believed)).resident is Role.GENERATOR
    assert manager.loads == [WRITER]
    # Another's request made it load the other one: that is seen, and is nobody's death.
    await manager.before(READER)
    seen = await swaps.look(Role.GENERATOR)
    assert (seen.resident, seen.dead) == (Role.REVIEWER, False)
    # Unloaded for lack of work is not dead; a closed door is.
    manager.unload()
    seen = await swaps.look(Role.GENERATOR)
    assert (seen.resident, seen.dead, seen.sure) == (None, False, True)
    await manager.stop()
    seen = await swaps.look(Role.GENERATOR)
    assert (seen.resident, seen.dead, seen.failure) == (None, True, "crashed")


async def test_a_stream_is_finished_before_the_other_model_is_asked_for(
    manager: Manager, swaps: ManagedStrategy
) -> None:
    await swaps.swap(Role.GENERATOR, quiet)
    async with streaming(manager, settings(manager.url).generator) as stream:
        swap = asyncio.create_task(swaps.swap(Role.REVIEWER, quiet))
        await asyncio.sleep(0.1)
        assert manager.loads == [WRITER]
        manager.hold.set()
        assert (await stream).text
        assert (await swap).outcome == "done"


@pytest.mark.parametrize(
    ("status", "words", "failure"),
    [
        (500, "model requires more system memory (70 GiB) than is available", "no_memory"),
        (404, "model 'reader-122b' not found", "wrong_model"),
        (400, "unknown flag", "refused"),
    ],
)
async def test_a_model_that_does_not_come_is_classed_and_the_one_before_is_called_back(
    manager: Manager, swaps: ManagedStrategy, status: int, words: str, failure: str
) -> None:
    await swaps.swap(Role.GENERATOR, quiet)
    manager.refusal[READER] = (status, words)
    manager.unload()
    await manager.before(WRITER)
    result = await swaps.swap(Role.REVIEWER, quiet)
    assert (result.outcome, result.failure) == ("went_back", failure), result.reason
    assert await swaps.resident() is Role.GENERATOR


async def test_a_server_that_loads_too_long_is_not_waited_for(
    manager: Manager, swaps: ManagedStrategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(managed, "LOAD_SECONDS", 0.3)
    manager.hold.clear()
    result = await swaps.swap(Role.REVIEWER, quiet)
    assert (result.outcome, result.failure) == ("failed", "timeout")
    manager.hold.set()


async def test_no_server_and_one_that_wants_a_key() -> None:
    result = await ManagedStrategy(settings("http://127.0.0.1:9")).swap(Role.REVIEWER, quiet)
    assert (result.outcome, result.failure) == ("failed", "unreachable")
    async with serving(refuse(401, {})) as server:
        result = await ManagedStrategy(settings(server.url)).swap(Role.REVIEWER, quiet)
    assert result.outcome == "failed" and "requires an API key (HTTP 401)" in result.reason


async def test_a_server_that_is_none_of_the_three() -> None:
    async with serving(routes(refuse(500, {}))) as server:
        with pytest.raises(MissingPart, match="neither Ollama"):
            await ManagedStrategy(settings(server.url)).look(Role.GENERATOR)


@pytest.mark.parametrize(
    "said", [None, [], {}, {"models": 3}, {"running": [3, {}]}, {"data": [{"id": 3, "status": []}]}]
)
def test_answers_of_another_form_name_nothing(said: Any) -> None:
    for software in ("ollama", "llama-swap", "llama.cpp"):
        assert loaded_models(software, said) == []
    assert not is_from("ollama", said)


def test_a_model_that_is_still_loading_is_not_loaded() -> None:
    said = {"running": [{"model": "a", "state": "starting"}, {"model": "b", "state": "ready"}]}
    assert loaded_models("llama-swap", said) == ["b"]
    router = {
        "data": [{"id": "a", "status": {"value": "loading"}}, {"id": "b", "status": {"value": "loaded"}}]
    }
    assert loaded_models("llama.cpp", router) == ["b"]


# Adapters


@pytest.mark.parametrize("served", [["writer-lora", "reader-lora"], ["writer-lora"]])
async def test_both_adapters_have_to_be_served(served: list[str]) -> None:
    async def list_models(request: Request, wire: Wire) -> None:
        await wire.json(models("base", *served))

    async with serving(routes(refuse(500, {}), models=list_models)) as server:
        both = ("writer-lora", server.url), ("reader-lora", server.url)
        swaps = AdapterStrategy(two_roles(*both, strategy="adapter"))
        assert swaps.both_resident
        said = await swaps.prepare()
        assert ("does not serve reader-lora" in said) is (len(served) == 1)
        assert ("--lora-paths reader-lora=FOLDER" in said) is bool(said)
        assert await swaps.resident() is Role.GENERATOR
        result = await swaps.swap(Role.REVIEWER, quiet)
    assert (result.outcome, result.failure) == (("failed", "wrong_model") if said else ("done", ""))
