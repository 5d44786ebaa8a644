"""Syntax by file name: right groups on the right characters, bounded, and never a guess."""

from __future__ import annotations

import pytest

from navigator.model.diff import DiffLine
from navigator.tui.diff import highlight
from navigator.tui.diff.highlight import (
    _GROUPS,
    CHUNK,
    MAX_CHARACTERS,
    SyntaxStore,
    highlight_chunk,
    lexer_for,
)
from navigator.tui.theme import THEMES, palette_for
from navigator.tui.widgets.cells import display
from tests.tui.diff.samples import FILES


def groups(path: str, lines: list[DiffLine], index: int) -> list[tuple[str, str]]:
    text = display(lines[index].text)
    return [(text[a:b], group) for a, b, group in highlight_chunk(path, lines, index // CHUNK).get(index, ())]


def test_python_is_known_by_its_name() -> None:
    lines = [DiffLine(" ", "def total(lines):  # sum", 1, 1)]
    assert groups("x.py", lines, 0) == [("def", "keyword"), ("total", "function"), ("# sum", "comment")]


def test_a_name_that_says_nothing_has_no_syntax() -> None:
    assert lexer_for("notes") is None
    assert lexer_for("notes.txt") is None
    assert highlight_chunk("notes", [DiffLine(" ", "def x(): pass", 1, 1)], 0) == {}


def test_a_removed_line_is_lexed_with_the_old_side_around_it() -> None:
    lines = [
        DiffLine("-", '"""', 1, None),
        DiffLine(" ", "import os", 2, 1),
        DiffLine("-", '"""', 3, None),
    ]
    assert groups("x.py", lines, 1) == [("import", "keyword")]
    assert groups("x.py", lines, 2) == [('"""', "comment")]


def test_a_string_opened_above_the_chunk_is_still_one() -> None:
    lines = [DiffLine("+", "words", None, number) for number in range(1, CHUNK + 5)]
    lines[CHUNK - 20] = DiffLine("+", 'text = """', None, CHUNK - 19)
    assert groups("x.py", lines, CHUNK + 1) == [("words", "string")]


def test_the_rest_of_a_very_long_line_is_left_alone() -> None:
    lines = [DiffLine(" ", "x = 1; " * 100_000, 1, 1), DiffLine(" ", "return", 2, 2)]
    spans = highlight_chunk("x.py", lines, 0)
    assert max(stop for _, stop, _ in spans[0]) <= MAX_CHARACTERS
    assert groups("x.py", lines, 1) == [("return", "keyword")]


def test_every_palette_has_a_colour_for_every_group() -> None:
    for theme in THEMES:
        assert set(_GROUPS.values()) <= set(palette_for(theme).syntax)


def test_what_is_drawn_is_wanted_and_lexed_once() -> None:
    store = SyntaxStore()
    assert store.spans(1, 0, 0) is None
    store.lex_wanted(FILES)
    assert (store.spans(1, 0, 0) or ())[0] == (0, 4, "keyword")
    store.clear()
    assert store.spans(1, 0, 0) is None


def test_a_lexer_that_fails_costs_only_the_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise IndexError("a lexer")

    monkeypatch.setattr(highlight, "highlight_chunk", fails)
    store = SyntaxStore()
    store.spans(1, 0, 0)
    store.lex_wanted(FILES)
    assert store.spans(1, 0, 0) == ()
