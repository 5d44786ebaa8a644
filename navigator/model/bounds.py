"""What may cross a border (MCP, the socket, a command line, a file of tasks): the one limit on lists and strings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from navigator.model.errors import UsageError

MOST_ENTRIES = 10_000
"""Entries of one list or object; fields that need fewer have limits of their own."""

LONGEST = 100_000
"""Characters of one string."""

DEEPEST = 10
"""Lists and objects in one another."""

MOST_FILES = 200
"""Files that one task names."""


def require_bounded(document: Any) -> None:
    """Refuse data that is too large, or has text that no file, database or process takes.

    Raises:
        UsageError: it names the place, as in `tasks.0.files`.
    """
    for problem in _problems(document, ()):
        raise UsageError(problem)


def _problems(value: Any, at: tuple[str, ...]) -> Iterator[str]:
    where = ".".join(at) or "The arguments"
    if isinstance(value, str):
        if len(value) > LONGEST:
            yield f"{where}: more than {LONGEST:,} characters."
        if "\0" in value:
            yield f"{where}: a NUL character."
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            yield f"{where}: not valid Unicode."
    elif isinstance(value, dict | list | tuple):
        if len(value) > MOST_ENTRIES:
            yield f"{where}: more than {MOST_ENTRIES:,} entries."
        elif len(at) >= DEEPEST:
            yield f"{where[:100]}: more than {DEEPEST} levels deep."
        elif isinstance(value, dict):
            for key, item in value.items():
                yield from _problems(key, (*at, "a key"))
                yield from _problems(item, (*at, str(key)[:100]))
        else:
            for number, item in enumerate(value):
                yield from _problems(item, (*at, str(number)))
