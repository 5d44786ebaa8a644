"""Where the package's data files are: prompt templates, the swap script and the glossary.

In a wheel they are in `navigator/_data/`; in a checkout at the repository's top level.
"""

from __future__ import annotations

from pathlib import Path

from navigator.model.errors import MissingPart

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
