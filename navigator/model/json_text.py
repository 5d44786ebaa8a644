"""JSON and TOML that others wrote, read with limits on their size and depth."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from navigator.model.errors import UsageError

if TYPE_CHECKING:
    from pydantic import ValidationError

Location = tuple[str | int, ...]

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


def first_misfit(error: ValidationError, noun: str = "key") -> str:
    """The first thing of a document that does not fit its model, in words: `tasks[1].text: is empty`.

    An unknown key comes first: it explains what is missing. `noun`: what the document's reader calls a key.
    """
    problems = error.errors(include_url=False, include_input=False)
    first = min(problems, key=lambda one: one["type"] != "extra_forbidden")
    where, what = dotted(first["loc"]), first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        return f"there is no {noun} {where!r}"
    return f"{where}: {what}" if where else what


def dotted(location: Location) -> str:
    """`("project", 0, "path")` as `project[1].path`: people count from one."""
    shown = ""
    for part in location:
        shown += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return shown.removeprefix(".")


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


@cache
def table(package: str, name: str) -> dict[str, Any]:
    """The TOML file `name` in the folder of `package`, read once."""
    (folder,) = import_module(package).__path__
    return read_toml(Path(folder, name).read_text(encoding="utf-8"))


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


MOST_ENTRIES = 10_000
"""Entries of one list or object; fields that need fewer have limits of their own."""

LONGEST = 100_000
"""Characters of one string."""

MOST_NESTED = 10
"""Lists and objects in one another."""

MOST_FILES = 200
"""Files that one task names."""

MOST_VARIANTS = 8
"""Variants of one task."""


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
        elif len(at) >= MOST_NESTED:
            yield f"{where[:100]}: more than {MOST_NESTED} levels deep."
        elif isinstance(value, dict):
            for key, item in value.items():
                yield from _problems(key, (*at, "a key"))
                yield from _problems(item, (*at, str(key)[:100]))
        else:
            for number, item in enumerate(value):
                yield from _problems(item, (*at, str(number)))
