"""A judge over HTTP, simulated."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.journey.scripted_models import Messages, Models, speaking


def _prefers_the_longer(messages: Messages) -> str:
    """The longer answer; nonsense where both are as long."""
    text = messages[-1]["content"]
    first, _, second = text.partition("===== Answer A =====\n")[2].partition("\n\n===== Answer B =====\n")
    one, other = len(first), len(second.partition("\n\n===== End")[0])
    return "no idea" if one == other else json.dumps({"better": "A" if one > other else "B"})


@pytest.fixture
def judge() -> Iterator[Models]:
    """Its name is "judge"; what it was asked is in `read_by`."""
    with speaking(Models(_prefers_the_longer, _prefers_the_longer, names=("nobody", "judge"))) as models:
        yield models
