"""The canary's questions to a real llama-server: at temperature 0 it says the same each time, beside other work too."""

from __future__ import annotations

import asyncio

import pytest

from navigator.client.body import ChatRequest
from navigator.client.client import ModelClient
from navigator.client.errors import CutByLength
from navigator.engine.canary import _answers
from navigator.figures.canary import judge
from navigator.model.states import CanaryOutcome

pytestmark = pytest.mark.engines


async def test_answers_are_the_same_alone_and_not_garbage_beside_other_work(client: ModelClient) -> None:
    first = await _answers(client)
    assert await _answers(client) == first

    async def work() -> None:
        asked = ChatRequest(
            messages=({"role": "user", "content": "Write."},), max_tokens=400, temperature=0.7, top_p=1
        )
        try:
            await client.chat(asked)
        except CutByLength:
            return

    beside = asyncio.gather(work(), work())
    crowded = await _answers(client)
    await beside
    assert judge(crowded, first)[0] is CanaryOutcome.WELL
