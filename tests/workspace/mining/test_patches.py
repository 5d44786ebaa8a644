"""Diffs without a repository, with difflib as the oracle."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.workspace.mining.patches import PatchRefused, read_patch

LINES = st.lists(st.sampled_from(["a", "b", "- c", "+d", "@@ e", "", " f", "--- g", "+++ h"]), max_size=30)


def diff_of(old: list[str], new: list[str], context: int = 3) -> str:
    found = difflib.unified_diff(old, new, "a/x.py", "b/x.py", lineterm="", n=context)
    return "\n".join(found) + "\n"


@given(LINES, LINES, st.integers(0, 4))
def test_a_diff_applies_to_the_text_it_was_made_from(old: list[str], new: list[str], context: int) -> None:
    if old == new:
        return
    (file,) = read_patch(diff_of(old, new, context))
    before = "".join(f"{line}\n" for line in old)
    assert file.applied(before) == "".join(f"{line}\n" for line in new)


@given(LINES, LINES)
def test_what_the_hunks_show_is_found_at_its_place(old: list[str], new: list[str]) -> None:
    if old == new:
        return
    (file,) = read_patch(diff_of(old, new))
    _, shown = file.sides()
    lines = (shown or "").split("\n")
    for number, line in enumerate(new, 1):
        if place := file.place(number):
            assert lines[place - 1] == line
    changed = [
        number
        for tag, _, _, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
        for number in range(first + 1, last + 1)
    ]
    assert all(file.place(number) for number in changed)


GIT = """diff --git a/old.py b/new.py
similarity index 90%
rename from old.py
rename to new.py
index 1..2 100644
--- a/old.py
+++ b/new.py
@@ -1,2 +1,2 @@ def f():
 a
-b
+c
\\ No newline at end of file
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/pic.png b/pic.png
Binary files a/pic.png and b/pic.png differ
diff --git a/made.py b/made.py
new file mode 100644
--- /dev/null
+++ b/made.py
@@ -0,0 +1,2 @@
+x
+y
"""


def test_git_writes_renames_deletions_and_new_files() -> None:
    found = {file.path: (file.old, file.new, file.sides()) for file in read_patch(GIT)}
    assert found == {
        "new.py": ("old.py", "new.py", ("a\nb\n", "a\nc\n")),
        "gone.py": ("gone.py", None, ("x\n", None)),
        "made.py": (None, "made.py", (None, "x\ny\n")),
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "changes no lines"),
        ("hello\n", "changes no lines"),
        ("@@ -1 +1 @@\n-a\n+b\n", "without a file name"),
        ("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n", "ends within"),
        ("--- a/x\n+++ b/x\n", "no hunk follows"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n a\n*b\n", "neither"),
        ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", "outside"),
        ("--- a/.git/config\n+++ b/.git/config\n@@ -1 +1 @@\n-a\n+b\n", "outside"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "names no file"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" * 2, "twice"),
    ],
)
def test_what_is_no_diff_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(PatchRefused, match=why):
        read_patch(text)


@given(st.text(alphabet="-+@ ab/0123,\n\\x\r", max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        files = read_patch(text)
    except PatchRefused:
        return
    assert files and all(file.path and file.hunks for file in files)


def test_a_text_that_the_diff_was_not_made_from_is_refused() -> None:
    (file,) = read_patch("--- a/x\n+++ b/x\n@@ -2,2 +2,2 @@\n b\n-c\n+d\n")
    assert file.applied("a\nb\nc\n") == "a\nb\nd\n"
    with pytest.raises(PatchRefused, match="does not fit"):
        file.applied("a\nb\nx\n")
