"""Text in cells: nothing unsafe, nothing lost, nothing wider than it may be; columns stay columns."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from navigator.model.text import is_unsafe
from navigator.tui.widgets.cells import (
    cropped,
    display,
    fit,
    fit_left,
    rows_needed,
    short_duration,
    wrap,
)
from navigator.tui.widgets.markdown import wrap_words
from tests.tui.diff.samples import TEXT

anything = st.text(max_size=40)


@given(anything, st.integers(0, 30))
def test_fit_is_as_wide_as_asked_and_safe(text: str, width: int) -> None:
    made = fit(text, width)
    assert cell_len(made) == width
    assert not is_unsafe(made)


def test_cropped_says_that_something_was_cut() -> None:
    assert cropped([("abc", ""), ("defgh", "")], 5) == [("abc", ""), ("d…", "")]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.42, "0.4 s"),
        (4.2, "4 s"),
        (59, "59 s"),
        (180, "3 min"),
        (7800, "2 h 10 min"),
        (7200, "2 h"),
        (360_000, "4 d"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert short_duration(seconds) == shown


WIDTHS = st.integers(1, 50)


def test_tabs_go_to_the_next_stop_counting_wide_characters_as_two() -> None:
    assert display("\tx") == "    x"
    assert display("ab\tx") == "ab  x"
    assert display("日\tx") == "日  x"
    assert display("abcd\tx") == "abcd    x"


def test_controls_and_bidi_are_shown_by_name() -> None:
    assert display("a\x1b[31m\u202eb\r") == "a␛[31m<U+202E>b␍"


@given(TEXT, WIDTHS)
def test_wrapping_loses_nothing_and_keeps_the_width(text: str, width: int) -> None:
    shown = display(text)
    breaks = (*wrap(shown, width), len(shown))
    rows = [shown[start:stop] for start, stop in pairwise(breaks)]
    assert "".join(rows) == shown and not is_unsafe(shown)
    assert len(rows) == rows_needed(text, width)
    if width > 1:
        assert all(cell_len(row) <= width for row in rows)


@given(TEXT, WIDTHS)
def test_prose_keeps_its_words_and_its_width(text: str, width: int) -> None:
    rows = wrap_words(text, width)
    assert "".join("".join(rows).split()) == "".join(display(text).split())
    assert rows
    if width > 1:
        assert all(cell_len(row) <= width for row in rows)


def test_fitting_keeps_the_end_of_a_path() -> None:
    assert fit_left("a/very/long/path/name.py", 10) == "…h/name.py"
