"""The diff parser against what real git writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navigator.git.diffs import parse_comparison
from navigator.git.private import FileChange
from navigator.git.runner import GitError
from navigator.model.diff import FileDiff
from tests.git.world import World, commit, shared_private


def _sides(diff: FileDiff, old: bytes) -> tuple[bytes, bytes]:
    """Both sides of a file from its diff: what git left out stands in the old file."""
    encoding = "utf-8"
    shown = "\n".join(line.text for hunk in diff.hunks for line in hunk.lines)
    try:
        old_lines = old.decode("utf-8").split("\n")
        shown.encode("utf-8")
    except UnicodeError:
        encoding = "latin-1"
        old_lines = old.decode("latin-1").split("\n")
    if old_lines[-1] == "":
        old_lines.pop()
    # Each line with whether it lacks its newline.
    known = [(text, n == len(old_lines) and not old.endswith(b"\n")) for n, text in enumerate(old_lines, 1)]
    before: list[tuple[str, bool]] = []
    after: list[tuple[str, bool]] = []
    for hunk in diff.hunks:
        start = hunk.old_start - 1 if hunk.old_count else hunk.old_start
        after += known[len(before) : start]
        before += known[len(before) : start]
        for line in hunk.lines:
            if line.kind != "+":
                before.append((line.text, line.no_newline))
            if line.kind != "-":
                after.append((line.text, line.no_newline))
            assert line.old == (len(before) if line.kind != "+" else None)
            assert line.new == (len(after) if line.kind != "-" else None)
    after += known[len(before) :]
    before += known[len(before) :]

    def join(lines: list[tuple[str, bool]]) -> bytes:
        return "".join(text + ("" if bare else "\n") for text, bare in lines).encode(encoding)

    return join(before), join(after)


_ODD = [
    "",
    " ",
    "-",
    "+",
    "a",
    "b",
    "\\ No newline at end of file",
    "@@ -1 +1 @@",
    "diff --git a/x b/x",
    "--- a/x",
]
_CHARACTERS = st.characters(blacklist_characters="\n\0", blacklist_categories=("Cs",))
_LINES = st.lists(st.one_of(st.sampled_from(_ODD), st.text(_CHARACTERS, max_size=8)), max_size=14)
_TEXT = st.builds(
    lambda lines, end: ("\n".join(lines) + end).encode(), _LINES, st.sampled_from(["", "\n", "\r\n"])
)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(_TEXT, _TEXT), min_size=1, max_size=4), st.integers(0, 4))
def test_a_diff_of_any_text_gives_back_both_sides(pairs: list[tuple[bytes, bytes]], context: int) -> None:
    private = shared_private()
    empty = private.facts.head_commit
    # Contents differ in their first line, or git would rightly call one file the rename of another.
    olds = {f"f {n}.txt": FileChange(b"%d\n" % n + old) for n, (old, _) in enumerate(pairs)}
    news = {f"f {n}.txt": FileChange(b"%d\n" % n + new) for n, (_, new) in enumerate(pairs)}
    a, b = private.write_tree(empty, olds), private.write_tree(empty, news)
    found = {diff.path: diff for diff in private.diff(a, b, context)}
    changed = {path for path in olds if olds[path].content != news[path].content}
    assert set(found) == changed
    for path in changed:
        old, new = olds[path].content or b"", news[path].content or b""
        assert not found[path].binary
        assert _sides(found[path], old) == (old, new)
    labels = [hunk.label for diff in private.diff(a, b, context) for hunk in diff.hunks]
    assert labels == [f"H{n}" for n in range(1, len(labels) + 1)]


def test_latin1_and_crlf_lines_keep_every_byte(world: World) -> None:
    old = "größe = 1\r\nend\r\n".encode("latin-1")
    new = "größe = 2\r\nend\r\n".encode("latin-1")
    base = commit(world.repo, {"old.txt": old})
    proposal = world.propose({"old.txt": new}, base=base)
    (diff,) = world.private.diff(base, proposal.tree)
    assert [line.text for line in diff.hunks[0].lines if line.kind == "+"] == ["größe = 2\r"]
    assert _sides(diff, old) == (old, new)


def test_odd_paths_come_back_as_they_are(world: World) -> None:
    names = ['qu"ote.txt', "tab\there.txt", "ü x.txt", "new\nline.txt", "back\\slash"]
    proposal = world.propose({name: name.encode() for name in names})
    for compare in (world.private.diff, world.private.raw_diff):
        assert sorted(each.path for each in compare(proposal.base_commit, proposal.tree)) == sorted(names)


def test_only_exact_renames_are_shown_and_policy_sees_both_ends(world: World) -> None:
    content = b"LIMIT = 10\n"
    proposal = world.propose(
        {"src/util.py": None, "src/limits.py": content, "README.md": None, "READ.md": b"# thing!\n"}
    )
    diffs = {d.path: d for d in world.private.diff(proposal.base_commit, proposal.tree)}
    assert (diffs["src/limits.py"].status, diffs["src/limits.py"].old_path) == ("R", "src/util.py")
    assert diffs["src/limits.py"].hunks == ()
    assert (diffs["README.md"].status, diffs["READ.md"].status) == ("D", "A")
    raw = {c.path: c.status for c in world.private.raw_diff(proposal.base_commit, proposal.tree)}
    assert raw == {"src/util.py": "D", "src/limits.py": "A", "README.md": "D", "READ.md": "A"}


def test_binary_mode_and_type_changes(world: World) -> None:
    proposal = world.propose(
        {
            "blob.bin": b"\0\1\2",
            "README.md": FileChange(b"# thing\n", "100755"),
            "src/util.py": FileChange(b"app.py", "120000"),
            "zero": b"",
            "zz.txt": b"last\n",
        }
    )
    diffs = {d.path: d for d in world.private.diff(proposal.base_commit, proposal.tree)}
    assert diffs["blob.bin"].binary and diffs["blob.bin"].hunks == ()
    assert (diffs["README.md"].old_mode, diffs["README.md"].new_mode) == ("100644", "100755")
    assert diffs["src/util.py"].status == "T"
    assert [h.lines[0].kind for h in diffs["src/util.py"].hunks] == ["-", "+"]
    assert diffs["zero"].hunks == ()
    assert diffs["zz.txt"].hunks[0].lines[0].text == "last"


def _broken() -> Iterator[bytes]:
    meta = b":100644 100644 " + b"1" * 40 + b" " + b"2" * 40 + b" M\0x\0\0"
    yield b":100644 100644 M\0x\0"
    yield meta[:-3]
    yield meta + b"diff --git a/x b/x\n@@ -1,2 +1,2 @@\n-a\n"
    yield meta + b"diff --git a/x b/x\n@@ -1 +1 @@\n*a\n"
    yield meta + b"something else\n"


@pytest.mark.parametrize("output", list(_broken()))
def test_what_git_never_writes_is_an_error(output: bytes) -> None:
    with pytest.raises(GitError):
        parse_comparison(output)
