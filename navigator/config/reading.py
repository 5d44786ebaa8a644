"""From a TOML table to a pydantic model, with errors that name the file and the key."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from navigator.config.file import CHECK_HINT
from navigator.model.errors import ConfigError
from navigator.model.json_text import Location, dotted

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound=BaseModel)


def checked(file: Path, raw: dict[str, Any], model: type[Model]) -> Model:
    """What a settings file holds, checked and frozen.

    Raises:
        ConfigError: it cannot be used; see `settings.load_settings`.
    """
    for name, field in model.model_fields.items():
        if field.exclude and name in raw:
            raise _unknown_key(file, (name,), model)
    try:
        # As JSON: there an array is a tuple and a word a member of its enum, as strict as the models are.
        return model.model_validate_json(json.dumps(raw, default=str))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        unknown = next((one["loc"] for one in problems if one["type"] == "extra_forbidden"), None)
        if unknown is not None:
            raise _unknown_key(file, unknown, model) from error
        raise ConfigError(_explain(file, problems), hint=CHECK_HINT) from error


def inner_model(annotation: object) -> type[BaseModel] | None:
    """The model of a key that is a table, or an array of tables; None for any other key."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def _unknown_key(file: Path, location: Location, model: type[BaseModel]) -> ConfigError:
    for part in location[:-1]:
        if isinstance(part, str):
            model = inner_model(model.model_fields[part].annotation) or model
    known = [name for name, field in model.model_fields.items() if not field.exclude]
    near = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(known)}."
    return ConfigError(f"{file}: unknown key {dotted(location)!r}.", hint=hint)


def _explain(file: Path, problems: list[ErrorDetails]) -> str:
    """One line per mistake, without the values: one of them may be a secret."""
    lines = []
    for item in problems:
        # Not a key: which kind of a union it is about.
        location: Location = tuple(part for part in item["loc"] if "[" not in str(part))
        message = item["msg"].removeprefix("Value error, ")
        key = f"{dotted(location)}: " if location else ""
        lines.append(f"{file}: {key}{message[:1].lower()}{message[1:]}.")
    return "\n".join(lines)
