"""Blocks are small, their SEARCH occurs once, and applied in order they give the new text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from navigator.exam.faults import lines_of
from tests.rehearsal.conversation import applied
from tests.scripted.writer.edits import Edit, apply_edits, edits_between, render_edits

# Few different lines, so that the same ones stand in many places.
LINES = st.lists(st.sampled_from(["a = 1", "b = 2", "", "    c()", "def d():"]), min_size=1, max_size=14)


def text_of(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


@given(LINES, LINES)
def test_applying_the_blocks_gives_the_new_text(before: list[str], after: list[str]) -> None:
    old, new = text_of(before), text_of(after)
    if not old.strip():
        return

    edits = edits_between("f.txt", old, new)

    assert apply_edits(old, edits) == new


def test_the_edit_engine_agrees() -> None:
    old = text_of(["a = 1", "b = 2", "a = 1", "b = 2", "a = 1", "tail"])
    new = text_of(["a = 1", "b = 2", "a = 9", "b = 2", "a = 1", "tail", "more"])

    done = applied({"f.txt": old.encode()}, render_edits(edits_between("f.txt", old, new)))

    assert not done.problems
    assert done.changes["f.txt"].content == new.encode()


def test_a_unique_line_needs_no_context() -> None:
    (edit,) = edits_between("f.py", "a = 1\nb = 2\nc = 3\n", "a = 1\nb = 5\nc = 3\n")

    assert edit == Edit("f.py", ("b = 2",), ("b = 5",))


def test_nine_character_markers() -> None:
    text = render_edits([Edit("f.md", ("a",), ("b",))], marker=9)

    assert text.splitlines() == ["f.md", "<<<<<<<<< SEARCH", "a", "=========", "b", ">>>>>>>>> REPLACE"]


def test_lines_of() -> None:
    assert lines_of("") == []
    assert lines_of("a\n\n") == ["a", ""]
    assert lines_of("a") == ["a"]
