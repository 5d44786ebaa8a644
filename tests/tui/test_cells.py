"""Columns stay columns, whatever text comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from navigator.model.text import is_unsafe
from navigator.tui.widgets.cells import bar, clip, cropped, duration, fit, justified, length, right

anything = st.text(max_size=40)


@given(anything, st.integers(0, 30))
def test_fit_is_as_wide_as_asked_and_safe(text: str, width: int) -> None:
    made = fit(text, width)
    assert cell_len(made) == width
    assert not is_unsafe(made)


@given(anything, st.integers(0, 30))
def test_right_is_as_wide_as_asked(text: str, width: int) -> None:
    assert cell_len(right(text, width)) == width


@given(anything, st.integers(0, 30))
def test_clip_is_never_wider(text: str, width: int) -> None:
    assert cell_len(clip(text, width)) <= width


@given(st.lists(st.tuples(st.text("ab日", max_size=9), st.just("")), max_size=4), st.integers(20, 60))
def test_justified_fills_the_width(pieces: list[tuple[str, str]], width: int) -> None:
    assert length(justified(pieces, [("end", "")], width)) == width


def test_cropped_says_that_something_was_cut() -> None:
    assert cropped([("abc", ""), ("defgh", "")], 5) == [("abc", ""), ("d…", "")]


@pytest.mark.parametrize(
    ("share", "shown"), [(0, "▱▱▱▱"), (0.5, "▰▰▱▱"), (1, "▰▰▰▰"), (7, "▰▰▰▰"), (-1, "▱▱▱▱")]
)
def test_bars(share: float, shown: str) -> None:
    assert bar(share, 4) == shown


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
    assert duration(seconds) == shown
