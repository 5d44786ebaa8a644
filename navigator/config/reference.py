"""What each settings key means, from the strings under the keys; all settings as a file could have them."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from navigator.config.paths import config_path
from navigator.config.settings import Section, Settings


def key_meanings(model: type[BaseModel]) -> dict[str, str]:
    """Each key of a table and the string under it in the source, inherited keys included."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found |= _documented(base.__module__).get(base.__name__, {})
    return {key: found[key] for key in model.model_fields if key in found}


@cache
def _documented(module: str) -> dict[str, dict[str, str]]:
    """Class, key and string of every documented attribute in a module."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if not isinstance(node, ast.ClassDef):
            continue
        for key, said in zip(node.body, node.body[1:], strict=False):
            match key, said:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    found.setdefault(node.name, {})[name] = inspect.cleandoc(text)
    return found


def toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def described_lines(settings: Settings, described: Mapping[str, Any]) -> Iterator[str]:
    """What `describe` found, as lines that a settings file could have: each key with its meaning, defaults marked."""
    yield f"# {described['file'] or f'no file at {config_path()}: all defaults'}"
    for name in type(settings).model_fields:
        table = getattr(settings, name)
        if isinstance(table, Section):
            yield from _table_lines(name, table, described[name])
    for entry, values in zip(settings.project, described["projects"], strict=True):
        yield "\n[[project]]"
        yield from _key_lines(type(entry), values)


def _table_lines(name: str, table: Section, values: dict[str, Any]) -> Iterator[str]:
    """A table, with its inner tables after it."""
    yield f"\n[{name}]"
    yield from _key_lines(type(table), values)
    for key, inner in values.items():
        if "from" not in inner:
            yield from _table_lines(f"{name}.{key}", getattr(table, key), inner)


def _key_lines(model: type[Section], values: dict[str, Any]) -> Iterator[str]:
    meanings = key_meanings(model)
    for key, entry in values.items():
        if "from" not in entry:
            continue
        if meanings.get(key):
            yield f"# {meanings[key]}"
        origin = "" if entry["from"] == "file" else "  # default"
        value = entry["value"]
        yield f"# {key} is not set" if value is None else f"{key} = {toml(value)}{origin}"
