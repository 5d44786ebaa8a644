"""Print docs/settings.md: every key of the settings with its default and its meaning.

python docs/make_settings.py > docs/settings.md
"""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from navigator.config.reading import inner_model
from navigator.config.reference import key_meanings, toml
from navigator.config.settings import Settings

_INTRODUCTION = """\
# Settings

The settings file is `~/.config/navigator/config.toml`, or the file that `NAVIGATOR_CONFIG` names. `navigator config path` prints
the path, `navigator config show` every value in use with its meaning, and `navigator config check` checks the file. Every key has
a default: a file holds only what you change. An unknown key is an error.

Strategies are explained in [strategies.md](strategies.md), examples are in `examples/`.

This page is generated from the code: `python docs/make_settings.py > docs/settings.md`.
"""


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
