"""Where a grammar does not follow a file. Runs in the worker's process, as `extract` does.

Grammars are imperfect: macros of C and newer syntax are faults to them. A list says something only beside the list of the
same file before a change.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from navigator.context.tags import PARSE_LIMIT, parser_of
from navigator.model import patterns

if TYPE_CHECKING:
    from tree_sitter import Node


MOST = 200
"""Faults of one file that are told; a file with more is none that its grammar reads."""

_SHOWN = 40


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
    root = parser_of(language).parse(data).root_node
    found = [
        [*_position(node, lines), _fault_words(node, data), _line_text(lines, node.start_point[0])]
        for node in islice(_broken(root) if root.has_error else (), MOST)
    ]
    return {"faults": found, "bracket": first_odd(language, data), "judged": True}


def _broken(node: Node) -> Iterator[Node]:
    """ERROR and MISSING nodes, none inside another; a tree that is one ERROR gives those inside it, if any."""
    for child in node.children:
        if child.is_missing or child.is_error:
            yield child
        elif child.has_error:
            yield from _broken(child)
    if node.parent is None and node.is_error:
        yield node


def _fault_words(node: Node, data: bytes) -> str:
    if node.is_missing:
        return f"{_kind_words(node.type)} is missing"
    text = data[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()
    first = text.split("\n", 1)[0].rstrip()
    return f"no syntax at {first[:_SHOWN]!r}" if first else "no syntax"


def _kind_words(kind: str) -> str:
    return kind.replace("_", " ") if kind[:1].isalpha() and len(kind) > 2 else repr(kind)


def _position(node: Node, lines: list[bytes]) -> tuple[int, int]:
    row, column = node.start_point
    before = lines[row][:column] if row < len(lines) else b""
    return row + 1, len(before.decode("utf-8", "replace")) + 1


def _line_text(lines: list[bytes], row: int) -> str:
    return lines[row].decode("utf-8", "replace").strip()[:200] if row < len(lines) else ""


# Brackets without their other half: a second witness beside a grammar's word. A grammar that lost its way says so at some
# place; whether a bracket is missing is known better by counting. A count says something only where it came out even before.

_CLOSES = {")": "(", "]": "[", "}": "{"}
_BRANCHING = frozenset({"c", "cpp", "c_sharp"})
_BRANCH = patterns.compile(rb"[ \t]*#[ \t]*(if|elif|else|endif)")
_LONGEST_TOKEN = 2
"""Bytes of a token that opens or closes: `${` and `#{` open what `}` closes."""


def first_odd(language: str, data: bytes) -> list[Any] | None:
    """The first bracket that closes nothing, or the innermost that is never closed.

    Of the branches of `#if` only the first is read: they often open the same bracket twice.

    Returns:
        [line, column, what], both numbers from 1, or None: all have their other half.
    """
    data = _first_branches(data) if language in _BRANCHING else data
    lines = data.split(b"\n")
    opened: list[tuple[str, tuple[int, int]]] = []
    for node in _tokens(parser_of(language).parse(data).root_node):
        sign = node.type[-1:] if not node.is_missing and len(node.type) <= _LONGEST_TOKEN else ""
        if sign in _CLOSES.values():
            opened.append((sign, _position(node, lines)))
        elif sign in _CLOSES and not opened:
            return [*_position(node, lines), f"'{sign}' closes nothing"]
        elif sign in _CLOSES:
            other, place = opened.pop()
            if other != _CLOSES[sign]:
                said = f"'{sign}' is where '{other}' of line {place[0]} is still open"
                return [*_position(node, lines), said]
    return [*opened[-1][1], f"'{opened[-1][0]}' is never closed"] if opened else None


def _tokens(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.children)
        if not node.children:
            yield node


def _first_branches(data: bytes) -> bytes:
    """A file with only the first branch of each `#if`; the others, and the directives, are blank lines."""
    left_out: list[bool] = []
    kept = []
    for line in data.split(b"\n"):
        directive = _BRANCH.match(line)
        word = directive[1] if directive else b""
        if word == b"if":
            left_out.append(False)
        elif left_out and word == b"endif":
            left_out.pop()
        elif left_out and word:
            left_out[-1] = True
        kept.append(b"" if word or any(left_out) else line)
    return b"\n".join(kept)
