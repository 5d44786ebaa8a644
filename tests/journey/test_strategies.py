"""Whole sessions through the conductor for each strategy over HTTP: nothing lost, nothing by turns, nobody ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from navigator.engine import conductor as conducting
from navigator.engine.conductor import Conductor, RunOptions
from navigator.figures.canary import MAX_TOKENS
from navigator.model.states import TaskState
from tests.client.machines import Gpu, LlamaRouter, Machine, Manager, Ollama, Vllm, running
from tests.journey.room import Room, edit
from tests.journey.scripted_models import approval

WRITER, READER = "org/writer-35B", "org/reader-122B"
SIZES = {WRITER: 30, READER: 80}


@dataclass
class Scene:
    """The machines of one strategy; one machine may play both."""

    machines: tuple[Machine, ...]
    strategy: str

    @property
    def writer(self) -> Machine:
        return self.machines[0]

    @property
    def reader(self) -> Machine:
        return self.machines[-1]

    def settings(self) -> str:
        return (
            f'[generator]\nmodel = "{WRITER}"\nbase_url = "{self.writer.url}"\n'
            f'[reviewer]\nmodel = "{READER}"\nbase_url = "{self.reader.url}"\n'
            f'[batch]\nquiet_minutes = 0\n[swap]\nstrategy = "{self.strategy}"\n'
        )


def managed(kind: type[Manager]) -> Callable[[], Scene]:
    return lambda: Scene((kind(Gpu(100), dict(SIZES)),), "managed")


def vllm() -> Scene:
    gpu = Gpu(100)
    return Scene((Vllm(gpu, WRITER, 30), Vllm(gpu, READER, 80, asleep=True)), "sleep")


SCENES: dict[str, Callable[[], Scene]] = {
    "vllm": vllm,
    "ollama": managed(Ollama),
    "llama.cpp": managed(LlamaRouter),
}


@pytest.fixture
def room(room: Room, monkeypatch: pytest.MonkeyPatch) -> Room:
    monkeypatch.setattr(conducting, "_HEARTBEAT", 0.05)
    return room


def chats(machine: Machine) -> list[str]:
    """The models that were asked, in order, the one-token questions of swaps and the canary's left out."""
    return [
        body["model"]
        for body in machine.bodies
        if isinstance(body, dict) and body.get("max_tokens", 0) > MAX_TOKENS
    ]


@pytest.mark.parametrize("name", SCENES)
def test_a_session_is_written_swapped_once_and_reviewed(room: Room, name: str) -> None:
    scene = SCENES[name]()
    tasks = [room.queue(f"Make double() multiply, {number}", files=[]) for number in range(2)]

    async def session() -> dict[str, Any]:
        async with running(*scene.machines):
            for machine in scene.machines:
                machine.says = {WRITER: edit("return x * 2"), READER: approval()}
            room.config.write_text(scene.settings())
            with room.world() as world:
                return (await Conductor(world, RunOptions(until="idle")).run()).document()

    document = asyncio.run(session())
    assert [room.task(task).state for task in tasks] == [TaskState.AWAITING_APPROVAL] * 2
    assert [machine.death for machine in scene.machines] == [""] * len(scene.machines)
    assert (document["swaps"], document["failed_swaps"]) == (1, 0)
    assert document["calls"] == {"made": 4, "repeated": 0, "lost": 0, "running": 0}
    asked = [model for machine in dict.fromkeys(scene.machines) for model in chats(machine)]
    assert asked == [WRITER] * 2 + [READER] * 2
    if isinstance(scene.writer, Manager):
        assert scene.writer.loads == [WRITER, READER]  # never by turns
