"""Reads the data blocks of a prompt as its addressee would.

A block is `[[begin KIND KEY {attributes}]]`, its content, `[[end KIND KEY]]`. The key is in the system text; a block
under another key is part of some file's content and is not read as a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from navigator.model import patterns
from navigator.model.json_text import read_json

_BEGIN = patterns.compile(r"\[\[begin ([a-z_-]+) ([0-9a-f]{12})(?: (\{.*\}))?\]\]\r?")
_KEY = patterns.compile(r"\bkey ([0-9a-f]{12})\b")


@dataclass(frozen=True, slots=True)
class DataBlock:
    """One data block: its kind, its attributes, its content without the newline that only separates the end marker."""

    kind: str
    attributes: Mapping[str, Any]
    text: str


def blocks_of(text: str, key: str | None) -> list[DataBlock]:
    """Every block of `text` under `key` (under any key when None), in order. Unfinished blocks are ignored."""
    return list(_blocks(text.split("\n"), key))


def _blocks(lines: list[str], key: str | None) -> Iterator[DataBlock]:
    at = 0
    while at < len(lines):
        match = _BEGIN.fullmatch(lines[at])
        at += 1
        if match is None or (key is not None and match[2] != key):
            continue
        end = f"[[end {match[1]} {match[2]}]]"
        close = next((i for i in range(at, len(lines)) if lines[i].rstrip("\r") == end), None)
        if close is None:
            continue
        attributes = _attributes(match[3])
        content = "\n".join(lines[at:close])
        if close > at and not attributes.get("no_final_newline"):
            content += "\n"
        yield DataBlock(match[1], attributes, content)
        at = close + 1


def _attributes(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = read_json(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def key_of(system: str) -> str | None:
    """The delimiter key the system text names."""
    match = _KEY.search(system)
    return match[1] if match else None
