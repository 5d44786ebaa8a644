"""The marker lines of edit blocks: which lines are markers, and which only look like them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from navigator.model import patterns

MarkerLength = Literal[7, 9]


class BlockKind(StrEnum):
    """The word after a block's opener."""

    SEARCH = "SEARCH"
    WHOLE = "WHOLE"
    DELETE = "DELETE"
    RENAME = "RENAME"


CLOSING_WORD = {
    BlockKind.SEARCH: "REPLACE",
    BlockKind.WHOLE: "WHOLE",
    BlockKind.DELETE: "DELETE",
    BlockKind.RENAME: "RENAME",
}

_OPENER = patterns.compile(r"(<{7}|<{9}) (SEARCH|WHOLE|DELETE|RENAME)")
_CLOSER = patterns.compile(r"(>{7}|>{9}) (SEARCH|REPLACE|WHOLE|DELETE|RENAME)")
_NEAR_OPENER = patterns.compile(
    r"[ \t>*+-]{0,40}<{5,40}[ \t]{0,8}(?:SEARCH|WHOLE|DELETE|RENAME)\b", patterns.IGNORECASE
)
_NEAR_CLOSER = patterns.compile(
    r"[ \t>*+-]{0,40}>{5,40}[ \t]{0,8}(?:SEARCH|REPLACE|WHOLE|DELETE|RENAME)\b", patterns.IGNORECASE
)
_LOOK = patterns.compile(r"(<|>){5,9}[ \t]*LOOK", patterns.IGNORECASE)
_FENCE = patterns.compile(r"[ \t]*(?:`{3,}[^`]*|~{3,}.*)")
_MARKER_IN_TEXT = patterns.compile(r"^(?:<{7}|={7}|>{7}|\|{7})(?:[ \t].*)?\r?$", patterns.MULTILINE)
_CONFLICT = patterns.compile(r"(?:<{7}|>{7}|\|{7})(?:[ \t].*)?")


def opener(line: str) -> tuple[BlockKind, int] | None:
    """The kind and the marker length of an opener; None for every other line."""
    match = _OPENER.fullmatch(line.rstrip(" \t"))
    return (BlockKind(match[2]), len(match[1])) if match else None


def closer(line: str) -> tuple[str, int] | None:
    """The word and the marker length of a closer; None for every other line."""
    match = _CLOSER.fullmatch(line.rstrip(" \t"))
    return (match[2], len(match[1])) if match else None


def is_divider(line: str, length: int) -> bool:
    """Whether the line is a divider of that marker length."""
    return line.rstrip(" \t") == "=" * length


def near_opener(line: str) -> bool:
    """Whether the line means to open a block: indented, of another length, in another case, or with more words."""
    return _NEAR_OPENER.match(line) is not None


def near_closer(line: str) -> bool:
    """Whether the line means to close a block, well-formed or not."""
    return _NEAR_CLOSER.match(line) is not None


def look_marker(line: str) -> str:
    """`<` for a line that opens a LOOK block, `>` for one that closes it, "" for every other line.

    Read leniently: nothing is written because of it.
    """
    match = _LOOK.fullmatch(line.strip())
    return match[1] if match else ""


def is_fence(line: str) -> bool:
    """Whether the line opens or closes a Markdown code fence."""
    return _FENCE.fullmatch(line) is not None


def is_conflict(line: str) -> bool:
    """Whether the line is one that a merge leaves in a file (the divider aside, which is a heading's underline too)."""
    return _CONFLICT.fullmatch(line) is not None


def marker_length(texts: Iterable[str]) -> MarkerLength:
    """How long markers must be so that nothing shown is taken for one.

    Args:
        texts: everything of the repository that the prompt shows.

    Returns:
        9 where a text holds a seven-character marker line itself, else 7.
    """
    return 9 if any(_MARKER_IN_TEXT.search(text) for text in texts) else 7
