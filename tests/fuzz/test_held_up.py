"""Texts that once held the whole process up, since a pattern took quadratic time in them."""

from __future__ import annotations

import random
import string
from collections.abc import Callable

import pytest

from navigator.journey import agent_write
from navigator.journey.reviewing.test_answer import read_test_answer
from navigator.model.secrets import MOST_VALUES, Redactor, values_in
from navigator.tui.answers.markdown import drawn
from tests.fuzz.growth import MOST, growth


@pytest.mark.parametrize(
    ("read", "head", "piece", "tail"),
    [
        pytest.param(agent_write._NO_CHANGE.search, "", "!\n", "", id="what an agent says"),
        pytest.param(lambda text: read_test_answer(text, 7, ()), "", "\n", "", id="a reviewer's test"),
        pytest.param(lambda text: list(values_in(text.encode())), "", "-", "", id="an .env file"),
        pytest.param(lambda text: drawn(text, 80), "", "![a](", "", id="a report"),
        pytest.param(lambda text: drawn(text, 80), "", "[a](**b**", "", id="a report with words in bold"),
    ],
)
def test_twice_the_text_takes_twice_the_time(
    read: Callable[[str], object], head: str, piece: str, tail: str
) -> None:
    assert growth(read, head, piece, tail) <= MOST


def test_many_values_with_one_beginning_are_redacted_in_one_pass() -> None:
    chance = random.Random(0)
    values = ["PREFIX_" + "".join(chance.choices(string.ascii_letters, k=20)) for _ in range(5_000)]
    redact = Redactor(values)
    assert redact(f"x {values[7]}y {values[4_999]}") == "x [redacted]y [redacted]"
    assert growth(redact, "", "PREFIX_PREFIX_a ", values[3]) <= MOST
    assert growth(redact, "", values[3] + " ", "") <= MOST


def test_values_beyond_the_limit_are_counted() -> None:
    redact = Redactor(f"value-{number}" for number in range(MOST_VALUES))
    assert redact.left_out == 0
    redact.learn(["another-value", "value-1", "x"])
    assert redact.left_out == 1
    assert redact("value-1 another-value") == "[redacted] another-value"


def test_the_longest_value_wins_and_json_forms_are_known() -> None:
    redact = Redactor(["abcdef", "abcdefgh", 'say "hello"'])
    assert redact("abcdefgh-abcdef") == "[redacted]-[redacted]"
    assert redact('{"a": "say \\"hello\\""}') == '{"a": "[redacted]"}'
