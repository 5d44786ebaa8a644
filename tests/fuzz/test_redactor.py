"""Redaction of many values in one pass."""

from __future__ import annotations

import random
import string

from navigator.model.secrets import MOST_VALUES, Redactor
from tests.fuzz.growth import MOST, growth


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
