"""The pure parts: names, retries, the assembly of an answer, the body's dialect."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.client.assemble import Assembly, RetryPolicy, mended, parse_retry_after, server_words
from navigator.client.body import Dialect, same_base, same_model
from navigator.client.errors import ServingError
from navigator.client.transport import endpoints

WANTED = "Qwen/Qwen3.5-35B-A3B-GPTQ-Int4"


@pytest.mark.parametrize(
    "answered",
    [
        WANTED,
        "",
        "/models/Qwen/Qwen3.5-35B-A3B-GPTQ-Int4/",
        "C:\\models\\qwen\\qwen3.5-35b-a3b-gptq-int4.gguf",
        "Qwen/qwen3.5-35b-a3b-gptq-int4:latest",
        "/home/you/.cache/huggingface/hub/models--Qwen--Qwen3.5-35B-A3B-GPTQ-Int4/snapshots/0a1b2c",
        "Qwen/Qwen3.5-35B-A3B-GPTQ-Int4-2026-02-01",
        "Qwen/Qwen3.5-35B-A3B-GPTQ-Int4@main",
    ],
)
def test_names_of_the_same_model(answered: str) -> None:
    assert same_model(WANTED, answered)


@pytest.mark.parametrize(
    "answered",
    [
        "Qwen/Qwen3.5-122B-A10B-GPTQ-Int4",
        "Qwen/Qwen3.5-35B-A3B",
        "Qwen3.5-35B-A3B-GPTQ-Int4",
        "Other/Qwen3.5-35B-A3B-GPTQ-Int4",
        "/models/Qwen3.5-35B-A3B-GPTQ-Int4",
        "/models/Other/Qwen3.5-35B-A3B-GPTQ-Int4",
        "/models/NotQwen/Qwen3.5-35B-A3B-GPTQ-Int4",
        "models--Other--Qwen3.5-35B-A3B-GPTQ-Int4/snapshots/0a1b2c",
        "rehearsal/Qwen3.5-35B-A3B-GPTQ-Int4",
        "Qwen/Qwen3.5-122B-A10B-GPTQ-Int4@main",
        "@Qwen3.5-35B-A3B-GPTQ-Int4@main",
        "x",
    ],
)
def test_names_of_another_model(answered: str) -> None:
    assert not same_model(WANTED, answered)
    assert not same_model(answered, WANTED)


def test_a_name_without_an_owner_is_only_itself() -> None:
    assert same_model("gen-model", "gen-model:latest")
    for answered in ("X/gen-model", "models/X/gen-model", "gen-model-2", "rehearsal/gen-model"):
        assert not same_model("gen-model", answered)
        assert not same_model(answered, "gen-model")


def test_a_copy_under_another_owner_may_be_the_same_weights() -> None:
    assert same_base("Qwen/Qwen3-8B", "mirror/qwen3-8b")
    assert same_base("/models/Qwen3-8B.gguf", "Qwen/Qwen3-8B")
    assert not same_base("Qwen/Qwen3-8B", "Qwen/Qwen3-32B")


def test_addresses() -> None:
    for base in ("http://h:1", "http://h:1/", "http://h:1/v1"):
        assert endpoints(base) == ("http://h:1", "http://h:1/v1")
    assert endpoints("https://h/api/v1/") == ("https://h/api", "https://h/api/v1")
    assert endpoints("https://h/v1beta/openai") == ("https://h/v1beta/openai",) * 2
    assert endpoints("https://h/llm") == ("https://h/llm", "https://h/llm/v1")


def test_retry_after() -> None:
    assert [parse_retry_after(value) for value in ("3", "1.5", "-4")] == [3.0, 1.5, 0.0]
    for value in (None, "", "inf", "nan", "soon", "Fri, 20 Nov 2026 12:00:10 GMT"):
        assert parse_retry_after(value) is None, value


@given(st.integers(0, 30), st.none() | st.floats(0, 1000), st.integers())
def test_waits_stay_in_their_bounds(attempt: int, retry_after: float | None, seed: int) -> None:
    policy = RetryPolicy(retries=20, base=0.5, cap=15, longest=60, rng=random.Random(seed))
    delay = policy.delay(attempt, retry_after)
    if attempt >= 20 or (retry_after is not None and retry_after > 60):
        assert delay is None
        return
    backoff = min(15.0, 0.5 * 2.0**attempt)
    assert delay is not None
    assert delay >= backoff / 2
    assert delay >= (retry_after or 0)
    assert delay <= max(backoff, (retry_after or 0) + backoff / 4)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["choices", "delta", "message", "content", "reasoning_content", "usage", "model", "error", "code",
             "finish_reason", "prompt_tokens", "prompt_tokens_details", "cached_tokens", "loc", "msg", "detail"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@given(st.lists(json_values, max_size=5))
def test_no_chunk_breaks_the_assembly(chunks: list[Any]) -> None:
    assembly = Assembly(1000)
    try:
        for chunk in chunks:
            assembly.event(json.dumps(chunk))
    except ServingError as error:
        assert error.code
        assert error.hint
    assembly.content.encode()
    assert assembly.usage(1.0).prompt_tokens >= 0


@given(json_values)
def test_a_servers_words_are_one_safe_line(payload: Any) -> None:
    words = server_words(payload)
    assert len(words) <= 400
    assert "\n" not in words
    assert "\x1b" not in words


@given(st.text(st.characters()))
def test_mended_text_can_be_stored(text: str) -> None:
    mended(text).encode("utf-8")
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        assert mended(text) == text


@pytest.mark.parametrize(
    ("content", "thinking", "text", "reasoning"),
    [
        ("<think>\nhm\n</think>\n\nyes", False, "yes", "hm"),
        ("<think>\n\n</think>\n\nyes", False, "yes", ""),
        ("hm</think>yes", True, "yes", "hm"),
        ("say </think> here", False, "say </think> here", ""),
        ("<think>never closed", False, "<think>never closed", ""),
        ("a\n<think>b</think>", False, "a\n<think>b</think>", ""),
    ],
)
def test_thoughts_left_in_the_text_by_a_server_without_a_parser(
    content: str, thinking: bool, text: str, reasoning: str
) -> None:
    assembly = Assembly(1000, thinking=thinking)
    assembly.chunk({"choices": [{"delta": {"content": content}, "finish_reason": "stop"}]})
    assembly.event("[DONE]")
    assert assembly.result() == (text, reasoning)


def test_a_length_complaint_teaches_nothing() -> None:
    dialect = Dialect()
    words = "'max_tokens' or 'max_completion_tokens' is too large: 9000. The maximum context length is 4096 tokens."
    body = {"max_tokens": 9000, "temperature": 0.2}
    assert not dialect.learn(400, words, body)
    assert not dialect.learn(500, "unsupported: temperature", body)
    assert dialect.apply(body) == body
