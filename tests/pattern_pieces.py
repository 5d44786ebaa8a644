"""Texts for a regular expression, made from its own pieces: what its literals, sets and repeats can be."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

import navigator
from navigator.checks import policy, removed_tests, syntax
from navigator.model import patterns, secrets

ROOT = Path(navigator.__file__).parent
_LITERALS_IN = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub")
_CATEGORY = {
    op.CATEGORY_DIGIT: "0",
    op.CATEGORY_NOT_DIGIT: "a",
    op.CATEGORY_SPACE: " ",
    op.CATEGORY_NOT_SPACE: "a",
    op.CATEGORY_WORD: "a",
    op.CATEGORY_NOT_WORD: "-",
}


@cache
def every_pattern() -> list[patterns.Pattern[Any]]:
    """Those at the top of a module, in tables, and in a call of `patterns`; in the order of their texts.

    Found by another process, where no test has made one of its own. Call it in a test, not where tests are collected: that
    process reads every module.
    """
    words = [sys.executable, "-m", __name__]
    found = subprocess.run(words, cwd=ROOT.parent, check=True, capture_output=True, text=True).stdout
    return [patterns.Pattern(*key) for key in ast.literal_eval(found)]


def _every() -> list[tuple[str | bytes, int]]:
    for module in pkgutil.walk_packages(navigator.__path__, "navigator."):
        if not module.name.endswith(("__main__", "bounded.process")):
            importlib.import_module(module.name)
    for read in (removed_tests._rules, syntax._omissions, policy._special_files, secrets._tokens):
        read()
    found = {(pattern.pattern, pattern.flags): pattern for pattern in patterns.EVERY}
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="patterns"), attr=name),
                    args=[ast.Constant(value=str() as text), *_],
                ) if name in _LITERALS_IN:
                    found.setdefault((text, 0), patterns.Pattern(text))
    return [(text, int(flags)) for text, flags in sorted(found, key=repr)]


def _one(items: Sequence[tuple[Any, Any]]) -> str:
    """A character of a set."""
    kind, value = items[0]
    if kind is op.NEGATE:
        inside = [value for kind, value in items[1:] if kind is op.LITERAL]
        return next(char for char in "a 0-\n!é" if ord(char) not in inside)
    if kind is op.CATEGORY:
        return _CATEGORY[value]
    return chr(value[0] if kind is op.RANGE else value)


def sample(items: Sequence[tuple[Any, Any]]) -> str:
    """A text that a part of a pattern matches, repeats taken once."""
    out = ""
    for kind, arg in items:
        if kind is op.LITERAL:
            out += chr(arg)
        elif kind is op.NOT_LITERAL:
            out += "a" if arg != ord("a") else "b"
        elif kind is op.ANY:
            out += "a"
        elif kind is op.IN:
            out += _one(arg)
        elif kind is op.BRANCH:
            out += sample(arg[1][0])
        elif kind is op.SUBPATTERN:
            out += sample(arg[3])
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            out += sample(arg[2]) * min(max(1, arg[0]), 70)
    return out


def _branches(items: Sequence[tuple[Any, Any]]) -> Iterator[tuple[str, Sequence[tuple[Any, Any]]]]:
    """What stands before each repeat and each branch of a pattern, and that part; also inside of these."""
    before = ""
    for kind, arg in items:
        if kind is op.BRANCH:
            inner = arg[1]
        elif kind is op.SUBPATTERN:
            inner = [arg[3]]
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            yield before, arg[2]
            inner = [arg[2]]
        else:
            inner = []
        for part in inner:
            if kind is op.BRANCH:
                yield before, part
            for head, deeper in _branches(part):
                yield before + head, deeper
        before += sample([(kind, arg)])


def pieces(pattern: patterns.Pattern[Any]) -> list[tuple[str, str]]:
    """A beginning, and what may follow it many times: of each repeat and each branch, and of the whole and its halves."""
    tree = list(patterns.parsed(pattern).data)
    whole = sample(tree)
    out = [
        ("", whole),
        ("", whole[: len(whole) // 2 or 1]),
        (whole[:-1], whole[-1:] or "a"),
        ("", whole + "\n"),
    ]
    # A repeat behind its beginning; and the beginning with it, over and over, each of which could be the start of a match.
    for before, part in _branches(tree):
        once = sample(part)
        out += [(before, once), ("", before + once), ("", before + once + "\n"), ("", once + whole)]
    return [(head, piece) for head, piece in dict.fromkeys(out) if piece]


def own_pieces(*modules: ModuleType) -> list[str]:
    """What a parser looks for: the short strings in the code of its modules, their characters that are no letters, and what
    their patterns match."""
    found: dict[str, None] = dict.fromkeys(("a", " ", "\n"))
    for module in modules:
        tree = ast.parse(inspect.getsource(module))
        said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str | bytes)
                and id(node) not in said
            ):
                text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
                found |= dict.fromkeys([text] if 0 < len(text) <= 40 else [])
                found |= dict.fromkeys(char for char in text[:200] if not char.isalnum())
        for pattern in vars(module).values():
            if isinstance(pattern, patterns.Pattern):
                found |= dict.fromkeys(piece for _, piece in pieces(pattern) if len(piece) <= 200)
    return list(found)


if __name__ == "__main__":
    print(_every())
