"""The prefix cache counts what prompts have in common, and no more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from navigator.rehearsal.server.engine import CHARACTERS_PER_TOKEN, PAGE_TOKENS, PrefixCache, estimate_tokens

WIDTH = PAGE_TOKENS * CHARACTERS_PER_TOKEN


def admit(cache: PrefixCache, prompt: str) -> int:
    return cache.admit(prompt, estimate_tokens(prompt))


def test_the_first_prompt_finds_nothing_and_the_second_itself() -> None:
    cache = PrefixCache()
    prompt = "x" * (WIDTH * 3)

    assert admit(cache, prompt) == 0
    assert admit(cache, prompt) == PAGE_TOKENS * 3 - 1
    assert cache.hit_rate > 0.4


@given(st.integers(0, 4), st.integers(1, 4))
def test_whole_pages_of_a_common_beginning_count(common: int, rest: int) -> None:
    cache = PrefixCache()
    start = "".join(chr(97 + page) * WIDTH for page in range(common))
    admit(cache, start + "1" * WIDTH * rest)

    assert admit(cache, start + "2" * WIDTH * rest) == common * PAGE_TOKENS


def test_a_difference_at_the_start_ends_the_match() -> None:
    cache = PrefixCache()
    admit(cache, "a" + "x" * WIDTH * 2)

    assert admit(cache, "b" + "x" * WIDTH * 2) == 0


def test_the_least_recently_used_leaves_first() -> None:
    cache = PrefixCache(capacity_tokens=PAGE_TOKENS * 2)
    admit(cache, "a" * WIDTH)
    admit(cache, "b" * WIDTH)
    admit(cache, "a" * WIDTH)
    admit(cache, "c" * WIDTH)

    assert cache.usage == 1.0
    assert admit(cache, "a" * WIDTH) == PAGE_TOKENS - 1
    assert admit(cache, "b" * WIDTH) == 0
