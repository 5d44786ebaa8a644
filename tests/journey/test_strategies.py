"""Whole sessions through the conductor for each strategy over HTTP: nothing lost, nothing by turns, nobody ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from navigator.engine import conductor as conducting
from navigator.engine.conductor import Conductor, RunOptions
from navigator.figures.canary import MAX_TOKENS
from navigator.model.states import TaskState
from tests.client.machines import Gpu, LlamaRouter, Machine, Manager, Ollama, Vllm, running
from tests.journey.room import Room, edit
from tests.journey.scripted_models import approval, settings

WRITER, READER = "org/writer-35B", "org/reader-122B"
SIZES = {WRITER: 30, READER: 80}


def vllm() -> tuple[Machine, ...]:
    gpu = Gpu(100)
    return Vllm(gpu, WRITER, 30), Vllm(gpu, READER, 80, asleep=True)


SCENES: dict[str, tuple[str, Callable[[], tuple[Machine, ...]]]] = {
    "vllm": ("sleep", vllm),
    "ollama": ("managed", lambda: (Ollama(Gpu(100), dict(SIZES)),)),
    "llama.cpp": ("managed", lambda: (LlamaRouter(Gpu(100), dict(SIZES)),)),
}
"""The strategy and its machines; one may play both."""


def chats(machine: Machine) -> list[str]:
    """The models that were asked, in order, the one-token questions of swaps and the canary's left out."""
    bodies = [body for body in machine.bodies if isinstance(body, dict)]
    return [body["model"] for body in bodies if body.get("max_tokens", 0) > MAX_TOKENS]


@pytest.mark.parametrize("name", SCENES)
def test_a_session_swaps_once(room: Room, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(conducting, "_HEARTBEAT", 0.05)
    strategy, make = SCENES[name]
    machines = make()
    tasks = [room.queue(f"Make double() multiply, {number}", files=[]) for number in range(2)]

    async def session() -> dict[str, Any]:
        async with running(*machines):
            for machine in machines:
                machine.says = {WRITER: edit("return x * 2"), READER: approval()}
            roles = settings(machines[0].url, machines[-1].url, (WRITER, READER))
            room.config.write_text(f"{roles.replace('resident', strategy)}[batch]\nquiet_minutes = 0\n")
            with room.world() as world:
                return (await Conductor(world, RunOptions(until="idle")).run()).document()

    document = asyncio.run(session())
    assert [room.task(task).state for task in tasks] == [TaskState.AWAITING_APPROVAL] * 2
    assert {machine.death for machine in machines} == {""}
    assert (document["swaps"], document["failed_swaps"]) == (1, 0)
    assert document["calls"] == {"made": 4, "repeated": 0, "lost": 0, "running": 0}
    assert [model for machine in machines for model in chats(machine)] == [WRITER] * 2 + [READER] * 2
    if isinstance(machines[0], Manager):
        assert machines[0].loads == [WRITER, READER]  # never by turns
