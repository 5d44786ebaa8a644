"""What is read as a block, a path and prose."""

from __future__ import annotations

import pytest

from navigator.edits.parser import BlockKind, marker_length, parse_answer
from tests.edits.support import Case, check, delete, edit, rename

A = "one\ntwo\nthree\n"
BODY = "<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NO_CHANGE: it is right as it is", "it is right as it is"),
        ("I looked.\n\nNO_CHANGE: the bug is elsewhere\n", "the bug is elsewhere"),
        ("**NO_CHANGE:** nothing to do", "nothing to do"),
        ("`NO_CHANGE: nothing to do`", "nothing to do"),
        ("```\nNO_CHANGE: nothing to do\n```", "nothing to do"),
        ("NO_CHANGE:\nThe file has it already.", "The file has it already."),
        ("NO_CHANGE: one\r\nmore", "one"),
    ],
)
def test_no_change_with_a_reason_is_an_answer(text: str, reason: str) -> None:
    answer = parse_answer(text)
    assert answer.no_change == reason
    assert answer.problems == ()
    assert check(Case("", text, {"a.txt": A})).problems == ()


def test_no_change_beside_blocks_is_prose_and_in_one_it_is_content() -> None:
    for text in ("NO_CHANGE: b.txt\n\n" + edit("a.txt", "two", "2"), edit("a.txt", "two", "NO_CHANGE: x")):
        answer = parse_answer(text)
        assert (answer.no_change, len(answer.blocks)) == (None, 1)


def test_prose_is_what_is_outside_the_blocks() -> None:
    text = "I change it.\n\n```\na.txt\n" + BODY + "```\n\nb.txt\n" + BODY + "\nDone.\n"
    assert parse_answer(text).prose == "I change it.\n\nDone."


def test_blocks_are_numbered() -> None:
    answer = parse_answer("Text\n" + edit("a.txt", "x", "y") + delete("b.txt") + rename("c.txt", "`d.txt`"))
    assert [(b.kind, b.path, b.number, b.target) for b in answer.blocks] == [
        (BlockKind.SEARCH, "a.txt", 1, ""),
        (BlockKind.DELETE, "b.txt", 2, ""),
        (BlockKind.RENAME, "c.txt", 3, "d.txt"),
    ]


def test_problems_count_every_block_begun() -> None:
    answer = parse_answer(edit("a", "x", "y") + BODY + edit("b", "x", "y"))
    assert [(p.block, p.of) for p in answer.problems] == [(2, 3)]
    assert [b.number for b in answer.blocks] == [1, 3]


def test_markers_are_longer_where_a_text_holds_them() -> None:
    none = ("", "x = 1\n", "======\n", "========\n", " =======\n", "x =======\n", "<<<<<<<<< SEARCH\n")
    held = (
        "a\n=======\nb",
        "a\r\n=======\r\nb",
        "<<<<<<< HEAD\n",
        "x\n>>>>>>> REPLACE",
        "||||||| base\n",
        "<<<<<<<",
    )
    for text in (*none, *held):
        assert marker_length(["plain\n", text]) == (9 if text in held else 7), text
