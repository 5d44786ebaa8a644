"""The one filter: nothing that steers a terminal or hides in a line gets through."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.model.text import is_unsafe, safe_line, safe_text

HOSTILE = {
    "escape": "\x1b[31mred",
    "clipboard": "\x1b]52;c;AAAA\x07",
    "C1 control": "\x9b31m",
    "backspace": "rm\x08\x08ls",
    "carriage return": "good\rbad",
    "delete": "a\x7f",
    "bidi override": "a\u202eb",
    "bidi isolate": "a\u2066b",
    "arabic letter mark": "a\u061cb",
    "zero width space": "a\u200bb",
    "zero width joiner": "a\u200db",
    "word joiner": "a\u2060b",
    "byte order mark": "a\ufeffb",
    "soft hyphen": "a\u00adb",
    "line separator": "a\u2028b",
    "tag character": "a\U000e0041b",
    "lone surrogate": "a\udc80b",
    "grapheme joiner": "a\u034fb",
    "hangul filler": "a\u3164b",
    "variation selector": "a\ufe0fb",
    "hidden data in selectors": "\u2764\ufe0f\ufe01\ufe02",
    "variation selector supplement": "a\U000e0100b",
    "ignorable without a character": "a\ufff0b",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_each_is_made_visible(text: str) -> None:
    safe = safe_text(text)
    assert is_unsafe(text)
    assert not is_unsafe(safe)
    assert len(safe) >= len(text)


def test_ordinary_text_stays_as_it_is() -> None:
    for text in ("plain\n\ttext", "Grüße, 世界, שלום, नमस्ते", "e\u0301", "❤️", "→ ▰▱ ●"):
        assert safe_text(text) == text


# Format characters that have a shape of their own: signs that stand before or round a number in Arabic, Syriac, Kaithi.
VISIBLE = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"


@given(st.text(st.characters(categories=["Cc", "Cf", "Cs", "L", "Zs"])))
def test_no_control_or_format_character_is_left(text: str) -> None:
    for char in safe_text(text):
        assert char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs", "Cf") or char in VISIBLE
    assert safe_text(safe_text(text)) == safe_text(text)


@given(st.text())
def test_a_line_stays_one_line(text: str) -> None:
    assert len(safe_line(text).splitlines()) <= 1
