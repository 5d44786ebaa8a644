"""What an edit does not name stays as it is, byte for byte."""

from __future__ import annotations

import codecs

import pytest

from navigator.edits.apply import apply_answer
from navigator.edits.overlay import TextFile
from navigator.edits.parser import parse_answer
from navigator.git.private import FileChange
from tests.edits.support import Case, check, edit, rename, tree, whole

BOM = codecs.BOM_UTF8


def case(name: str, answer: str, before: bytes, after: bytes, rung: str = "exact") -> Case:
    return Case(name, answer, {"a.txt": before}, {"a.txt": after}, (rung,) * answer.count("<<<<<<<"))


def change(search: str, replace: str) -> str:
    return edit("a.txt", search, replace)


def rewrite(content: str) -> str:
    return whole("a.txt", content)


CASES = [
    case("CRLF stays", change("b", "x\ny"), b"a\r\nb\r\nc\r\n", b"a\r\nx\r\ny\r\nc\r\n"),
    case("CRLF answer, CRLF file", change("b", "x").replace("\n", "\r\n"), b"a\r\nb\r\n", b"a\r\nx\r\n"),
    case(
        "mixed: repeated lines",
        change("a\nb\nc\nd", "a\nX\nc\nd"),
        b"a\r\nb\nc\r\nd\n",
        b"a\r\nX\r\nc\r\nd\n",
    ),
    case("mixed: added behind", change("b", "b\nx"), b"a\nb\r\nc\n", b"a\nb\r\nx\r\nc\n"),
    case("mixed: added in front", change("a", "x\na"), b"a\r\nb\n", b"x\r\na\r\nb\n"),
    case("mixed: WHOLE", rewrite("a\nx\nc"), b"a\r\nb\nc\r\n", b"a\r\nx\r\nc\r\n", "whole_file"),
    case("a lone CR is content", change("b", "c"), b"a\rx\nb\n", b"a\rx\nc\n"),
    case("no final newline: last line", change("b", "c"), b"a\nb", b"a\nc"),
    case("no final newline: appended", change("b", "b\nc"), b"a\nb", b"a\nb\nc"),
    case("no final newline: all goes", change("a", ""), b"a", b""),
    case("no final newline: WHOLE", rewrite("x\ny"), b"a\nb", b"x\ny", "whole_file"),
    case("CRLF is remembered", change("a\nb", "c") + change("c", "c\nd"), b"a\r\nb", b"c\r\nd"),
    case("blank lines at the end stay", change("a", "b"), b"a\n\n\n", b"b\n\n\n"),
    case("UTF-8", change("\u00e9", "\u4e8c"), "\u00e9\n".encode(), "\u4e8c\n".encode()),
    case("UTF-8 mark", change("a", "\u00e9"), BOM + b"a\nb\n", BOM + "\u00e9\nb\n".encode()),
    case("Latin-1", change("\u00e9", "\u00fc"), b"\xe9\nb\xff\n", b"\xfc\nb\xff\n"),
    case("Latin-1 untouched lines", change("b", "c"), b"\x93q\x94\nb\n", b"\x93q\x94\nc\n"),
    case("Latin-1 separators", change("b", "c"), b"\xe9\x85\nb\n", b"\xe9\x85\nc\n"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bytes(case: Case) -> None:
    check(case)


def test_new_files_are_lf_in_utf8_with_one_newline() -> None:
    answer = edit("n.txt", "", "\u00e9\nb\n\n").replace("\n", "\r\n")
    applied = check(Case("", answer, {}, {"n.txt": "\u00e9\nb\n"}, ("new_file",)))
    assert applied.changes["n.txt"].mode == "100644"


@pytest.mark.parametrize("mode", ["100644", "100755"])
def test_the_mode_is_kept_and_goes_along_with_a_rename(mode: str) -> None:
    source = tree({"run.sh": "a\n", "empty": ""}, {"run.sh": mode, "empty": mode})
    answer = edit("run.sh", "a", "b") + edit("empty", "", "x")
    assert apply_answer(parse_answer(answer), source).changes == {
        "run.sh": FileChange(b"b\n", mode),
        "empty": FileChange(b"x\n", mode),
    }
    moved = apply_answer(parse_answer(rename("run.sh", "go.sh")), source).changes
    assert moved == {"run.sh": FileChange(None), "go.sh": FileChange(b"a\n", mode)}


@pytest.mark.parametrize("data", [b"\0", b"a\0b\n", codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE + b"\x4e\x2c"])
def test_binary_is_told_from_text(data: bytes) -> None:
    assert TextFile.decode(data) is None
