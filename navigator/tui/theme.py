"""The application's themes, and the styles that lists and the diff view draw with under each, all from themes.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rich.style import Style
from textual.theme import Theme

from navigator.model.json_text import table

DEFAULT_THEME = "navigator-dark"
_TABLE = table(__package__, "themes.toml")
_SHADES: dict[str, dict[str, Any]] = _TABLE["themes"]
"""The colours of each theme, as names that Rich and Textual both read, and its attributes for emphasis."""


@dataclass(frozen=True, slots=True)
class DiffPalette:
    """Rich styles for everything the diff view draws; themes.toml says what each is."""

    base: Style
    muted: Style
    faint: Style
    accent: Style
    file: Style
    file_muted: Style
    hunk: Style
    added: Style
    removed: Style
    lines: Mapping[str, Style]
    cursor_lines: Mapping[str, Style]
    words: Mapping[str, Style]
    absent: Style
    unsafe: Style
    cursor_bar: Style
    box: Mapping[str, Style]
    syntax: Mapping[str, Style]


def _theme(name: str, *, dark: bool = True) -> Theme:
    shades = _SHADES[name]
    colours = {role: shades[word] for role, word in _TABLE["roles"].items()}
    variables = {variable: shades.get(word, word) for variable, word in _TABLE["variables"].items()}
    return Theme(name=name, dark=dark, variables=variables, **colours)


THEMES: tuple[Theme, ...] = (
    _theme(DEFAULT_THEME),
    _theme("navigator-light", dark=False),
    _theme("navigator-contrast"),
)
"""Every theme of the application, the default first; the app registers them all."""


def _styles(name: str, part: str) -> dict[str, Any]:
    """A part of the file in the colours of a theme; a table in it stays one."""

    def parsed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: parsed(one) for key, one in value.items()}
        return Style.parse(value.format_map(_SHADES[name]))

    made: dict[str, Any] = parsed(_TABLE[part])
    return made


def piece_styles(theme: Theme) -> Mapping[str, Style]:
    """Rich styles of the names that `cells.Piece` uses, and of the row under the cursor ("cursor")."""
    return _piece_styles(theme.name)


@lru_cache(maxsize=len(_SHADES))
def _piece_styles(name: str) -> Mapping[str, Style]:
    return {"": Style(), **_styles(name, "pieces")}


def palette_for(theme: Theme) -> DiffPalette:
    """The palette of a theme of `THEMES`."""
    return _palette(theme.name)


@lru_cache(maxsize=len(_SHADES))
def _palette(name: str) -> DiffPalette:
    syntax = {group: Style.parse(style) for group, style in _SHADES[name]["syntax"].items()}
    return DiffPalette(**_styles(name, "palette"), syntax=syntax)
