"""How a request picks an adapter, from what each server lists; what the servers do with it is in `tests/engines`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from navigator.client.body import keys_by_list, keys_by_number
from navigator.client.client import ModelClient
from navigator.swap.strategies.rehearsal import RehearsalStrategy
from tests.client.conftest import question
from tests.client.scripted import Request, Wire, answer, models, routes, serving

BASE = {"id": "Qwen/Qwen3", "owned_by": "sglang", "parent": None}
ADAPTER = {"id": "write", "owned_by": "sglang", "parent": "Qwen/Qwen3"}
NUMBERED = [{"id": 0, "path": "/a/write.gguf", "scale": 0.0}, {"id": 1, "path": "/a/read.gguf", "scale": 0.0}]


@pytest.mark.parametrize(
    ("models", "wanted", "keys"),
    [
        ([BASE, ADAPTER], "write", {"lora_path": "write"}),
        ([BASE, ADAPTER], "Qwen/Qwen3", {}),
        ([BASE, ADAPTER], "read", None),
        ([BASE, ADAPTER | {"owned_by": "vllm"}], "write", {}),
        ([], "write", None),
    ],
)
def test_by_the_list_of_models(models: list[dict[str, Any]], wanted: str, keys: object) -> None:
    assert keys_by_list(models, wanted) == keys


@pytest.mark.parametrize(
    ("payload", "wanted", "number"),
    [
        (NUMBERED, "read", 1),
        (NUMBERED, "/a/write.gguf", 0),
        (NUMBERED, "rea", None),
        ([{"id": "0", "path": "read.gguf"}, {"path": "read.gguf"}, 7, None], "read", None),
        ({"error": {"code": 400}}, "read", None),
        (None, "read", None),
    ],
)
def test_by_llamas_numbers(payload: object, wanted: str, number: int | None) -> None:
    keys = keys_by_number(payload, wanted)
    assert keys == (None if number is None else {"lora": [{"id": number, "scale": 1.0}]})


def test_rehearsed_swaps_of_different_speeds_are_kept_apart(tmp_path: Any) -> None:
    names = [RehearsalStrategy(tmp_path / "r", time_scale=scale).recorded for scale in (1.0, 0.25, 0)]
    assert names == ["rehearsal", "rehearsal ×0.25", "rehearsal ×0"]


async def test_two_first_requests_to_an_adapter_do_not_take_it_from_each_other(
    connect: Callable[..., ModelClient],
) -> None:
    """llama.cpp answers under the base's name: whoever forgets the adapter meanwhile takes the answer for another model's."""
    asked, answered = asyncio.Event(), asyncio.Event()
    lists = looks = 0

    async def listed(request: Request, wire: Wire) -> None:
        nonlocal lists
        lists += 1
        # Once to know the server, then each of the two: the second gets it when the first has asked.
        if lists > 2:
            await asked.wait()
        await wire.json(models("org/model", owned_by="llamacpp"))

    async def adapters(request: Request, wire: Wire) -> None:
        nonlocal looks
        looks += 1
        if looks > 1:  # the second request learns it only after the first was answered
            await answered.wait()
        await wire.json(NUMBERED)

    async def chat(request: Request, wire: Wire) -> None:
        asked.set()
        while looks < 2 and not answered.is_set():
            await asyncio.sleep(0.01)
        await answer("yes")(request, wire)

    script = routes(chat, models=listed, **{"lora-adapters": adapters})
    async with serving(script) as server, connect(server.url, model="read") as client:
        first, second = (asyncio.create_task(client.chat(question())) for _ in range(2))
        said = await first
        answered.set()
        assert [said.text, (await second).text] == ["yes", "yes"]
    assert [chat.json["lora"] for chat in server.chats] == [[{"id": 1, "scale": 1.0}]] * 2
