"""No control, bidi or zero-width character passes the last gate, and no line gets longer there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

from navigator.model.text import is_unsafe
from navigator.tui import terminal
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


def test_blanks_make_room_before_text_does() -> None:
    made = InertFilter().apply([Segment("a\u200bb"), Segment(" " * 12), Segment("end")], BLACK)
    assert "".join(segment.text for segment in made) == "a<U+200B>b" + " " * 4 + "end"


def test_the_clipboard_is_bounded() -> None:
    assert terminal.clipboard_sequence("hi") == "\x1b]52;c;aGk=\x07"
    assert terminal.clipboard_sequence("x" * 60_000) is None


def test_a_notification_carries_no_escape_of_its_text() -> None:
    sequence = terminal.notification_sequence("7 wait\x1b]0;x\x07")
    assert sequence.count("\x1b") == 1
    assert sequence.count("\x07") == 2
