"""Some hunks of a proposal as a tree of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from navigator.git.hunks import ChoiceRefused, all_labels, build_part, choose, commit_part
from navigator.git.private import FileChange
from navigator.model.diff import Hunk
from tests.git.world import World, git, shared_private

NUMBERS = b"".join(b"%d\n" % n for n in range(1, 61))


def with_hunks(old: bytes, hunks: Sequence[Hunk], chosen: set[str]) -> bytes:
    """The old file with the chosen hunks, put together from the lines of git's diff."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", old.decode("ascii"))
    made: list[str] = []
    at = 0
    for hunk in hunks:
        first = hunk.old_start - (1 if hunk.old_count else 0)
        side = "+ " if hunk.label in chosen else "- "
        held = [line.text + "\n" * (not line.no_newline) for line in hunk.lines if line.kind in side]
        made += [*lines[at:first], *held]
        at = first + hunk.old_count
    return "".join([*made, *lines[at:]]).encode("ascii")


# Random files, random subsets

_ODD = [b"", b" ", b"-", b"+", b"a", b"b", b"@@ -1 +1 @@", b"diff --git a/x b/x", b"-- x", b"\\ No"]
_LINE = st.sampled_from(_ODD)
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


@settings(max_examples=10, deadline=None)
@given(_pair(), st.data())
def test_any_part_has_the_chosen_hunks_and_no_other(
    pair: tuple[bytes, bytes, bool], data: st.DataObject
) -> None:
    private = shared_private()
    root = private.facts.head_commit
    old, new = (b"file\n" + side for side in pair[:2])
    before = private.write_tree(root, {"f.txt": FileChange(old)})
    base = commit_part(private, before, root, "base")
    changed = {"f.txt": FileChange(new, "100755" if pair[2] else None), "made": FileChange(b"made")}
    tree = private.write_tree(before, changed)
    files = {file.path: file for file in private.diff(base, tree)}
    labels = all_labels(tuple(files.values()))
    assume(len(labels) > 1)
    chosen = data.draw(st.sets(st.sampled_from(labels), min_size=1, max_size=len(labels) - 1))
    part = build_part(private, base, tree, chosen)
    entries = private.tree_entries(part.tree)
    held = private.read_blob(entries["f.txt"].sha)
    assert held == with_hunks(old, files["f.txt"].hunks, chosen)
    assert ("made" in entries) == (labels[-1] in chosen)
    assert (set(part.labels), {*part.labels, *part.rest}) == (chosen, set(labels))


def base_with(world: World, files: dict[str, bytes]) -> str:
    """A commit of the private repository with some files more."""
    return commit_part(world.private, world.propose(files).tree, world.facts.head_commit, "base")


# What a choice is, case by case


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
    held = {"F1": {"README.md"}, "F2": {"docs/guide.txt", "docs/manual.txt"}, "F3": {"empty"}}
    for label, paths in held.items():
        part = build_part(world.private, proposal.base_commit, proposal.tree, [label])
        changed = world.private.raw_diff(proposal.base_commit, part.tree)
        assert {*part.paths} == {change.path for change in changed} == paths


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


def test_choices_that_are_none_and_a_part_as_a_base_outlives_a_collection(world: World) -> None:
    proposal = world.propose({"README.md": b"# other\n", "src/util.py": b"LIMIT = 11\n"})
    files = world.private.diff(proposal.base_commit, proposal.tree)
    none = {"": "No hunk", "h1,H2 ": "whole proposal", "H3": "no H3", "F1": "no F1"}
    for wanted, said in none.items():
        with pytest.raises(ChoiceRefused, match=said):
            choose(files, wanted.split(",") if wanted else [])
    part = build_part(world.private, proposal.base_commit, proposal.tree, ["H1"])
    made = [commit_part(world.private, part.tree, proposal.base_commit, "part") for _ in range(2)]
    assert made[0] == made[1]
    world.private.collect(made)
    world.private.git.run("prune", "--expire=now")
    assert world.private.tree_of(made[0]) == part.tree
    assert git(world.repo, "cat-file", "-t", made[0], ok=False) == "", "nothing of it is the user's"
