"""Where a grammar does not follow a file. Runs in the worker's process, as `extract` does.

Grammars are imperfect: macros of C and newer syntax are faults to them. A list says something only beside the list of the
same file before a change.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from navigator.context.repomap.brackets import first_odd
from navigator.context.repomap.extract import PARSE_LIMIT, parser_of

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 200
"""Faults of one file that are told; a file with more is none that its grammar reads."""

_SHOWN = 40
_SECOND_READER = {"javascript": "tsx"}
"""Its grammar does not take `class` for an attribute in JSX, as Preact and Solid have it. TSX knows nearly all of JavaScript."""


def faults(language: str, data: bytes) -> dict[str, Any]:
    """The outermost places that do not parse.

    Returns:
        As JSON: `faults` [[line, column, what, text of the line]…] in the order of the file, both numbers from 1, the
        column in characters; `bracket` [line, column, what] or None: the first bracket without its other half;
        `judged`, False where the file is too large.
    """
    if len(data) > PARSE_LIMIT:
        return {"faults": [], "bracket": None, "judged": False}
    lines = data.split(b"\n")
    found = _found(language, data, lines)
    if found and language in _SECOND_READER:
        found = min(found, _found(_SECOND_READER[language], data, lines), key=len)
    return {"faults": found, "bracket": first_odd(language, data), "judged": True}


def _found(language: str, data: bytes, lines: list[bytes]) -> list[list[Any]]:
    root = parser_of(language).parse(data).root_node
    if not root.has_error:
        return []
    return [
        [*_place(node, lines), _said(node, data), _text(lines, node.start_point[0])]
        for node in islice(_broken(root), MOST)
    ]


def _broken(node: Node) -> Iterator[Node]:
    """ERROR and MISSING nodes, none inside another; a tree that is one ERROR gives those inside it, if any."""
    for child in node.children:
        if child.is_missing or child.is_error:
            yield child
        elif child.has_error:
            yield from _broken(child)
    if node.parent is None and node.is_error:
        yield node


def _said(node: Node, data: bytes) -> str:
    if node.is_missing:
        return f"{_named(node.type)} is missing"
    text = data[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()
    first = text.split("\n", 1)[0].rstrip()
    return f"no syntax at {first[:_SHOWN]!r}" if first else "no syntax"


def _named(kind: str) -> str:
    return kind.replace("_", " ") if kind[:1].isalpha() and len(kind) > 2 else repr(kind)


def _place(node: Node, lines: list[bytes]) -> tuple[int, int]:
    row, column = node.start_point
    before = lines[row][:column] if row < len(lines) else b""
    return row + 1, len(before.decode("utf-8", "replace")) + 1


def _text(lines: list[bytes], row: int) -> str:
    return lines[row].decode("utf-8", "replace").strip()[:200] if row < len(lines) else ""
