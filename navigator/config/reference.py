"""What each settings key means, from the strings under the keys. Run as a module, it prints docs/settings.md."""

from __future__ import annotations

import ast
import inspect
import json
import sys
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from navigator.config.reading import inner_model
from navigator.config.settings import Settings

_INTRODUCTION = """\
# Settings

The settings file is `~/.config/navigator/config.toml`, or the file that `NAVIGATOR_CONFIG` names. `navigator config path` prints
the path, `navigator config show` every value in use with its meaning, and `navigator config check` checks the file. Every key has
a default: a file holds only what you change. An unknown key is an error.

Strategies are explained in [strategies.md](strategies.md), examples are in `examples/`.

This page is generated from the code: `python -m navigator.config.reference > docs/settings.md`.
"""


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


def reference() -> str:
    """docs/settings.md."""
    return _INTRODUCTION + "".join(_sections("", Settings))


def _sections(prefix: str, model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        inner = inner_model(field.annotation)
        if inner is None:
            continue
        title = f"[[{name}]]" if field.default == () else f"[{prefix}{name}]"
        yield f"\n## {title}\n\n{inspect.cleandoc(inner.__doc__ or '')}\n\n{_table(inner)}"
        yield from _sections(f"{prefix}{name}.", inner)


def _table(model: type[BaseModel]) -> str:
    meanings = key_meanings(model)
    rows = ["| key | default | meaning |", "|---|---|---|"]
    for key, field in model.model_fields.items():
        if inner_model(field.annotation) is None:
            rows.append(f"| `{key}` | {_default(field)} | {meanings[key]}{_choices(field)} |")
    return "\n".join(rows) + "\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    return "not set" if value is None else f"`{toml(value)}`"


def _choices(field: FieldInfo) -> str:
    """The values that a key accepts, if it accepts a few words only."""
    words = [word for word in _literals(field.annotation) if isinstance(word, str)]
    return f" One of {', '.join(f'`{word}`' for word in words)}." if words else ""


def _literals(annotation: Any) -> Iterator[Any]:
    if typing.get_origin(annotation) is typing.Literal:
        yield from typing.get_args(annotation)
        return
    for inner in typing.get_args(annotation):
        yield from _literals(inner)


if __name__ == "__main__":
    sys.stdout.write(reference())
