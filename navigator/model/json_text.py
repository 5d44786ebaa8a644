"""JSON and TOML that others wrote, read with limits on their size and depth."""

from __future__ import annotations

import json
import tomllib
from typing import Any

DEEPEST = 100
"""Lists and objects inside of one another, where the caller names no other limit."""

LARGEST = 64 * 1024 * 1024
"""Characters or bytes of a text."""


class TooDeep(json.JSONDecodeError):
    """A text that is nested beyond the limit."""


def read_json(text: str | bytes, *, deepest: int = DEEPEST, strict: bool = True) -> Any:
    """The value that a text holds.

    Args:
        deepest: lists and objects inside of one another.
        strict: refuse control characters inside of strings.

    Raises:
        ValueError: no JSON, or too large, or nested too deeply, or with a number of too many digits.
    """
    if len(text) > LARGEST:
        raise json.JSONDecodeError(f"longer than {LARGEST:,} characters", "", 0)
    try:
        # Every option given makes a new decoder; what the store holds is read ten thousand times.
        value = json.loads(text) if strict else json.loads(text, strict=False)
    except RecursionError:
        raise TooDeep("nested too deeply", "", 0) from None
    many = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if many > deepest:
        _check_depth(value, deepest)
    return value


def read_toml(text: str) -> dict[str, Any]:
    """The table that a text holds.

    Raises:
        ValueError: no TOML, or too large, or nested too deeply.
    """
    if len(text) > LARGEST:
        raise tomllib.TOMLDecodeError(f"longer than {LARGEST:,} characters")
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise TooDeep("nested too deeply", "", 0) from None
    _check_depth(table, DEEPEST)
    return table


def _check_depth(value: Any, deepest: int) -> None:
    level = [value] if isinstance(value, list | dict) else []
    for _ in range(deepest):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, list | dict)
        ]
        if not level:
            return
    raise TooDeep(f"nested more than {deepest} deep", "", 0)
