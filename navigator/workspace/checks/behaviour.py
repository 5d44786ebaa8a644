"""Whether a change of code changes what the code does: Python's syntax, without comments, docstrings and layout."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import PurePosixPath

from navigator.workspace.checks.removed_tests import FileText
from navigator.workspace.checks.syntax import parse_python

_MOST_BYTES = 1_000_000
_PROSE = frozenset({".md", ".rst", ".txt", ".adoc", ".markdown"})


def changes_nothing(files: Sequence[FileText]) -> bool:
    """Whether every changed file is Python that means the same as before, or prose beside such.

    False wherever that is unknown: another language, a file that came or went, one that does not parse.
    """
    code = [file for file in files if PurePosixPath(file.path).suffix.lower() not in _PROSE]
    return bool(code) and all(_same(file) for file in code)


def _same(file: FileText) -> bool:
    if file.old is None or file.new is None or PurePosixPath(file.path).suffix.lower() not in {".py", ".pyi"}:
        return False
    before, after = _meaning(file.old), _meaning(file.new)
    return before is not None and before == after


def _meaning(text: str) -> str | None:
    if len(text) > _MOST_BYTES:
        return None
    try:
        tree = parse_python(text)
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if (
                isinstance(body, list)
                and not isinstance(node, ast.Expression)
                and body
                and _is_docstring(body[0])
            ):
                node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
        return ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_docstring(statement: object) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
