"""LoRA adapters picked by name, on the servers themselves: with the name alone, two of them answer with the base model.

The adapters are random, so what they write means nothing; but it differs from the base model's and from each other's.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from navigator.client.body import ChatRequest
from navigator.client.client import ModelClient
from navigator.client.errors import CutByLength, WrongModel
from navigator.config.settings import Settings
from navigator.model.states import Role
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from navigator.swap.strategies.adapter import AdapterStrategy
from tests.engines import llama, sglang
from tests.engines.adapters import write_gguf, write_peft
from tests.engines.conftest import ready, settings_for
from tests.engines.llama import ALIAS, Server, llama_server
from tests.engines.test_llama_loop import AN_EDIT, SHORT_STRINGS, configured
from tests.git.world import make_repo
from tests.sandbox.support import needs_sandbox

pytestmark = [pytest.mark.engines, pytest.mark.xdist_group("engines")]

NAMES = ("write", "read")


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """llama.cpp with two adapters, neither of which is on unless a request says so."""
    if reason := llama.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("adapters")
    files = [write_gguf(folder / f"{name}.gguf", seed) for seed, name in enumerate(NAMES, 1)]
    with llama_server(folder, "--lora-scaled", ",".join(f"{path}:0" for path in files)) as server:
        ready(server)
        yield server


async def said(server: Any, model: str, **extra: Any) -> str:
    """What is written first, at temperature 0."""
    request = ChatRequest(
        messages=({"role": "user", "content": "Say something."},),
        max_tokens=12,
        temperature=0,
        top_p=1,
        extra=extra,
    )
    async with ModelClient(settings_for(server, model=model, context_tokens=4096, max_tokens=64)) as client:
        try:
            return (await client.chat(request)).text
        except CutByLength as error:
            return error.partial


async def test_llama_picks_the_adapter_whose_file_has_the_name(adapted: Server) -> None:
    by_name = [await said(adapted, name) for name in NAMES]
    by_number = [
        await said(adapted, ALIAS, lora=[{"id": number, "scale": 1.0}]) for number in range(len(NAMES))
    ]
    assert by_name == by_number
    assert len({*by_name, await said(adapted, ALIAS)}) == 3
    async with ModelClient(settings_for(adapted, model="rite")) as client:
        with pytest.raises(WrongModel):
            await client.require_model()


def roles(url: str) -> dict[str, Any]:
    return {
        role: {"model": name, "base_url": url, "context_tokens": 4096, "max_tokens": 64}
        for role, name in zip(("generator", "reviewer"), NAMES, strict=True)
    }


async def test_sglang_picks_adapters(sglang_engine: Server, tmp_path: Path) -> None:
    paths = [write_peft(tmp_path / name, seed, sglang.home() / "tiny") for seed, name in enumerate(NAMES, 1)]
    strategy = AdapterStrategy(
        Settings.model_validate(roles(sglang_engine.url) | {"swap": {"strategy": "adapter"}})
    )
    assert await strategy.resident() is None
    async with httpx.AsyncClient(base_url=sglang_engine.url, trust_env=False, timeout=60) as http:
        for name, path in zip(NAMES, paths, strict=True):
            adapter = {"lora_name": name, "lora_path": str(path)}
            (await http.post("/load_lora_adapter", json=adapter)).raise_for_status()
        assert await strategy.prepare() == ""
        assert await strategy.resident() is Role.GENERATOR
        by_name = [await said(sglang_engine, name) for name in NAMES]
        base = str(sglang.home() / "tiny")
        assert by_name == [await said(sglang_engine, base, lora_path=name) for name in NAMES]
        assert len({*by_name, await said(sglang_engine, base)}) == 3
        for name in NAMES:  # others use this server, too
            (await http.post("/unload_lora_adapter", json={"lora_name": name})).raise_for_status()


COMPARED = 8
"""Tasks: of what a random model writes for one, a quarter leaves nothing to review."""


@needs_sandbox
@pytest.mark.sandbox
def test_compare_has_adapters_on_the_generators_server(
    tmp_path: Path, adapted: Server, engine: Server
) -> None:
    navigator = configured(
        tmp_path,
        adapted.url,
        AN_EDIT,
        SHORT_STRINGS,
        most=4000,
        reviewer_url=engine.url,
        strategy='strategy = "resident"',
    )
    rows = [
        {"task_id": number, "text": f"Write half(), {number}.", "test_list": ["assert half(8) == 4"]}
        for number in range(COMPARED)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ("--arm", "cascade", "--arm", "adapters", "--adapter", *NAMES, "--rounds", "1", "--name", "lora")
    done = navigator("lab", "compare", "--file", str(tmp_path / "rows.jsonl"), *words)
    arms = {arm["name"]: arm for arm in done["arms"]}
    assert all(arm["passed"]["n"] == COMPARED and arm["tokens"] > 0 for arm in arms.values())
    lines = map(json.loads, (tmp_path / "state/lab/compare/lora/journal.jsonl").read_text().splitlines())
    turns = [line["turn"] for line in lines if "turn" in line]
    # Every actor wrote something, under its own name.
    assert {turn["path"][-1] for turn in turns if turn["usage"]["completion_tokens"]} == set("grab")
    assert {turn["review"]["model"] for turn in turns if turn["review"]} == {ALIAS, "read"}


def test_the_exam_asks_either_adapter_and_swaps_nothing(tmp_path: Path, adapted: Server) -> None:
    adapters, short = 'strategy = "adapter"', SHORT_STRINGS
    navigator = configured(tmp_path, adapted.url, short, short, most=4000, strategy=adapters, models=NAMES)
    navigator("project", "add", str(make_repo(tmp_path / "thing")))
    navigator("exam", "prepare", "--synthetic")
    navigator("run", "--detach")
    asked = "exam", "run", "--yes", "--items", "4"
    try:
        assert navigator(*asked)["loaded"] and navigator(*asked, "--writer")["items"] == 4
        while not (shown := navigator("exam", "show"))["reviewers"] or shown["items"] < 4:
            pass
    finally:
        navigator("run", "--stop")
    store = Reader(open_reader(tmp_path / "state" / "navigator.db"))
    answers = store.exam_answers()
    assert Counter(one.model for one in answers) == {"write": 4, "read": 4}
    assert {(one.model, one.role) for one in answers} == {("write", Role.GENERATOR), ("read", Role.REVIEWER)}
    assert all(one.usage.completion_tokens for one in answers)
    assert store.swaps() == [] and store.meta("resident", str) == "both"
