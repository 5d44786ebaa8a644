"""Themes: readable, and never telling by colour alone."""

from __future__ import annotations

import pytest
from rich.style import Style
from textual.color import Color
from textual.theme import Theme

from navigator.tui.theme import THEMES, DiffPalette, palette_for


def contrast(style: Style) -> float:
    """The ratio of WCAG 2 between a style's text and its background."""

    def luminance(color: Color) -> float:
        parts = [part / 255 for part in color.rgb]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    assert style.color is not None and style.bgcolor is not None
    light, dark = sorted(
        (luminance(Color.from_rich_color(color)) for color in (style.color, style.bgcolor)), reverse=True
    )
    return (light + 0.05) / (dark + 0.05)


def reading_styles(palette: DiffPalette) -> list[Style]:
    """Every style that words are read in."""
    styles = [palette.base, palette.muted, palette.file, palette.file_muted, palette.hunk]
    styles += palette.box.values()
    for sign in (" ", "+", "-"):
        for base in (palette.lines[sign], palette.cursor_lines[sign]):
            styles.append(base)
            styles += [base + syntax for syntax in palette.syntax.values()]
        if sign != " ":
            styles.append(palette.lines[sign] + palette.words[sign])
    styles += [palette.lines["+"] + palette.added, palette.lines["-"] + palette.removed]
    return styles


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_word_can_be_read(theme: Theme) -> None:
    least = 7.0 if theme.name == "navigator-contrast" else 4.5
    palette = palette_for(theme)
    poor = {
        str(style): round(contrast(style), 2) for style in reading_styles(palette) if contrast(style) < least
    }
    assert poor == {}
    assert all(word.bold for word in palette.words.values()), "changed words differ in more than colour"
