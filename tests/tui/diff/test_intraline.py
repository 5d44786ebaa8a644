"""Words that changed within a line, and which lines are compared at all."""

from __future__ import annotations

from hypothesis import given

from navigator.tui.diff.highlight import changed_words
from tests.tui.diff.samples import TEXT


def words(old: str, new: str) -> tuple[list[str], list[str]] | None:
    changed = changed_words(old, new)
    if changed is None:
        return None
    return [old[a:b] for a, b in changed[0]], [new[a:b] for a, b in changed[1]]


def test_a_replaced_word_is_emphasised_on_both_sides() -> None:
    assert words("    amount: float", "    amount: Decimal") == (["float"], ["Decimal"])


def test_words_with_only_a_blank_between_them_are_one_change() -> None:
    assert words("same words here: old thing, end", "same words here: new stuff, end") == (
        ["old thing"],
        ["new stuff"],
    )


def test_lines_with_little_in_common_are_not_versions_of_each_other() -> None:
    assert words("import os", "def total(lines): return 0") is None


def test_lines_too_intricate_are_not_compared() -> None:
    assert words("call(" + "(a" * 120 + ", end)", "call(" + "a(" * 120 + ", end)") is None


@given(TEXT, TEXT)
def test_what_is_not_emphasised_is_the_same_on_both_sides(old: str, new: str) -> None:
    changed = changed_words(old, new)
    if changed is None:
        return

    def rest(text: str, ranges: tuple[tuple[int, int], ...]) -> str:
        kept, at = "", 0
        for start, stop in ranges:
            assert at <= start < stop <= len(text)
            kept += text[at:start]
            at = stop
        return kept + text[at:]

    # Blanks between two changed words belong to the change on the side where they join it.
    assert "".join(rest(old, changed[0]).split()) == "".join(rest(new, changed[1]).split())
