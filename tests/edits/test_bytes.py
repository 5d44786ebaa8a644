"""What an edit does not name stays as it is, byte for byte."""

from __future__ import annotations

import codecs

import pytest

from navigator.edits.apply import apply_answer
from navigator.edits.overlay import BinaryContent, TextFile
from navigator.edits.parser import parse_answer
from navigator.git.private import FileChange
from tests.edits.support import Case, check, edit, rename, tree, whole

BOM = codecs.BOM_UTF8


def bytes_case(name: str, answer: str, before: bytes, after: bytes, rung: str = "exact") -> Case:
    return Case(name, answer, {"a.txt": before}, {"a.txt": after}, (rung,) * answer.count("<<<<<<<"))


CASES = [
    bytes_case("CRLF stays", edit("a.txt", "b", "x\ny"), b"a\r\nb\r\nc\r\n", b"a\r\nx\r\ny\r\nc\r\n"),
    bytes_case(
        "CRLF answer, CRLF file", edit("a.txt", "b", "x").replace("\n", "\r\n"), b"a\r\nb\r\n", b"a\r\nx\r\n"
    ),
    bytes_case(
        "mixed: repeated lines keep theirs",
        edit("a.txt", "a\nb\nc\nd", "a\nX\nc\nd"),
        b"a\r\nb\nc\r\nd\n",
        b"a\r\nX\r\nc\r\nd\n",
    ),
    bytes_case(
        "mixed: an added line follows the one before",
        edit("a.txt", "b", "b\nx"),
        b"a\nb\r\nc\n",
        b"a\nb\r\nx\r\nc\n",
    ),
    bytes_case(
        "mixed: added in front follows the next", edit("a.txt", "a", "x\na"), b"a\r\nb\n", b"x\r\na\r\nb\n"
    ),
    bytes_case(
        "mixed: WHOLE keeps what stays",
        whole("a.txt", "a\nx\nc"),
        b"a\r\nb\nc\r\n",
        b"a\r\nx\r\nc\r\n",
        "whole_file",
    ),
    bytes_case("a lone CR is content", edit("a.txt", "b", "c"), b"a\rx\nb\n", b"a\rx\nc\n"),
    bytes_case("no final newline: last line", edit("a.txt", "b", "c"), b"a\nb", b"a\nc"),
    bytes_case("no final newline: appended", edit("a.txt", "b", "b\nc"), b"a\nb", b"a\nb\nc"),
    bytes_case("no final newline: all goes", edit("a.txt", "a", ""), b"a", b""),
    bytes_case("no final newline: WHOLE", whole("a.txt", "x\ny"), b"a\nb", b"x\ny", "whole_file"),
    bytes_case(
        "CRLF is remembered while no line has it",
        edit("a.txt", "a\nb", "c") + edit("a.txt", "c", "c\nd"),
        b"a\r\nb",
        b"c\r\nd",
    ),
    bytes_case("blank lines at the end stay", edit("a.txt", "a", "b"), b"a\n\n\n", b"b\n\n\n"),
    bytes_case("UTF-8", edit("a.txt", "\u00e9", "\u4e8c"), "\u00e9\n".encode(), "\u4e8c\n".encode()),
    bytes_case("UTF-8 mark", edit("a.txt", "a", "\u00e9"), BOM + b"a\nb\n", BOM + "\u00e9\nb\n".encode()),
    bytes_case("Latin-1", edit("a.txt", "\u00e9", "\u00fc"), b"\xe9\nb\xff\n", b"\xfc\nb\xff\n"),
    bytes_case("Latin-1 untouched lines", edit("a.txt", "b", "c"), b"\x93q\x94\nb\n", b"\x93q\x94\nc\n"),
    bytes_case(
        "Latin-1 with UTF-8 line separators", edit("a.txt", "b", "c"), b"\xe9\x85\nb\n", b"\xe9\x85\nc\n"
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bytes(case: Case) -> None:
    check(case)


def test_new_files_are_lf_in_utf8_with_one_newline() -> None:
    case = Case(
        "",
        edit("n.txt", "", "\u00e9\nb\n\n").replace("\n", "\r\n"),
        {},
        {"n.txt": "\u00e9\nb\n"},
        ("new_file",),
    )
    applied = check(case)
    assert applied.changes["n.txt"].mode == "100644"


@pytest.mark.parametrize("mode", ["100644", "100755"])
def test_the_mode_is_kept(mode: str) -> None:
    source = tree({"run.sh": "a\n", "empty": ""}, {"run.sh": mode, "empty": mode})
    answer = edit("run.sh", "a", "b") + edit("empty", "", "x")
    assert apply_answer(parse_answer(answer), source).changes == {
        "run.sh": FileChange(b"b\n", mode),
        "empty": FileChange(b"x\n", mode),
    }


def test_the_mode_goes_along_with_a_rename() -> None:
    source = tree({"run.sh": "a\n"}, {"run.sh": "100755"})
    assert apply_answer(parse_answer(rename("run.sh", "go.sh")), source).changes == {
        "run.sh": FileChange(None),
        "go.sh": FileChange(b"a\n", "100755"),
    }


@pytest.mark.parametrize("data", [b"\0", b"a\0b\n", codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE + b"\x4e\x2c"])
def test_binary_is_told_from_text(data: bytes) -> None:
    with pytest.raises(BinaryContent):
        TextFile.decode(data)
