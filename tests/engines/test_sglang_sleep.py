"""Strategy `sleep` against a real SGLang on the CPU: its scheduler, its pauses and its assertions; no memory is freed there."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import httpx
import pytest

from navigator.client.body import ChatRequest
from navigator.client.client import ModelClient
from navigator.client.errors import CutByLength
from navigator.config.settings import ServerSettings
from navigator.model.states import Role
from navigator.swap.sleepers import Ledger, Note, SglangSleeper
from tests.engines.llama import Server

pytestmark = [
    pytest.mark.engines,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("engines"),
]


def sleeper_at(server: Server, folder: Path) -> tuple[SglangSleeper, Ledger, ServerSettings]:
    ledger = Ledger(folder / "sleep.json")
    settings = ServerSettings(model="tiny", base_url=server.url)
    return SglangSleeper(Role.GENERATOR, settings, ledger), ledger, settings


async def test_a_stream_that_runs_when_it_is_put_to_sleep_continues_after_it_wakes(
    sglang_engine: Server, tmp_path: Path
) -> None:
    sleeper, ledger, settings = sleeper_at(sglang_engine, tmp_path)
    heard: list[int] = []
    question = ChatRequest(
        [{"role": "user", "content": "Write."}],
        max_tokens=400,
        temperature=0.0,
        top_p=1.0,
        extra={"ignore_eos": True},
    )
    async with ModelClient(settings) as client:
        stream = asyncio.create_task(client.chat(question, lambda chars: heard.append(chars)))
        while not heard:
            await asyncio.sleep(0.01)
        assert await sleeper.state() == "awake"
        await sleeper.sleep()
        assert ledger.read(Role.GENERATOR).step == "released"
        assert ledger.read(Role.GENERATOR).mark
        assert [await sleeper.state() for _ in range(3)] == ["asleep"] * 3
        quiet = len(heard)
        await asyncio.sleep(0.5)
        assert len(heard) <= quiet + 1  # at most what was on its way
        assert not stream.done()
        again, _, _ = sleeper_at(sglang_engine, tmp_path)
        assert await again.state() == "asleep"  # another conductor reads the same
        await again.wake()
        assert await again.state() == "awake"
        with pytest.raises(CutByLength):  # it wrote all of its tokens
            await stream
        assert await client.health()
        await again.aclose()
    await sleeper.aclose()


async def test_its_mark_is_its_own(sglang_engine: Server, tmp_path: Path) -> None:
    sleeper, ledger, _ = sleeper_at(sglang_engine, tmp_path)
    await sleeper.sleep()
    note = ledger.read(Role.GENERATOR)
    await sleeper.wake()
    assert note.mark == await sleeper._mark() != ""
    ledger.write(Role.GENERATOR, Note("released", sglang_engine.url, "another process"))
    assert await sleeper.state() == "awake"
    await sleeper.aclose()


async def test_it_ends_itself_when_it_is_to_resume_what_it_did_not_release(sglang_engine: Server) -> None:
    """What all the care is for."""
    async with httpx.AsyncClient(trust_env=False, timeout=60) as http:
        with contextlib.suppress(httpx.HTTPError):  # its process is ending already
            await http.post(f"{sglang_engine.url}/resume_memory_occupation", json={"tags": ["weights"]})
    # Where it lives on, the test's own time limit ends it: how long it takes depends on what else the machine does.
    while sglang_engine.process.poll() is None:
        await asyncio.sleep(0.1)
