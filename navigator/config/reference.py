"""What each settings key means, from the strings under the keys."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from functools import cache
from typing import Any

from pydantic import BaseModel


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
