"""The settings file as a table, and what reading needs of it: whether these settings rehearse. Imports no model."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from navigator.config.paths import CONFIG_VARIABLE, config_path
from navigator.model.errors import ConfigError
from navigator.model.json_text import read_toml
from navigator.model.states import Role

CHECK_HINT = "Correct the file, then run `navigator config check`."

_REHEARSAL = "rehearsal"


def settings_table(path: Path | None = None) -> dict[str, Any] | None:
    """What the settings file holds, unchecked; None without one at the default path.

    Raises:
        ConfigError: `NAVIGATOR_CONFIG` names a file that does not exist; or the file cannot be read, or is no TOML.
    """
    file = path if path is not None else config_path()
    try:
        return read_toml(file.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        named = os.environ.get(CONFIG_VARIABLE)
        if path is None and named:
            raise ConfigError(
                f"{CONFIG_VARIABLE} names {named}, which does not exist.",
                hint=f"`navigator setup` writes it. Or correct the path, or unset {CONFIG_VARIABLE} to use the default one.",
            ) from None
        return None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 (byte {error.start}).", hint="Save it as UTF-8.") from error
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read: {error.strerror}.", hint="Check its permissions."
        ) from error
    except ValueError as error:
        raise ConfigError(f"{file} is not valid TOML: {error}.", hint=CHECK_HINT) from error


def is_rehearsal(model: str) -> bool:
    """Whether a model's name says that it does not exist: the rehearsal plays it."""
    return model.startswith(f"{_REHEARSAL}/")


def rehearses(models: Iterable[str], strategy: str | None) -> bool | None:
    """Whether work with these models and this strategy is simulated. None where no strategy is set, as in no file at all."""
    if any(map(is_rehearsal, models)):
        return True
    return None if strategy is None else strategy == _REHEARSAL


def settings_rehearse() -> bool | None:
    """`Settings.rehearsal` of the settings file. To check all of it takes longer than to list what waits, so whoever only
    reads the store does not: what does not fit is said by whatever uses it, and by `navigator config check`.

    Raises:
        ConfigError: as of `settings_table`.
    """
    sections = {name: held for name, held in (settings_table() or {}).items() if isinstance(held, dict)}
    models = (str(sections.get(role.value, {}).get("model")) for role in Role)
    return rehearses(models, sections.get("swap", {}).get("strategy"))
