"""Some hunks of a proposal as a tree of their own, with `git apply` as the oracle."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navigator.git.hunks import ChoiceRefused, all_labels, build_part, choose, commit_part
from navigator.git.private import FileChange, PrivateRepo
from navigator.git.runner import Git
from navigator.model.diff import choices
from tests.git.world import World, git, make_repo

NUMBERS = b"".join(b"%d\n" % n for n in range(1, 61))


@cache
def _shared() -> PrivateRepo:
    """One private repository for all examples: only objects are added to it."""
    folder = Path(tempfile.mkdtemp(prefix="navigator-hunks-"))
    return World(make_repo(folder / "repo", {"keep": b"x\n"}), folder / "state").private


# The oracle: git's own patch of the two trees, cut down to the chosen hunks, applied by git


def patch_of(private: PrivateRepo, a: str, b: str) -> bytes:
    words = [
        "diff-tree",
        "-r",
        "-p",
        "--binary",
        "--full-index",
        "--find-renames=100%",
        "--diff-algorithm=histogram",
    ]
    return private.git.run(*words, a, b).stdout


_HEAD = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def sections(patch: bytes) -> list[tuple[list[bytes], list[list[bytes]]]]:
    """Each file's header lines and hunks, every line with its LF. Hunks are read by their counts."""
    found: list[tuple[list[bytes], list[list[bytes]]]] = []
    lines = re.findall(rb"[^\n]*\n", patch)
    at = 0
    while at < len(lines):
        header: list[bytes] = [lines[at]]
        at += 1
        while at < len(lines) and not lines[at].startswith((b"diff --git ", b"@@ ")):
            header.append(lines[at])
            at += 1
        hunks: list[list[bytes]] = []
        while at < len(lines) and lines[at].startswith(b"@@ "):
            match = _HEAD.match(lines[at])
            assert match is not None
            old, new = (1 if count is None else int(count) for count in (match[2], match[4]))
            hunk = [lines[at]]
            at += 1
            while at < len(lines) and (old or new or lines[at].startswith(b"\\")):
                hunk.append(lines[at])
                old -= lines[at][:1] in b" -"
                new -= lines[at][:1] in b" +"
                at += 1
            hunks.append(hunk)
        found.append((header, hunks))
    return found


def cut_down(patch: bytes, chosen: Sequence[str]) -> bytes:
    """The patch with the chosen hunks only. Starts on the new side are counted anew, so that each is tried where it stood."""
    made: list[bytes] = []
    number = 0
    for place, (header, hunks) in enumerate(sections(patch), 1):
        labels = [f"H{number + n}" for n in range(1, len(hunks) + 1)]
        number += len(hunks)
        if not hunks:
            made += header if f"F{place}" in chosen else []
            continue
        kept = [(label, hunk) for label, hunk in zip(labels, hunks, strict=True) if label in chosen]
        if not kept:
            continue
        if labels[0] not in chosen:
            header = [line for line in header if not line.startswith((b"old mode", b"new mode"))]
        made += header
        moved = 0
        for _, hunk in kept:
            match = _HEAD.match(hunk[0])
            assert match is not None
            start, old = int(match[1]), 1 if match[2] is None else int(match[2])
            new = 1 if match[4] is None else int(match[4])
            begin = start + moved + (old == 0) - (new == 0)
            made += [b"@@ -%d,%d +%d,%d @@\n" % (start, old, begin, new), *hunk[1:]]
            moved += new - old
    return b"".join(made)


def applied(private: PrivateRepo, base: str, patch: bytes) -> str:
    """The tree that `git apply` makes of a base and a patch."""
    with tempfile.TemporaryDirectory(dir=private.work_folder()) as folder:
        own = Git(private.git_dir, index=Path(folder) / "index", outside=private.git.outside)
        own.run("read-tree", base)
        if patch:
            own.run("apply", "--cached", "--whitespace=nowarn", "-", input=patch)
        return own.run("write-tree").text


# Random files, random subsets

_LINE = st.one_of(
    st.sampled_from(
        [
            b"",
            b" ",
            b"-",
            b"+",
            b"a",
            b"b",
            b"\xff\xfe",
            b"@@ -1 +1 @@",
            b"diff --git a/x b/x",
            b"-- x",
            b"\\ No",
        ]
    ),
    st.binary(max_size=5).map(lambda some: some.replace(b"\n", b"").replace(b"\0", b"")),
)
_END = st.sampled_from([b"\n", b"\r\n"])


@st.composite
def _pair(draw: st.DrawFn) -> tuple[bytes, bytes, bool]:
    """An old file, a new one with changes strewn over it, and whether it becomes executable."""
    end = draw(_END)
    old = [b"%d" % n if draw(st.booleans()) else draw(_LINE) for n in range(draw(st.integers(0, 45)))]
    new: list[bytes] = []
    for line in old:
        fate = draw(st.integers(0, 24))
        if fate == 0:
            continue
        new += [draw(_LINE), line] if fate == 1 else [line + b"!"] if fate == 2 else [line]
    new += draw(st.lists(_LINE, max_size=2))

    def whole(lines: list[bytes], bare: bool) -> bytes:
        text = end.join([*lines, b""]) if lines else b""
        return text[: -len(end)] if bare and text else text

    return whole(old, draw(st.booleans())), whole(new, draw(st.booleans())), draw(st.booleans())


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    st.lists(_pair(), min_size=1, max_size=3),
    st.sets(st.sampled_from(["made", "gone", "empty", "emptied", "moved"])),
    st.data(),
)
def test_any_part_is_what_git_apply_makes_of_its_hunks(
    pairs: list[tuple[bytes, bytes, bool]], others: set[str], data: st.DataObject
) -> None:
    private = _shared()
    root = private.facts.head_commit
    # First lines differ from file to file, or git would rightly call one the rename of another.
    olds = {f"f{n}.txt": FileChange(b"file %d\n" % n + old) for n, (old, _, _) in enumerate(pairs)}
    news = {
        f"f{n}.txt": FileChange(b"file %d\n" % n + new, "100755" if x else None)
        for n, (_, new, x) in enumerate(pairs)
    }
    for name in others - {"made", "empty"}:
        olds[name] = FileChange(b"" if name == "emptied" else name.encode() + b"\nsecond\n")
        news[name] = FileChange(None)
    for name in others & {"made", "empty"}:
        news[name] = FileChange(b"" if name == "empty" else b"made\r\nwithout an end")
    if "moved" in others:
        news["sub/moved"] = olds["moved"]
    before = private.write_tree(root, olds)
    base = commit_part(private, before, root, "base")
    tree = private.write_tree(before, news)
    files = private.diff(base, tree)
    labels = all_labels(files)
    if len(labels) < 2:
        return
    chosen = data.draw(st.sets(st.sampled_from(labels), min_size=1, max_size=len(labels) - 1))
    part = build_part(private, base, tree, chosen)
    patch = patch_of(private, base, tree)
    assert part.tree == applied(private, base, cut_down(patch, sorted(chosen)))
    assert set(part.labels) == chosen
    assert {*part.labels, *part.rest} == set(labels)
    # What is left is something, and leads to the whole.
    left = private.diff(part.tree, tree)
    assert left
    assert applied(private, part.tree, patch_of(private, part.tree, tree)) == tree
    touched = {path for file in left for path in (file.old_path, file.new_path) if path}
    assert touched <= {path for file in files for path in (file.old_path, file.new_path) if path}
    # The parts of a chosen file and of its rest do not mix: applying every hunk gives the whole.
    assert applied(private, base, cut_down(patch, labels)) == tree


def base_with(world: World, files: dict[str, bytes]) -> str:
    """A commit of the private repository with some files more."""
    return commit_part(world.private, world.propose(files).tree, world.facts.head_commit, "base")


def test_a_part_and_the_other_part_on_top_make_the_whole(world: World) -> None:
    base = base_with(world, {"n.txt": NUMBERS})
    changed = (
        NUMBERS.replace(b"\n5\n", b"\nfive\n").replace(b"\n30\n", b"\nthirty\n").replace(b"\n55\n", b"\n")
    )
    tree = world.private.write_tree(base, {"n.txt": FileChange(changed)})
    first = build_part(world.private, base, tree, ["H2"])
    on_it = commit_part(world.private, first.tree, base, "part")
    assert [choices(file, 1) for file in world.private.diff(on_it, tree)] == [("H1", "H2")]
    middle = NUMBERS.replace(b"\n30\n", b"\nthirty\n")
    assert world.private.read_blob(world.private.tree_entries(first.tree)["n.txt"].sha) == middle
    assert (first.labels, first.rest, first.paths) == (("H2",), ("H1", "H3"), ("n.txt",))


# What a choice is, case by case


def test_crlf_and_bytes_that_are_no_text_are_kept(world: World) -> None:
    old = b"\xe4 one\r\n" + b"same\r\n" * 12 + b"last \xff\r\n"
    base = base_with(world, {"l.txt": old})
    new = old.replace(b"one", b"eins").replace(b"last", b"letzte").removesuffix(b"\r\n")
    tree = world.private.write_tree(base, {"l.txt": FileChange(new)})
    content = [
        world.private.read_blob(
            world.private.tree_entries(build_part(world.private, base, tree, [label]).tree)["l.txt"].sha
        )
        for label in ("H1", "H2")
    ]
    assert content == [old.replace(b"one", b"eins"), old.replace(b"last", b"letzte").removesuffix(b"\r\n")]


def test_a_change_of_mode_goes_with_the_first_hunk(world: World) -> None:
    base = base_with(world, {"n.sh": NUMBERS})
    changed = NUMBERS.replace(b"\n5\n", b"\nfive\n").replace(b"\n50\n", b"\nfifty\n")
    tree = world.private.write_tree(base, {"n.sh": FileChange(changed, "100755")})
    modes = {
        label: world.private.tree_entries(build_part(world.private, base, tree, [label]).tree)["n.sh"].mode
        for label in ("H1", "H2")
    }
    assert modes == {"H1": "100755", "H2": "100644"}


def test_what_has_no_lines_is_chosen_by_its_place(world: World) -> None:
    proposal = world.propose(
        {
            "README.md": FileChange(b"# thing\n", "100755"),
            "docs/guide.txt": None,
            "docs/manual.txt": b"first\nsecond\n",
            "empty": b"",
            "src/util.py": b"LIMIT = 11\n",
        }
    )
    files = world.private.diff(proposal.base_commit, proposal.tree)
    assert all_labels(files) == ("F1", "F2", "F3", "H1")
    for label, paths in (
        ("F1", ("README.md",)),
        ("F2", ("docs/guide.txt", "docs/manual.txt")),
        ("F3", ("empty",)),
    ):
        part = build_part(world.private, proposal.base_commit, proposal.tree, [label])
        assert part.paths == paths
        assert {change.path for change in world.private.raw_diff(proposal.base_commit, part.tree)} == set(
            paths
        )


def test_a_hunk_that_needs_another_is_refused(world: World) -> None:
    proposal = world.propose({"docs/guide.txt": None, "docs/guide.txt/first.md": b"# One\n"})
    files = world.private.diff(proposal.base_commit, proposal.tree)
    assert [file.status for file in files] == ["D", "A"]
    with pytest.raises(ChoiceRefused, match="cannot be split off without the rest"):
        build_part(world.private, proposal.base_commit, proposal.tree, ["H2"])
    assert build_part(world.private, proposal.base_commit, proposal.tree, ["H1"]).rest == ("H2",)


def test_a_file_that_becomes_another_kind_is_one_choice(world: World) -> None:
    proposal = world.propose({"src/util.py": FileChange(b"app.py", "120000"), "README.md": b"# this\n"})
    with pytest.raises(ChoiceRefused, match="go together"):
        build_part(world.private, proposal.base_commit, proposal.tree, ["H1", "H2"])
    part = build_part(world.private, proposal.base_commit, proposal.tree, ["H2", "H3"])
    assert part.paths == ("src/util.py",)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [([], "No hunk"), (["h1", "H2 "], "whole proposal"), (["H3"], "no H3"), (["F1"], "no F1")],
)
def test_choices_that_are_none(world: World, wanted: list[str], said: str) -> None:
    proposal = world.propose({"README.md": b"# other\n", "src/util.py": b"LIMIT = 11\n"})
    files = world.private.diff(proposal.base_commit, proposal.tree)
    with pytest.raises(ChoiceRefused, match=said):
        choose(files, wanted)


def test_a_part_as_a_base_outlives_a_collection(world: World) -> None:
    proposal = world.propose({"README.md": b"# other\n", "src/util.py": b"LIMIT = 11\n"})
    part = build_part(world.private, proposal.base_commit, proposal.tree, ["H1"])
    made = [commit_part(world.private, part.tree, proposal.base_commit, "part") for _ in range(2)]
    assert made[0] == made[1]
    world.private.collect(made)
    world.private.git.run("prune", "--expire=now")
    assert world.private.tree_of(made[0]) == part.tree
    assert git(world.repo, "cat-file", "-t", made[0], ok=False) == "", "nothing of it is the user's"
