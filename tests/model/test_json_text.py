"""JSON and TOML of others: read within limits."""

from __future__ import annotations

import pytest

from navigator.model import json_text
from navigator.model.json_text import DEEPEST, TooDeep, read_json, read_toml


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, "[" * 500 + "]" * 500])
@pytest.mark.parametrize("kind", [str, str.encode])
def test_deep_nesting_is_no_json(text: str, kind: type) -> None:
    with pytest.raises(ValueError):
        read_json(kind(text))


def test_the_limit_is_exact() -> None:
    fits = "[" * DEEPEST + "1" + "]" * DEEPEST
    assert read_json(fits) and read_json(f'{{"a": "{"[" * 500}"}}')
    with pytest.raises(TooDeep, match="nested more than 100 deep"):
        read_json(f"[{fits}]")
    assert read_json(f"[{fits}]", deepest=DEEPEST + 1)


def test_what_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "LARGEST", 10)
    assert read_json("[1, 2, 3]") == [1, 2, 3]
    with pytest.raises(ValueError, match="longer than 10 characters"):
        read_json("[1, 2, 3, 4]")


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "a = " + "[" * 500 + "]" * 500, "a" + ".a" * 500 + " = 1"]
)
def test_deep_nesting_is_no_toml(text: str) -> None:
    with pytest.raises(TooDeep):
        read_toml(text)
    assert read_toml("a.b = [[1]]") == {"a": {"b": [[1]]}}
