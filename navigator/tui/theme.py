"""The application's themes, and the palette that the diff view draws with under each. The colours are in themes.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from rich.style import Style
from textual.theme import BUILTIN_THEMES, Theme

from navigator.model.json_text import table

DEFAULT_THEME = "navigator-dark"


@dataclass(frozen=True, slots=True)
class Shades:
    """The colours of one theme, as names that Rich and Textual both read, and its attributes for emphasis."""

    background: str
    surface: str
    panel: str
    text: str
    muted: str
    faint: str
    accent: str
    added: str
    added_line: str
    added_cursor: str
    added_word: str
    removed: str
    removed_line: str
    removed_cursor: str
    removed_word: str
    cursor: str
    attention: str
    syntax: Mapping[str, str]
    word_style: str = "bold"
    changed_text: bool = False


@dataclass(frozen=True, slots=True)
class DiffPalette:
    """Rich styles for everything the diff view draws. `lines` and `words` are by the sign of a diff line.

    `absent` is the empty half of a side-by-side row.
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


_SHADES = {name: Shades(**shades) for name, shades in table(__package__, "themes.toml").items()}


def _theme(name: str, *, dark: bool) -> Theme:
    shades = _SHADES[name]
    return Theme(
        name=name,
        primary=shades.accent,
        secondary=shades.accent,
        accent=shades.accent,
        warning=shades.attention,
        error=shades.removed,
        success=shades.added,
        foreground=shades.text,
        background=shades.background,
        surface=shades.surface,
        panel=shades.panel,
        dark=dark,
        variables={
            "border": shades.accent,
            "border-blurred": shades.faint,
            "footer-background": shades.surface,
            "footer-key-foreground": shades.accent,
            "footer-description-foreground": shades.muted,
            "footer-item-background": shades.surface,
            "scrollbar": shades.panel,
            "scrollbar-hover": shades.faint,
            "scrollbar-active": shades.accent,
            "scrollbar-background": shades.background,
            "scrollbar-background-hover": shades.background,
            "scrollbar-background-active": shades.background,
            "scrollbar-corner-color": shades.background,
            "block-cursor-background": shades.cursor,
            "block-cursor-foreground": shades.text,
            "block-cursor-text-style": "bold",
            "block-cursor-blurred-background": shades.surface,
            "block-cursor-blurred-foreground": shades.text,
            "block-cursor-blurred-text-style": "none",
            "muted": shades.muted,
            "faint": shades.faint,
        },
    )


def _ansi_theme() -> Theme:
    """The terminal's own colours. Textual's stylesheets need variables that only its own ANSI themes define."""
    own = BUILTIN_THEMES["ansi-dark"]
    return Theme(
        name="navigator-ansi",
        ansi=True,
        primary="ansi_blue",
        secondary="ansi_blue",
        accent="ansi_blue",
        warning="ansi_yellow",
        error="ansi_red",
        success="ansi_green",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        dark=True,
        variables={
            **own.variables,
            "border": "ansi_blue",
            "border-blurred": "ansi_default",
            "footer-key-foreground": "ansi_blue",
            "scrollbar-background": "ansi_default",
            "scrollbar-background-hover": "ansi_default",
            "scrollbar-background-active": "ansi_default",
            "muted": "ansi_default",
            "faint": "ansi_default",
        },
    )


THEMES: tuple[Theme, ...] = (
    _theme("navigator-dark", dark=True),
    _theme("navigator-light", dark=False),
    _ansi_theme(),
    _theme("navigator-contrast", dark=True),
)
"""Every theme of the application, the default first; the app registers them all."""


def piece_styles(theme: Theme) -> Mapping[str, Style]:
    """Rich styles of the names that `cells.Piece` uses, and of the row under the cursor ("cursor")."""
    return _piece_styles(theme.name if theme.name in _SHADES else _nearest(theme))


@lru_cache(maxsize=len(_SHADES))
def _piece_styles(name: str) -> Mapping[str, Style]:
    shades = _SHADES[name]
    words = {
        "muted": shades.muted,
        "faint": shades.faint,
        "accent": shades.accent,
        "strong": "bold",
        "good": shades.added,
        "bad": shades.removed,
        "warn": shades.attention,
        "heading": f"bold {shades.muted}",
        "title": f"bold {shades.text}",
        "cursor": "bold reverse" if shades.changed_text else f"bold on {shades.cursor}",
    }
    return {"": Style(), **{word: Style.parse(style) for word, style in words.items()}}


def palette_for(theme: Theme) -> DiffPalette:
    """The palette of `theme`. A theme that is not Navigator's gets the one that fits its darkness and its colours."""
    name = theme.name if theme.name in _SHADES else _nearest(theme)
    return _palette(name)


def _nearest(theme: Theme) -> str:
    if theme.ansi:
        return "navigator-ansi"
    return "navigator-dark" if theme.dark else "navigator-light"


@lru_cache(maxsize=len(_SHADES))
def _palette(name: str) -> DiffPalette:
    shades = _SHADES[name]

    def on(foreground: str, background: str, attributes: str = "") -> Style:
        return Style.parse(f"{attributes} {foreground} on {background}")

    plain = on(shades.text, shades.background)
    if shades.changed_text:
        lines = {
            " ": plain,
            "+": on(shades.added, shades.background),
            "-": on(shades.removed, shades.background),
        }
        cursor_lines = {sign: style + Style(bold=True) for sign, style in lines.items()}
    else:
        lines = {
            " ": plain,
            "+": on(shades.text, shades.added_line),
            "-": on(shades.text, shades.removed_line),
        }
        cursor_lines = {
            " ": on(shades.text, shades.cursor),
            "+": on(shades.text, shades.added_cursor),
            "-": on(shades.text, shades.removed_cursor),
        }
    word = Style.parse(shades.word_style)
    words = {
        "+": word if shades.changed_text else word + Style(bgcolor=shades.added_word),
        "-": word if shades.changed_text else word + Style(bgcolor=shades.removed_word),
    }
    box = {
        "body": on(shades.text, shades.surface),
        "muted": on(shades.muted, shades.surface),
        "quote": on(shades.muted, shades.surface, "italic"),
        "author": on(shades.accent, shades.surface, "bold"),
        "severity-blocker": on(shades.removed, shades.surface, "bold"),
        "severity-major": on(shades.removed, shades.surface, "bold"),
        "severity-minor": on(shades.attention, shades.surface, "bold"),
        "severity-nit": on(shades.muted, shades.surface, "bold"),
    }
    return DiffPalette(
        base=plain,
        muted=on(shades.muted, shades.background),
        faint=on(shades.faint, shades.background),
        accent=on(shades.accent, shades.background),
        file=on(shades.text, shades.panel, "bold"),
        file_muted=on(shades.muted, shades.panel),
        hunk=on(shades.muted, shades.background, "bold"),
        added=Style.parse(f"bold {shades.added}"),
        removed=Style.parse(f"bold {shades.removed}"),
        lines=lines,
        cursor_lines=cursor_lines,
        words=words,
        absent=on(shades.faint, shades.surface),
        unsafe=Style.parse(f"bold {shades.attention}"),
        cursor_bar=Style.parse(f"bold {shades.accent}"),
        box=box,
        syntax={group: Style.parse(style) for group, style in shades.syntax.items()},
        syntax_on_changes=not shades.changed_text,
    )
