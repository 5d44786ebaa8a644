"""The application's themes, and the styles that lists and the diff view draw with under each, all from themes.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from navigator.model.json_text import table

DEFAULT_THEME = "navigator-dark"
_ANSI = "navigator-ansi"
"""In the terminal's own colours, which have no tints: changed lines wear their colour on the text."""

_TABLE = table(__package__, "themes.toml")
_SHADES: dict[str, dict[str, Any]] = _TABLE["themes"]
"""The colours of each theme, as names that Rich and Textual both read, and its attributes for emphasis."""


@dataclass(frozen=True, slots=True)
class DiffPalette:
    """Rich styles for everything the diff view draws; themes.toml says what each is.

    `syntax_on_changes` is False where added and removed lines wear their colour on the text itself.
    """

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
    syntax_on_changes: bool


def _theme(name: str, *, dark: bool = True) -> Theme:
    ansi = name == _ANSI
    shades = _SHADES[name]
    if ansi:  # Textual's own names of these colours
        shades = {one: f"ansi_{str(colour).rpartition(' ')[2]}" for one, colour in shades.items()}
    # Textual's stylesheets need variables that only its own ANSI themes define.
    own = BUILTIN_THEMES["ansi-dark"].variables if ansi else {}
    wanted = _TABLE["variables_ansi" if ansi else "variables"]
    return Theme(
        name=name,
        ansi=ansi,
        primary=shades["accent"],
        secondary=shades["accent"],
        accent=shades["accent"],
        warning=shades["attention"],
        error=shades["removed"],
        success=shades["added"],
        foreground=shades["text"],
        background=shades["background"],
        surface=shades["surface"],
        panel=shades["panel"],
        boost=shades["background"] if ansi else None,
        dark=dark,
        variables=own | {variable: shades.get(word, word) for variable, word in wanted.items()},
    )


THEMES: tuple[Theme, ...] = (
    _theme(DEFAULT_THEME),
    _theme("navigator-light", dark=False),
    _theme(_ANSI),
    _theme("navigator-contrast"),
)
"""Every theme of the application, the default first; the app registers them all."""


def _styles(name: str, part: str) -> dict[str, Any]:
    """A part of the file in the colours of a theme; a table in it stays one."""
    words = _TABLE[part] | (_TABLE[f"{part}_on_text"] if name == _ANSI else {})

    def parsed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: parsed(one) for key, one in value.items()}
        return Style.parse(value.format_map(_SHADES[name]))

    made: dict[str, Any] = parsed(words)
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
    return DiffPalette(**_styles(name, "palette"), syntax=syntax, syntax_on_changes=name != _ANSI)
