"""Where the package's data files are: prompt templates, the swap script and the glossary, and tables beside the code.

In a wheel the folders are in `navigator/_data/`; in a checkout at the repository's top level.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from navigator.model.errors import MissingPart
from navigator.model.json_text import read_toml

_PACKAGE = Path(__file__).resolve().parent.parent


def resource_dir(name: str) -> Path:
    """The folder `prompts`, `swap` or `docs` (of which a wheel has the glossary only).

    Raises:
        MissingPart: the installation is incomplete.
    """
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise MissingPart(
        f"The folder {name}/ is missing from this installation of Navigator.",
        hint="Reinstall the package navigator-cascade.",
    )


@cache
def table(package: str, name: str) -> dict[str, Any]:
    """The TOML file `name` in the folder of `package`, read once."""
    return read_toml((files(package) / name).read_text(encoding="utf-8"))
