"""Existing work as changes to review: what a name stands for, and that nothing of the user's is touched."""

from __future__ import annotations

import pytest

from navigator.context.scope import is_secret
from navigator.git.existing import (
    Existing,
    NothingToReview,
    WantedReview,
    branch_with,
    commit_changes,
    find_changes,
    held_commits,
    new_commits,
    recent_commits,
)
from navigator.git.snapshot import NoWorktree
from navigator.model.errors import UsageError
from navigator.model.text import is_unsafe
from tests.git.world import World, commit, fingerprint, git, write


def found(world: World, base: str = "", **wanted: object) -> tuple[Existing, ...]:
    """What is wanted, found without changing anything in the repository."""
    before = fingerprint(world.repo)
    made = find_changes(world.private, world.facts, WantedReview(**wanted), is_secret, base)  # type: ignore[arg-type]
    assert fingerprint(world.repo) == before
    return made.changes


def paths(world: World, change: Existing) -> list[str]:
    world.private.pin_bases((change.base, change.head))
    return [file.path for file in world.private.diff(change.base, change.head)]


def test_a_commit_is_compared_with_its_first_parent(world: World) -> None:
    first = git(world.repo, "rev-parse", "HEAD")
    tip = commit(world.repo, {"new.py": b"x = 1\n"}, "Add x\n\nIt is one.")
    (change,) = found(world)
    assert (change.base, change.head, change.ref, change.title) == (first, tip, tip[:12], "Add x")
    assert "It is one." in change.text and paths(world, change) == ["new.py"]
    (same,) = found(world, ref="HEAD~0")
    assert same == change


def test_a_root_commit_is_compared_with_nothing(world: World) -> None:
    (change,) = found(world, ref="HEAD")
    assert sorted(paths(world, change)) == ["README.md", "docs/guide.txt", "src/app.py", "src/util.py"]
    assert found(world, ref="HEAD")[0].base == change.base


@pytest.fixture
def forked(world: World) -> World:
    """`topic` with two commits and a merge of main, which has one of its own."""
    git(world.repo, "checkout", "-q", "-b", "topic")
    commit(world.repo, {"one.py": b"1\n"}, "One")
    git(world.repo, "checkout", "-q", "main")
    commit(world.repo, {"elsewhere.py": b"0\n"}, "Elsewhere")
    git(world.repo, "checkout", "-q", "topic")
    git(world.repo, "merge", "-q", "--no-edit", "main")
    commit(world.repo, {"two.py": b"2\n"}, "Two")
    return world


def test_a_range_is_one_change_or_one_for_each_commit(forked: World) -> None:
    (whole,) = found(forked, ref="main..topic")
    assert paths(forked, whole) == ["one.py", "two.py"]
    assert whole.title == "main..topic: 3 commits" and whole.text.index("One") < whole.text.index("Two")
    each = find_changes(forked.private, forked.facts, WantedReview(ref="main..topic", each=True), is_secret)
    assert [change.title for change in each.changes] == ["One", "Two"] and each.merges == 1
    assert [paths(forked, change) for change in each.changes] == [["one.py"], ["two.py"]]


def test_a_branch_is_compared_with_where_it_left_the_base(forked: World) -> None:
    (change,) = found(forked, "main", branch="topic")
    assert paths(forked, change) == ["one.py", "two.py"]
    # Checked out, it is the project's base itself: then the usual main branch is meant.
    assert found(forked, "", branch="topic") == (change,)
    with pytest.raises(NothingToReview, match="itself the base"):
        found(forked, "main", branch="main")


def test_staged_work_is_what_would_be_committed(world: World) -> None:
    with pytest.raises(NothingToReview, match="Nothing is staged"):
        found(world, staged=True)
    write(world.repo, {"src/util.py": b"LIMIT = 11\n", "fresh.py": b"y = 1\n", "later.py": b"z\n"})
    git(world.repo, "add", "src/util.py", "fresh.py")
    git(world.repo, "rm", "-q", "--cached", "docs/guide.txt")
    write(world.repo, {"src/util.py": b"LIMIT = 12\n"})
    (change,) = found(world, staged=True)
    assert sorted(paths(world, change)) == ["docs/guide.txt", "fresh.py", "src/util.py"]
    entry = world.private.tree_entries(change.head)["src/util.py"]
    assert world.private.read_blob(entry.sha) == b"LIMIT = 11\n"
    assert found(world, staged=True) == (change,)


def test_uncommitted_work_is_the_checkout_with_untracked_files(world: World) -> None:
    with pytest.raises(NothingToReview, match="Nothing is uncommitted"):
        found(world, worktree=True)
    write(world.repo, {"src/util.py": b"LIMIT = 12\n", "later.py": b"z = 1\n", ".env": b"TOKEN=abc\n"})
    (change,) = found(world, worktree=True)
    assert sorted(paths(world, change)) == ["later.py", "src/util.py"]
    assert ".env" in change.text


def test_conflicts_are_refused(world: World) -> None:
    git(world.repo, "checkout", "-q", "-b", "other")
    commit(world.repo, {"src/util.py": b"LIMIT = 1\n"})
    git(world.repo, "checkout", "-q", "main")
    commit(world.repo, {"src/util.py": b"LIMIT = 2\n"})
    git(world.repo, "merge", "-q", "other", ok=False)
    with pytest.raises(NothingToReview, match="conflicts"):
        found(world, staged=True)
    with pytest.raises(NoWorktree, match="conflicts"):
        found(world, worktree=True)


def test_what_names_nothing_or_looks_like_an_option_is_refused(world: World) -> None:
    absent = ("nosuch", "nosuch..main", "main..nosuch", ":/nothing says this", "a b", "^")
    for name in (*absent, "--upload-pack=x", "-n", "a\nb"):
        with pytest.raises(UsageError, match="`git branch` lists" if name in absent else None):
            found(world, ref=name)


def test_authors_are_untrusted(world: World) -> None:
    hostile = "\x1b[2JHi\u202e \x07" + "x" * 5000
    made = ("-c", "user.name=E\x1bvil\u200b", "commit", "-q", "--allow-empty")
    git(world.repo, *made, "-m", f"{hostile}\n\n{hostile * 3}")
    (change,) = found(world)
    for line in (change.title, change.author, *change.text.splitlines()):
        assert not is_unsafe(line)
    assert len(change.title) <= 72 and len(change.text) < 6000 and "left out" in change.text


def test_what_is_new_on_a_branch(forked: World) -> None:
    facts = forked.facts
    main, tip = (git(forked.repo, "rev-parse", name) for name in ("main", "topic"))
    fresh = new_commits(facts, tip, (main,), 10)
    assert [change.title for change in commit_changes(forked.private, facts, fresh)] == ["One", "Two"]
    assert new_commits(facts, tip, (main,), 1) == [tip]
    assert new_commits(facts, tip, (main, tip), 10) == []
    assert new_commits(facts, tip, (main, "1" * 40), 10) == fresh  # a tip that was rewritten and is gone
    assert recent_commits(facts, 1) == [(tip, "Two")]
    assert branch_with(facts, fresh[0]) == "topic" and branch_with(facts, main, "main") == "main"


def test_an_amended_commit_is_not_held(world: World) -> None:
    old = commit(world.repo, {"a.py": b"1\n"}, "First try")
    git(world.repo, "commit", "-q", "--amend", "-m", "Second try")
    new = git(world.repo, "rev-parse", "HEAD")
    git(world.repo, "checkout", "-q", "--detach")
    loose = commit(world.repo, {"b.py": b"1\n"}, "On no branch, but checked out")
    assert held_commits(world.facts, [old, new, loose, "2" * 40]) == [new, loose]


def test_lines_and_paths_are_counted_for_many_pairs(world: World) -> None:
    files = {"src/util.py": b"LIMIT = 11\nMORE = 1\n", "odd\nname\t.txt": b"1\n", "raw.bin": b"\0\1"}
    commit(world.repo, files)
    git(world.repo, "mv", "src/app.py", "src/renamed.py")
    git(world.repo, "commit", "-q", "-m", "Rename")
    trees = [git(world.repo, "rev-parse", f"HEAD~{back}^{{tree}}") for back in (2, 1, 0)]
    pairs = [(trees[0], trees[1]), (trees[1], trees[1]), (trees[1], trees[2])]
    first, same, renamed = (world.private.count_lines(pairs)[pair] for pair in pairs)
    assert (first.added, first.removed) == (3, 1)
    assert first.paths == ["odd\nname\t.txt", "raw.bin", "src/util.py"]
    assert (same.added, same.removed, same.paths) == (0, 0, [])
    assert (renamed.added, renamed.removed, renamed.paths) == (0, 0, ["src/renamed.py"])
