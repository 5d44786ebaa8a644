"""The last filter before the terminal: whatever a strip holds, nothing of it acts. `tests/e2e` reads a real terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

from navigator.model.text import is_unsafe
from navigator.tui.terminal import InertFilter

BLACK = Color(0, 0, 0)
HOSTILE = "\x1b[31m\x1b]52;c;aGk=\x07\x9b2J\u202egnp\u200b\u2066\U000e0041\x00\r\x08"
texts = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(HOSTILE)), max_size=30)


@given(st.lists(texts, max_size=6))
def test_whatever_comes_is_inert_and_no_wider(parts: list[str]) -> None:
    segments = [Segment(part) for part in parts]
    made = InertFilter().apply(list(segments), BLACK)
    assert not any(is_unsafe(segment.text) for segment in made)
    before = sum(cell_len(segment.text) for segment in segments)
    assert sum(cell_len(segment.text) for segment in made) <= max(before, 0) or made == segments


def test_clean_lines_are_not_copied() -> None:
    segments = [Segment("plain"), Segment(" text ▰ 日本")]
    assert InertFilter().apply(segments, BLACK) is segments
