"""The client against a server that knows nothing of Navigator: llama.cpp's, with a model that answers nonsense."""

from __future__ import annotations

import asyncio
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from navigator.client.body import ChatRequest
from navigator.client.client import ModelClient
from navigator.client.errors import CutByLength, Refused
from navigator.context.tokens import load_counter
from navigator.engine.swapping import _answers
from navigator.figures.canary import judge
from navigator.journey.reviewing.answer import read_review, review_schema, said_by
from navigator.model.states import CanaryOutcome
from tests.engines.conftest import healthy, settings_for
from tests.engines.llama import ALIAS, CONTEXT, SLOTS, TOKENIZER, Server, llama_server, missing

pytestmark = [pytest.mark.engines, pytest.mark.xdist_group("engines")]

# Token 2 ends an answer, as does token 0; a special token cannot be named here by its text.
ENDS_SOON = {"logit_bias": [[2, 4.0]]}
CLOSES_STRINGS = {"logit_bias": [['"', 5.0]]}


def question(text: str = "Say something.", **fields: Any) -> ChatRequest:
    """A small request: any token may come, and the same ones each time."""
    defaults: dict[str, Any] = {"max_tokens": 400, "temperature": 1.0, "top_p": 1.0}
    extra = {"seed": 7, "top_k": 0, "min_p": 0.0} | fields.pop("extra", ENDS_SOON)
    return ChatRequest(messages=[{"role": "user", "content": text}], extra=extra, **(defaults | fields))


async def test_it_is_recognised_and_says_what_it_serves(client: ModelClient) -> None:
    info = await client.require_model()
    assert info.kind == "llamacpp"
    assert info.names[0] == ALIAS
    load = await client.load()
    assert load is not None
    assert load.idle


async def test_a_stream_arrives_in_pieces_with_its_tokens_counted(client: ModelClient) -> None:
    seen: list[int] = []
    answer = await client.chat(question(), seen.append)
    assert answer.model == ALIAS
    assert answer.retries == 0
    assert seen == sorted(seen)
    assert seen[-1] == len(answer.text + answer.reasoning)
    counter = load_counter(str(TOKENIZER))
    prompt = counter.count("user\nSay something.") + counter.count("\n") + counter.count("assistant\n")
    assert answer.usage.prompt_tokens == prompt + 3  # the template's three markers are one token each
    assert 1 <= answer.usage.completion_tokens <= 400
    assert answer.usage.seconds > 0


async def test_a_prompt_beyond_the_context_is_refused_once_and_the_hint_says_what_to_lower(
    client: ModelClient,
) -> None:
    with pytest.raises(Refused) as caught:
        await client.chat(question("word " * (CONTEXT + 100)))
    assert caught.value.status == 400
    assert caught.value.retries == 0
    assert "context_tokens" in caught.value.hint


async def test_many_at_once_are_all_answered(engine: Server) -> None:
    async with ModelClient(settings_for(engine, max_inflight=2 * SLOTS)) as client:
        answers = await asyncio.gather(*(client.chat(question(f"Number {n}.")) for n in range(3 * SLOTS)))
    assert len(answers) == 3 * SLOTS
    assert all(answer.text for answer in answers)


async def test_patterned_strings_come_back_as_asked(client: ModelClient) -> None:
    pattern = "^[A-Za-z0-9 .,_-]{1,30}$"
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "pattern": pattern},
            "verdict": {"type": "string", "enum": ["APPROVE", "REVISE"]},
            "lines": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 3},
        },
        "required": ["title", "verdict", "lines"],
        "additionalProperties": False,
    }
    answer = await client.chat(question(schema=schema, max_tokens=2000, extra={}))
    document = json.loads(answer.text)
    assert re.fullmatch(pattern, document["title"])
    assert document["verdict"] in ("APPROVE", "REVISE")
    assert len(document["lines"]) <= 3


@pytest.mark.parametrize("again", [0, 3])
async def test_the_schema_of_a_review_is_understood(client: ModelClient, again: int) -> None:
    schema = review_schema(["H1", "H2", "H3"], again=again)
    # Of the seeds 1 to 24 only 7 makes the server refuse what its own grammar let it say (HTTP 500, "peg-native").
    answer = await client.chat(question(schema=schema, max_tokens=8000, extra=CLOSES_STRINGS | {"seed": 1}))
    review = read_review(said_by(answer.text, answer.reasoning))
    assert {finding.hunk for finding in review.findings} <= {"H1", "H2", "H3"}
    assert all(1 <= entry.finding <= again for entry in review.addressed)


async def test_a_key_opens_and_its_absence_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := missing():
        pytest.skip(reason)
    key = "a-key-of-this-test"
    with llama_server(tmp_path, "--api-key", key) as server:
        await healthy(server)
        for given in ("", "another-key"):
            monkeypatch.setenv("ENGINE_KEY", given)
            async with ModelClient(settings_for(server, api_key_env="ENGINE_KEY" if given else "")) as client:
                with pytest.raises(Refused) as caught:
                    await client.chat(question())
            assert caught.value.status == 401
            assert "api_key_env" in caught.value.hint
        monkeypatch.setenv("ENGINE_KEY", key)
        async with ModelClient(settings_for(server, api_key_env="ENGINE_KEY")) as client:
            assert (await client.chat(question())).text


async def test_a_real_server_tells_the_probabilities_of_its_tokens(client: ModelClient) -> None:
    """Entropies lie between 0 and that of six equal alternatives: the five that are told, and what is left."""
    found = (await client.chat(question(top_logprobs=5))).entropy
    assert found is not None and 0 < found <= math.log2(6)
    assert (await client.chat(question())).entropy is None


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
