"""The kind of work that a text asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.model.states import EITHER_KINDS, REPORT_KINDS, TaskKind, guess_kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Fix the parser for empty files", TaskKind.FIX),
        ("  prevent a crash on SIGTERM", TaskKind.FIX),
        ("Rename `load` to `read`", TaskKind.REFACTOR),
        ("Document the public functions", TaskKind.DOCS),
        ("Add a docstring to every test", TaskKind.DOCS),
        ("Update the README\n\nand fix its links", TaskKind.DOCS),
        ("Add tests for the lexer", TaskKind.TEST),
        ("Test rounding in invoices", TaskKind.TEST),
        ("Add a command that prints fixed prices", TaskKind.IMPLEMENT),
        ("Let the fixer write comments", TaskKind.IMPLEMENT),
        ("", TaskKind.IMPLEMENT),
    ],
)
def test_the_first_words_name_it(text: str, kind: TaskKind) -> None:
    assert guess_kind(text) is kind


@given(st.text(max_size=200))
def test_a_guess_is_a_kind_that_ends_with_a_change(text: str) -> None:
    assert guess_kind(text) not in {TaskKind.SCAN, *REPORT_KINDS, *EITHER_KINDS}
