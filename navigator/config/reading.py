"""From a TOML file to `Settings`, with errors that name the file, the line and the key."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from navigator.config.paths import CONFIG_VARIABLE, config_path
from navigator.config.settings import ProjectEntry, Settings
from navigator.domain.errors import ConfigError

_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.\"'\s-]+?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"'-]+)\s*=")
_CHECK_HINT = "`navigator config check` reads the file again after you changed it."

Location = tuple[str | int, ...]


def read_settings(path: Path | None = None) -> Settings:
    """Read, check and freeze the settings; see `navigator.config.settings.load_settings`."""
    file = path if path is not None else config_path()
    try:
        text = file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        if os.environ.get(CONFIG_VARIABLE) and file == config_path():
            raise ConfigError(
                f"{CONFIG_VARIABLE} names {file}, which does not exist.",
                hint="Correct the path, or unset the variable to use the defaults.",
            ) from None
        return Settings()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 (byte {error.start}).", hint="Save it as UTF-8.") from error
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not valid TOML: {error}.", hint=_CHECK_HINT) from error
    _refuse_unknown(file, text, raw)
    try:
        settings = Settings.model_validate(_with_tuples(raw))
    except ValidationError as error:
        raise ConfigError(_explain(file, text, error), hint=_CHECK_HINT) from error
    return settings.model_copy(update={"source": file})


def line_of(text: str, location: Location) -> int | None:
    """The 1-based line of a TOML text on which a key stands, as well as a scan by eye would find it.

    Args:
        text: the file's text.
        location: e.g. `("batch", "target")` or `("project", 1, "path")`.

    Returns:
        The line, or that of the table's header where the key has no line of its own, or None.
    """
    wanted = ".".join(str(part) for part in location if not isinstance(part, int))
    index = next((part for part in location if isinstance(part, int)), 0)
    table, seen, header_line = "", -1, None
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.fullmatch(line)
        if header:
            table = _plain(header[1])
            seen += table == "project"
            if wanted == table or wanted.startswith(f"{table}."):
                header_line = number if table != "project" or seen == index else header_line
            continue
        key = _KEY.match(line)
        if key is None or (table == "project" and seen != index):
            continue
        full = f"{table}.{_plain(key[1])}" if table else _plain(key[1])
        if full == wanted or wanted.startswith(f"{full}."):
            return number
    return header_line


def _plain(key: str) -> str:
    return re.sub(r"[\"'\s]", "", key)


def _with_tuples(value: Any) -> Any:
    """TOML arrays as tuples, tables as they are: the models are strict and frozen."""
    if isinstance(value, dict):
        # extra_body goes to the server as JSON, where an array is a list.
        return {key: item if key == "extra_body" else _with_tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_with_tuples(item) for item in value)
    return value


def _tables(raw: Mapping[str, Any]) -> Iterator[tuple[Location, Mapping[str, Any], type[BaseModel]]]:
    """Every table of the file that has a model, with its place."""
    for name, field in Settings.model_fields.items():
        value = raw.get(name)
        if name == "project" and isinstance(value, list):
            yield from (
                ((name, i), item, ProjectEntry) for i, item in enumerate(value) if isinstance(item, dict)
            )
        elif (
            isinstance(value, dict) and isinstance(field.annotation, type) and not get_args(field.annotation)
        ):
            yield (name,), value, field.annotation


def _refuse_unknown(file: Path, text: str, raw: Mapping[str, Any]) -> None:
    known_tables = [name for name in Settings.model_fields if name != "source"]
    for key in raw:
        if key not in known_tables:
            raise _unknown(file, text, (key,), known_tables)
    for place, table, model in _tables(raw):
        known = list(model.model_fields)
        for key in table:
            if key not in known:
                raise _unknown(file, text, (*place, key), known)


def _unknown(file: Path, text: str, location: Location, known: list[str]) -> ConfigError:
    name = str(location[-1])
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known here: {', '.join(known)}."
    return ConfigError(f"{_where(file, text, location)}: unknown key {_dotted(location)!r}.", hint=hint)


def _explain(file: Path, text: str, error: ValidationError) -> str:
    """One line a mistake; values are not repeated, for one of them may be a secret."""
    lines = []
    for item in error.errors(include_url=False, include_input=False):
        location: Location = item["loc"]
        message = item["msg"].removeprefix("Value error, ")
        key = f"{_dotted(location)}: " if location else ""
        lines.append(f"{_where(file, text, location)}: {key}{message[:1].lower()}{message[1:]}.")
    return "\n".join(lines)


def _where(file: Path, text: str, location: Location) -> str:
    line = line_of(text, location) if location else None
    return f"{file}:{line}" if line else str(file)


def _dotted(location: Location) -> str:
    """`("project", 0, "path")` as `project[1].path`: people count from one."""
    shown = ""
    for part in location:
        shown += f"[{part + 1}]" if isinstance(part, int) else f".{part}"
    return shown.removeprefix(".")
