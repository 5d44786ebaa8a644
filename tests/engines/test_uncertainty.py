"""Probabilities from a real llama-server, in the form that the client reads."""

from __future__ import annotations

import math

import pytest

from navigator.client.client import ModelClient
from tests.engines.test_llama_server import question

pytestmark = pytest.mark.engines


async def test_a_real_server_tells_the_probabilities_of_its_tokens(client: ModelClient) -> None:
    """Entropies lie between 0 and that of six equal alternatives: the five that are told, and what is left."""
    found = (await client.chat(question(top_logprobs=5))).uncertainty
    assert found.entropy_mean is not None and found.entropy_peak is not None
    assert 0 < found.entropy_mean <= found.entropy_peak <= math.log2(6)
    assert (await client.chat(question())).uncertainty.entropy_mean is None
