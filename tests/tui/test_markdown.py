"""Markdown drawn as lines: nothing wider than the page, nothing that a terminal would act on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from navigator.model.text import is_unsafe
from navigator.tui.widgets.markdown import drawn


def text(source: str, width: int = 40) -> list[str]:
    return ["".join(piece for piece, _ in line) for line in drawn(source, width)]


def styles(source: str) -> dict[str, str]:
    return {piece: style for line in drawn(source, 80) for piece, style in line if piece.strip()}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("# A title #", ["A title"]),
        ("## `a.py` and **b**", ["a.py and b"]),
        ("- one\n* two\n3) three", ["• one", "• two", "3) three"]),
        ("  - deep", ["  • deep"]),
        ("> said", ["▏ said"]),
        ("see [here](https://x.invalid)", ["see here (https://x.invalid)"]),
        ("[https://x.invalid](https://x.invalid)", ["https://x.invalid"]),
        ("![alt](x.png)", ["image: alt (x.png)"]),
        ("<b>bold</b> <script>", ["<b>bold</b> <script>"]),
        ("```python\nx = 1\n\ny  = 2\n```\nafter", ["  x = 1", "", "  y  = 2", "after"]),
        ("~~~\n```\n~~~\nafter", ["  ```", "after"]),
        ("```\nnever closed", ["  never closed"]),
        ("| a | b |\n|---|---|", ["| a | b |", "|---|---|"]),
        ("    code\n\ttab", ["    code", "    tab"]),
        ("2 * 3 * 4 ** 2", ["2 * 3 * 4 ** 2"]),
    ],
)
def test_what_is_drawn(source: str, lines: list[str]) -> None:
    assert [line.rstrip() for line in text(source)] == lines


def test_words_are_kept_whole_and_hang_under_their_item() -> None:
    assert text("- alpha beta gamma delta", 14) == ["• alpha beta", "  gamma delta"]
    assert text("> alpha beta gamma", 12) == ["▏ alpha beta", "▏ gamma"]
    assert text("abcdefghijklmnop", 8) == ["abcdefgh", "ijklmnop"]


def test_what_stands_out() -> None:
    found = styles("# Title\n\nplain **bold** and `code`\n\n- item")
    assert found["Title"] == "title"
    assert found["bold"] == "strong"
    assert found["code"] == "accent"
    assert found["plain"] == ""


@given(
    st.text(alphabet=st.sampled_from("ab #*`->[]()!|~1.\n\t\x1b\x9b\u202e\u4e16\U0001f600é "), max_size=200),
    st.integers(8, 60),
)
def test_no_line_is_too_wide_and_no_character_acts(source: str, width: int) -> None:
    lines = drawn(source, width)
    for line in lines:
        assert sum(cell_len(piece) for piece, _ in line) <= width
        assert not any(is_unsafe(piece) for piece, _ in line)


@given(st.text(alphabet="abc \n", max_size=120), st.integers(8, 40))
def test_no_word_is_lost(source: str, width: int) -> None:
    assert "".join("".join(text(source, width)).split()) == "".join(source.split())
