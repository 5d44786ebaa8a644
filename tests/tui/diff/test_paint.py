"""Strips: exactly as wide as asked, every character of the diff and nothing unsafe."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from navigator.model.diff import DiffLine, FileDiff, Hunk
from navigator.model.text import is_unsafe
from navigator.tui.diff.layout import (
    Annotation,
    DiffRow,
    FindingNote,
    Layout,
    Mode,
    RowKind,
    build_rows,
    place,
)
from navigator.tui.diff.paint import SIGNS, Cursor, Painter, Scene
from navigator.tui.theme import THEMES, palette_for
from navigator.tui.widgets.cells import display
from tests.tui.diff.samples import COMMENTS, FILES, FINDINGS, TEXT, comments_on, diffs, finding

MODES = st.sampled_from(["unified", "split"])


def painted(
    files: list[FileDiff],
    annotations: tuple[Annotation, ...] = (),
    *,
    mode: Mode = "unified",
    width: int = 100,
    theme: int = 0,
) -> tuple[Painter, Layout]:
    placement = place(files, annotations)
    scene = Scene(files, annotations, placement.elsewhere)
    painter = Painter(scene, palette_for(THEMES[theme]), mode=mode, width=width)
    layout = Layout(build_rows(files, placement, mode), painter.heights)
    layout.grow()
    return painter, layout


def texts(painter: Painter, layout: Layout, cursor: Cursor = Cursor.AWAY) -> list[str]:
    lines = []
    for y in range(layout.total):
        index, sub = layout.at(y)
        strip = painter.strip(layout.rows[index], sub, layout.height(index), cursor)
        assert cell_len(strip.text) == strip.cell_length == painter.width
        lines.append(strip.text)
    return lines


@given(
    st.data(),
    diffs(),
    MODES,
    st.integers(1, 130),
    st.integers(0, len(THEMES) - 1),
    st.sampled_from(Cursor),
)
def test_every_strip_is_safe_and_as_wide_as_the_view(
    data: st.DataObject,
    files: list[FileDiff],
    mode: Mode,
    width: int,
    theme: int,
    cursor: Cursor,
) -> None:
    comments = tuple(data.draw(comments_on(files)))
    painter, layout = painted(files, comments, mode=mode, width=width, theme=theme)
    for text in texts(painter, layout, cursor):
        assert not is_unsafe(text)


@given(diffs(), st.integers(30, 130))
def test_a_wrapped_diff_shows_every_character(files: list[FileDiff], width: int) -> None:
    painter, layout = painted(files, width=width)
    for index, row in enumerate(layout.rows):
        if row.kind != RowKind.LINE:
            continue
        line = files[row.file].hunks[row.hunk].lines[row.a]
        height = layout.height(index)
        subs = [painter.strip(row, sub, height).text for sub in range(height)]
        shown = "".join(text[painter.gutter :] for text in subs)
        assert shown.replace(" ", "") == display(line.text).replace(" ", "")
        assert subs[0][painter.gutter - 2] == SIGNS[line.kind]


@given(TEXT, TEXT, TEXT)
def test_no_word_of_a_finding_reaches_the_screen_unsafe(message: str, trigger: str, quote: str) -> None:
    notes = (
        FindingNote("a", finding(message=message, trigger=trigger, quote=quote), message, 1, (trigger,)),
        FindingNote("b", finding(message=message, quote=quote, anchored=False, path=trigger, hunk=quote)),
    )
    painter, layout = painted(FILES, notes)
    assert not any(is_unsafe(text) for text in texts(painter, layout))


def test_unsafe_names_of_files_and_sections_are_shown_by_name() -> None:
    line = DiffLine("+", "x", None, 1)
    evil = "a\x1b]52;c;x\x07\u202e.py"
    file = FileDiff("R100", "old\x9b.py", evil, hunks=(Hunk("H1\x1b", 0, 0, 1, 1, "def \x1b[2J", (line,)),))
    painter, layout = painted([file])
    text = "\n".join(texts(painter, layout))
    assert "a␛]52;c;x␇<U+202E>.py  renamed from old<U+009B>.py" in text
    assert "line 1  def ␛[2J" in text


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (FileDiff("A", "", "a.py"), "a.py new file"),
        (FileDiff("D", "gone.txt", "gone.txt"), "gone.txt deleted"),
        (FileDiff("R100", "old name", "new name"), "new name renamed from old name"),
        (FileDiff("M", "t", "t", old_mode="100644", new_mode="100755"), "t mode 100644 → 100755"),
    ],
)
def test_the_header_tells_what_happened(file: FileDiff, said: str) -> None:
    painter, layout = painted([file])
    assert " ".join(texts(painter, layout)[0].split()) == f"{said} 1 of 1"


def test_a_box_tells_severity_criterion_kind_who_and_why() -> None:
    painter, layout = painted(FILES, (*FINDINGS, *COMMENTS), width=90)
    lines = [text.strip() for text in texts(painter, layout)]
    start = next(place for place, text in enumerate(lines) if "● major" in text)
    assert [" ".join(text.split()) for text in lines[start : start + 5]] == [
        "┃ ● major · correctness 122B, round 2",
        "┃ sum() of an empty list is int 0, which has no quantize: total([]) raises",
        "┃ AttributeError.",
        "┃ happens when: an invoice without lines is opened",
        "┃ round 1 said the same about r1: not met",
    ]
    assert "ROUND_HALF_EVEN)" in lines[start - 1]


def test_a_finding_about_the_task_is_on_top_and_quotes_it() -> None:
    painter, layout = painted(FILES, FINDINGS)
    lines = [" ".join(text.split()) for text in texts(painter, layout)[:4]]
    assert lines == [
        "┃ ○ minor · completeness · missing · its quote was not found 122B, round 2",
        "┃ about the task",
        "┃ The task asks for a changelog entry; there is none.",
        "┃ asked for: mention it in the changelog",
    ]


def test_narrow_views_show_one_number() -> None:
    for width, expected in ((100, "  13  13     "), (60, "  13     ")):
        lines = texts(*painted(FILES, width=width))
        assert next(text for text in lines if "One line of an invoice" in text).startswith(expected)


def test_a_line_of_a_hundred_thousand_wide_characters_can_be_looked_at_anywhere() -> None:
    line = DiffLine("+", "日本語\t" * 25_000, None, 1)
    file = FileDiff("A", "", "a.py", hunks=(Hunk("H1", 0, 0, 1, 1, "", (line,)),))
    painter, layout = painted([file])
    assert layout.height(2) > 2_000
    assert "日本語" in painter.strip(layout.rows[2], 2_000, layout.height(2)).text


def line_with(text: str) -> DiffRow:
    """The row of the sample's line that holds `text`."""
    _, layout = painted(FILES)
    lines = (row for row in layout.rows if row.kind == RowKind.LINE)
    return next(row for row in lines if text in FILES[row.file].hunks[row.hunk].lines[row.a].text)


def test_what_was_made_visible_stands_out() -> None:
    painter, _ = painted(FILES)
    strip = painter.strip(line_with("evil"), 0, 1)
    unsafe = painter.palette.unsafe.color
    shown = {segment.text for segment in strip if segment.style and segment.style.color == unsafe}
    assert shown == {"␛", "<U+202E>"}
