"""Paths that must never be written, whatever the block."""

from __future__ import annotations

import pytest

from navigator.edits.paths import unsafe_path
from tests.edits.support import delete, edit, refuses, rename, whole

UNSAFE = [
    ("", "empty"),
    ("/etc/passwd", "absolute"),
    ("~/.ssh/config", "absolute"),
    ("C:/x", "absolute"),
    ("../x", "climbs"),
    ("a//b", "empty part"),
    (".", "empty part"),
    ("a\\b", "backslash"),
    (".git/config", ".git"),
    ("sub/.git/hooks/pre-commit", ".git"),
    ("git~1/config", ".git"),
    (".git./config", ".git"),
    (".git::$INDEX_ALLOCATION/config", ".git"),
    (".g\u200cit/config", "invisible"),
    ("\uff0egit/config", ".git"),
    ("a\tb", "control"),
    ("a\x1b[31m", "control"),
    ("a\0b", "control"),
    ("a\u202eb", "bidirectional"),
    ("a\ud800", "control"),
    ("a" * 256, "too long"),
]
SAFE = ["a", "a/b.py", ".gitmodules", "git~x", "a..b/c", "~a", "\u6587\u4ef6.txt", "a:b", "[id]/(x)/$y.tsx"]


@pytest.mark.parametrize(("path", "word"), UNSAFE)
def test_unsafe_paths_are_refused_with_the_reason(path: str, word: str) -> None:
    reason = unsafe_path(path)
    assert reason is not None
    assert word in reason


@pytest.mark.parametrize("path", SAFE)
def test_ordinary_paths_pass(path: str) -> None:
    assert unsafe_path(path) is None


@pytest.mark.parametrize(
    "path", ["../x", ".git/hooks/pre-commit", "/etc/x", "a\\b", "a//b", ".git./x", "a\u202eb"]
)
@pytest.mark.parametrize("kind", ["new", "whole", "edit", "delete", "rename from", "rename to"])
def test_no_block_reaches_an_unsafe_path(path: str, kind: str) -> None:
    answers = {
        "new": edit(path, "", "x"),
        "whole": whole(path, "x"),
        "edit": edit(path, "x", "y"),
        "delete": delete(path),
        "rename from": rename(path, "b"),
        "rename to": rename("a", path),
    }
    # The tree is one that should not be: it holds the path itself.
    refuses(answers[kind], {"a": "x\n", path: "x\n"}, "UNKNOWN_PATH")


def test_a_sentence_names_no_new_file_and_the_path_in_it_is_suggested() -> None:
    items = ("- n.py", "1. n.py", "2) n.py", "n.py?", "a | b", "File: n.py")
    for line in ("Here is the new file:", "I add a test.", "The file `n.py`, which is new", *items):
        for answer in (edit(line, "", "x"), whole(line, "x")):
            refuses(answer, {}, "UNKNOWN_PATH", says=("reads like a sentence",))
    answer = edit("In src/a.py, second:", "x", "y")
    refuses(answer, {"src/a.py": "x\n"}, "UNKNOWN_PATH", says=('"src/a.py"',))
