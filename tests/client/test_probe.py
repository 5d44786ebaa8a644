"""Which software answers, what it serves, how busy it is: the answers of the real servers, as they document them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from navigator.client.body import Load
from navigator.client.errors import BadAnswer, NotReady, Refused, ServingError, Unreachable, WrongModel
from tests.client.conftest import question
from tests.client.scripted import Request, Wire, answer, models, refuse, routes, serving


@pytest.mark.parametrize(
    ("listed", "info", "kind"),
    [
        (models("m", owned_by="sglang"), None, "sglang"),
        (models("m", owned_by="vllm"), None, "vllm"),
        (models("m", owned_by="llamacpp"), None, "llamacpp"),
        (models("m", owned_by="library"), None, "ollama"),
        (models("m", owned_by="organization_owner"), None, "openai"),
        (models("m", owned_by="gateway"), {"model_path": "/models/m"}, "sglang"),
        ([1, {"id": 3}], {"model_path": 7}, "openai"),
    ],
)
async def test_the_kind_is_asked_once(connect, listed: Any, info: Any, kind: str) -> None:
    told = refuse(200, info) if info else refuse(404, {})
    script = routes(answer("x"), models=refuse(200, listed), model_info=told)
    async with serving(script) as server, connect(server.url, model="m") as client:
        kinds = await asyncio.gather(*(client.kind() for _ in range(5)))
    assert set(kinds) == {kind}
    assert server.paths().count("/v1/models") == 1


async def test_a_server_that_is_not_ready_is_asked_again(connect) -> None:
    states = [503, 200]

    async def listed(request: Request, wire: Wire) -> None:
        await wire.json(models("org/model", owned_by="sglang"), states.pop(0))

    script = routes(answer("x"), models=listed)
    async with serving(script) as server, connect(server.url) as client:
        with pytest.raises(Unreachable):
            await client.kind()
        assert await client.kind() == "sglang"


async def test_sglang_gets_an_id_to_abort_by(connect) -> None:
    script = routes(answer("x"), models=refuse(200, models("org/model", owned_by="sglang")))
    async with serving(script) as server, connect(server.url) as client:
        for _ in range(2):
            await client.chat(question())
    assert len({chat.json["rid"] for chat in server.chats}) == 2
    assert "/abort_request" not in server.paths(), "a whole answer needs no abort"


@pytest.mark.parametrize(
    ("health", "listed", "healthy"),
    [
        (200, 500, True),
        (503, 200, False),
        (500, 200, False),
        (404, 200, True),
        (405, 401, False),
        (302, 200, False),
    ],
)
async def test_health(connect, health: int, listed: int, healthy: bool) -> None:
    script = routes(answer("x"), health=refuse(health, {}), models=refuse(listed, models("org/model")))
    async with serving(script) as server, connect(server.url) as client:
        assert await client.health() is healthy


async def test_what_is_served(connect) -> None:
    listed = {"data": [{"id": "m", "owned_by": "sglang"}, {"id": "adapter"}]}
    script = routes(answer("x"), models=refuse(200, listed), model_info=refuse(200, {"model_path": "/w/m"}))
    async with serving(script) as server, connect(server.url, model="m") as client:
        info = await client.require_model()
    assert info.names == ("m", "adapter")
    assert (info.kind, info.path) == ("sglang", "/w/m")


async def test_the_wanted_model_is_not_served(connect) -> None:
    script = routes(answer("x"), models=refuse(200, models("org/other\x1b[31m")))
    async with serving(script) as server, connect(server.url) as client:
        with pytest.raises(WrongModel) as caught:
            await client.require_model()
    assert "org/other" in caught.value.message
    assert "\x1b" not in caught.value.message


@pytest.mark.parametrize(
    ("status", "listed", "error", "hint"),
    [
        *((200, nothing, BadAnswer, "") for nothing in ({}, [], {"data": []}, {"data": [{"id": 1}]})),
        (401, {}, Refused, "api_key_env"),
        (403, {}, Refused, "api_key_env"),
        (503, {}, NotReady, ""),
    ],
)
async def test_a_list_that_lists_nothing_or_is_withheld_says_why(
    connect, status: int, listed: Any, error: type[ServingError], hint: str
) -> None:
    script = routes(answer("x"), models=refuse(status, listed))
    async with serving(script) as server, connect(server.url) as client:
        with pytest.raises(error) as caught:
            await client.model_info()
    assert hint in caught.value.hint


BUSY = {"is_processing": True}
RANK = {"num_running_reqs": 3, "num_waiting_reqs": 2, "token_usage": 0.5}


@pytest.mark.parametrize(
    ("owner", "others", "load"),
    [
        ("sglang", {"loads": refuse(200, {"loads": [RANK, RANK | {"token_usage": 0.7}]})}, Load(6, 4, 0.7)),
        ("sglang", {"loads": refuse(200, {"loads": [{"num_running_reqs": "x"}]})}, Load(0, 0)),
        ("sglang", {"loads": refuse(200, {"loads": 7})}, None),
        ("sglang", {}, None),
        ("vllm", {"load": refuse(200, {"server_load": 4})}, Load(4, 0)),
        ("vllm", {}, None),
        ("llamacpp", {"slots": refuse(200, [BUSY, BUSY | {"is_processing": False}, 3])}, Load(1, 0, room=3)),
        ("llamacpp", {"slots": refuse(501, {"error": "off"})}, None),
        ("library", {}, None),
    ],
)
async def test_load(connect, owner: str, others: dict[str, Any], load: Load | None) -> None:
    script = routes(answer("x"), models=refuse(200, models("org/model", owned_by=owner)), **others)
    async with serving(script) as server, connect(server.url) as client:
        assert await client.load() == load
