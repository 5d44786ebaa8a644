"""Entropy of answers from what servers tell: the arithmetic, hostile values, and the keys of the request."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from navigator.client.assemble import Assembly, EntropySum, entropy
from navigator.client.body import ChatRequest, Dialect, build_body


def told(*shares: float) -> list[dict[str, Any]]:
    return [{"token": "x", "logprob": math.log(share)} for share in shares]


def chunk(text: str, *tokens: list[dict[str, Any]], channel: str = "content") -> dict[str, Any]:
    logprobs = {"content": [{"token": "x", "logprob": -0.1, "top_logprobs": top} for top in tokens]}
    return {"choices": [{"delta": {channel: text}, "logprobs": logprobs}]}


def test_what_is_left_of_the_probability_counts_as_one_more_alternative() -> None:
    assert entropy(told(0.5, 0.25)) == pytest.approx(1.5)
    assert entropy(told(1.0)) == 0.0
    assert entropy(told(0.9, 0.9)) is None  # no probabilities


def test_the_mean_is_of_the_answer_and_not_of_what_was_thought_before() -> None:
    assembly = Assembly(1000)
    assembly.chunk(chunk("hm", told(0.25, 0.25, 0.25, 0.25), channel="reasoning_content"))
    assembly.chunk(chunk("ab", told(0.5, 0.5), told(1.0)))
    assembly.chunk({"choices": [{"delta": {"content": "c"}}]})
    assert assembly.entropy.mean() == 0.5
    assert EntropySum().mean() is None


@pytest.mark.parametrize(
    "value",
    [None, 3, "x", [], {}, [None], [{}], [{"logprob": None}], [{"logprob": True}], [{"logprob": math.nan}]],
)
def test_nothing_that_a_server_tells_fails_an_answer(value: Any) -> None:
    found = EntropySum()
    for logprobs in (value, {"content": value}, {"content": [value]}, {"content": [{"top_logprobs": value}]}):
        found.add(logprobs)
    assert found.mean() is None
    found.add({"content": [{"top_logprobs": [{"logprob": log} for log in (-math.inf, 1e308)]}]})
    assert found.mean() == pytest.approx(0)


def test_probabilities_are_asked_for_only_where_wanted_and_left_out_where_refused() -> None:
    plain = ChatRequest(messages=(), max_tokens=5, temperature=0, top_p=1)
    assert "logprobs" not in build_body(plain, model="m", extra_body={})
    wanted = ChatRequest(messages=(), max_tokens=5, temperature=0, top_p=1, top_logprobs=5)
    body = build_body(wanted, model="m", extra_body={})
    assert (body["logprobs"], body["top_logprobs"]) == (True, 5)
    dialect = Dialect()
    assert dialect.learn(400, json.dumps({"error": "Unsupported parameter: top_logprobs"}), body)
    assert dialect.learn(400, "logprobs is not supported", dialect.apply(body))
    assert not {"logprobs", "top_logprobs"} & set(dialect.apply(body))
