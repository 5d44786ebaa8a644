"""Operators for Python, and the names that can be misspelt."""

from __future__ import annotations

import ast
import io
import keyword
import tokenize
from collections.abc import Iterator
from functools import lru_cache

from navigator.exam.faults.lines import Operator, off_by_one, with_line, without
from navigator.model import patterns


def parses(text: str) -> bool:
    """Whether Python can read the text."""
    try:
        ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def names_on(text: str, line: int) -> list[tokenize.TokenInfo]:
    """The names on a 1-based line, without keywords and without those that `def` or `class` define there."""
    found = []
    before = ""
    for token in _tokens(text):
        named = token.type == tokenize.NAME and token.start[0] == line
        if named and not keyword.iskeyword(token.string) and before not in {"def", "class"}:
            found.append(token)
        before = token.string
    return found


@lru_cache(maxsize=8)
def _tokens(text: str) -> tuple[tokenize.TokenInfo, ...]:
    try:
        return tuple(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return ()


def _swap(*pairs: tuple[str, str]) -> Operator:
    """Replace the first of the patterns that is found in the line."""

    def operator(lines: list[str], at: int) -> list[str] | None:
        if lines[at].lstrip().startswith(("#", '"""', "'''", "import ", "from ")):
            return None
        for pattern, put in pairs:
            changed = patterns.sub(pattern, put, lines[at], most=1)
            if changed != lines[at]:
                return with_line(lines, at, changed)
        return None

    return operator


def _lost_guard(lines: list[str], at: int) -> list[str] | None:
    if at + 1 >= len(lines) or not patterns.match(r"\s*if \w+ is None:$", lines[at]):
        return None
    if not patterns.match(r"\s*\w+ = (\[\]|\{\}|list\(\)|dict\(\)|set\(\))$", lines[at + 1]):
        return None
    return without(lines, at, 2)


def _lost_statement(lines: list[str], at: int) -> list[str] | None:
    """Drop a line that is one whole simple statement and not the only one of its block."""
    return without(lines, at) if at + 1 in _droppable("\n".join(lines) + "\n") else None


@lru_cache(maxsize=8)
def _droppable(text: str) -> frozenset[int]:
    """The 1-based lines that hold one whole simple statement which is not the only one of its block."""
    return frozenset(node.lineno for node in _simple_statements(text) if node.lineno == node.end_lineno)


def _simple_statements(text: str) -> Iterator[ast.stmt]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module):
            continue
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not isinstance(block, list) or len(block) < 2:
                continue
            for statement in block:
                if isinstance(statement, ast.Assign | ast.AugAssign | ast.Raise) or (
                    isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call | ast.Await)
                ):
                    yield statement


_WORD = r"[A-Za-z_][\w.]*"

PYTHON: tuple[tuple[str, Operator], ...] = (
    (
        "inverted",
        _swap(
            (r" is not None\b", " is None"),
            (r" is None\b", " is not None"),
            (r"\bnot isinstance\(", "isinstance("),
            (r"\b(if|elif|while) isinstance\(", r"\1 not isinstance("),
            (r"\b(if|elif|while) not ", r"\1 "),
            (r" == ", " != "),
        ),
    ),
    ("guard-lost", _lost_guard),
    (
        "wrong-value",
        _swap((r"( = )\[\]$", r"\1{}"), (r"( = )\{\}$", r"\1[]"), (r"timeout=10\b", "timeout=0")),
    ),
    ("wrong-encoding", _swap((r'encoding="utf-8"', 'encoding="ascii"'))),
    (
        "swapped",
        _swap(
            (rf"\bisinstance\(({_WORD}), ({_WORD})\)", r"isinstance(\2, \1)"),
            (rf"\b(\w+)\(({_WORD}), ({_WORD})\)", r"\1(\3, \2)"),
        ),
    ),
    ("narrowed", _swap((r"except Exception:", "except ImportError:"))),
    ("boundary", _swap((r" < ", " <= "), (r" > ", " >= "), (r" <= ", " < "), (r" >= ", " > "))),
    ("off-by-one", off_by_one),
    (
        "wrong-default",
        _swap((r"=True\b", "=False"), (r"=False\b", "=True"), (r"\breturn True\b", "return False")),
    ),
    ("statement-lost", _lost_statement),
)
