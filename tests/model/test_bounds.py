"""What crosses a border is bounded, and the refusal names the place."""

from __future__ import annotations

from typing import Any

import pytest

from navigator.actions.registry import known, verb
from navigator.model.errors import UsageError
from navigator.model.json_text import LONGEST, MOST_ENTRIES, require_bounded


def nested(levels: int) -> Any:
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"tasks": [{"text": "a\0b"}]}, "tasks.0.text: a NUL character."),
        ({"ids": ["P1", "\ud800"]}, "ids.1: not valid Unicode."),
        ({"ids": ["P1"] * (MOST_ENTRIES + 1)}, "ids: more than 10,000 entries."),
        ({"note": "x" * (LONGEST + 1)}, "note: more than 100,000 characters."),
        ({"a": nested(10_000)}, "more than 10 levels deep."),
        ({"a\0": 1}, "a key: a NUL character."),
    ],
)
def test_the_place_is_named(document: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        require_bounded(document)


def test_what_is_usual_passes() -> None:
    require_bounded({"text": "é" * LONGEST, "files": ["a"] * MOST_ENTRIES, "n": [None, True, 1.5], "d": {}})


@pytest.mark.parametrize("name", sorted(known()))
def test_every_verb_on_the_socket_refuses_it(name: str) -> None:
    with pytest.raises(UsageError, match="NUL"):
        verb(name).read({"text": "\0"})
