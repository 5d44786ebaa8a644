"""From a TOML file to a pydantic model, with errors that name the file, the line and the key."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from navigator.model import patterns
from navigator.model.errors import ConfigError
from navigator.model.json_text import read_toml

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_HEADER = patterns.compile(r"\s*\[\[?\s*([A-Za-z0-9_.\"'\s-]+?)\s*\]\]?\s*(?:#.*)?")
_KEY = patterns.compile(r"\s*([A-Za-z0-9_.\"'-]+)\s*=")
_CHECK_HINT = "Correct the file, then run `navigator config check`."

Location = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)


def read_model(file: Path, model: type[Model]) -> Model:
    """Read, check and freeze a settings file.

    Raises:
        FileNotFoundError: there is no file. ConfigError: it cannot be used; see `settings.load_settings`.
    """
    try:
        text = file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 (byte {error.start}).", hint="Save it as UTF-8.") from error
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error
    try:
        raw = read_toml(text)
    except ValueError as error:
        raise ConfigError(f"{file} is not valid TOML: {error}.", hint=_CHECK_HINT) from error
    for name, field in model.model_fields.items():
        if field.exclude and name in raw:
            raise _unknown_key(file, text, (name,), model)
    try:
        return model.model_validate(_with_tuples(raw))
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        unknown = next((one["loc"] for one in problems if one["type"] == "extra_forbidden"), None)
        if unknown is not None:
            raise _unknown_key(file, text, unknown, model) from error
        raise ConfigError(_explain(file, text, problems), hint=_CHECK_HINT) from error


def inner_model(annotation: object) -> type[BaseModel] | None:
    """The model of a key that is a table, or an array of tables; None for any other key."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def line_of(text: str, location: Location) -> int | None:
    """The 1-based line of a key in a TOML text, found by a plain scan.

    Args:
        text: the file's text.
        location: e.g. `("batch", "target")` or `("project", 1, "path")`.

    Returns:
        The line, or that of the table's header if the key has no line of its own, or None.
    """
    wanted = ".".join(str(part) for part in location if not isinstance(part, int))
    index = next((part for part in location if isinstance(part, int)), 0)
    table, seen, header_line = "", -1, None
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.fullmatch(line)
        if header:
            table = _unquoted(header[1])
            seen += table == "project"
            if wanted == table or wanted.startswith(f"{table}."):
                header_line = number if table != "project" or seen == index else header_line
            continue
        key = _KEY.match(line)
        if key is None or (table == "project" and seen != index):
            continue
        full = f"{table}.{_unquoted(key[1])}" if table else _unquoted(key[1])
        if full == wanted or wanted.startswith(f"{full}."):
            return number
    return header_line


def _unquoted(key: str) -> str:
    return patterns.sub(r"[\"'\s]", "", key)


def _with_tuples(value: Any) -> Any:
    """TOML arrays as tuples, tables as they are: the models are strict and frozen."""
    if isinstance(value, dict):
        # extra_body goes to the server as JSON, where an array is a list.
        return {key: item if key == "extra_body" else _with_tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_with_tuples(item) for item in value)
    return value


def _unknown_key(file: Path, text: str, location: Location, model: type[BaseModel]) -> ConfigError:
    for part in location[:-1]:
        if isinstance(part, str):
            model = inner_model(model.model_fields[part].annotation) or model
    known = [name for name, field in model.model_fields.items() if not field.exclude]
    near = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(known)}."
    return ConfigError(
        f"{_file_and_line(file, text, location)}: unknown key {dotted(location)!r}.", hint=hint
    )


def _explain(file: Path, text: str, problems: list[ErrorDetails]) -> str:
    """One line per mistake, without the values: one of them may be a secret."""
    lines = []
    for item in problems:
        location: Location = item["loc"]
        message = item["msg"].removeprefix("Value error, ")
        key = f"{dotted(location)}: " if location else ""
        lines.append(f"{_file_and_line(file, text, location)}: {key}{message[:1].lower()}{message[1:]}.")
    return "\n".join(lines)


def _file_and_line(file: Path, text: str, location: Location) -> str:
    line = line_of(text, location) if location else None
    return f"{file}:{line}" if line else str(file)


def dotted(location: Location) -> str:
    """`("project", 0, "path")` as `project[1].path`: people count from one."""
    shown = ""
    for part in location:
        shown += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return shown.removeprefix(".")
