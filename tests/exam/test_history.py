"""The history that items are made from, and taking a commit back: on real repositories, which stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.exam.history import (
    Commit,
    Rejected,
    commit_of,
    is_code,
    named_faulty,
    read_history,
    taken_back,
    why_withheld,
)
from tests.git.world import World, commit, fingerprint, git, make_repo

NUMBERS = "".join(f"n{number} = {number}\n" for number in range(40))


def changed(text: str, **lines: str) -> bytes:
    for name, line in lines.items():
        text = text.replace(f"{name} = {name[1:]}\n", line)
    return text.encode()


@pytest.fixture
def world(tmp_path: Path) -> World:
    repo = make_repo(tmp_path / "repo", {"app.py": NUMBERS.encode(), "README.md": b"# it\n"})
    return World(repo, tmp_path / "state")


def newest(world: World, limit: int = 50) -> list[Commit]:
    return read_history(world.facts, git(world.repo, "rev-parse", "HEAD"), limit)


def test_commits_come_newest_first_with_their_sizes_and_without_merges_and_roots(world: World) -> None:
    repo = world.repo
    one = commit(repo, {"app.py": changed(NUMBERS, n3="n3 = 33\n"), "tests/test_app.py": b"x\n"}, "Fix n3")
    git(repo, "checkout", "-q", "-b", "side", one)
    two = commit(repo, {"side.py": b"a\nb\n"}, "Add side\n\nIt is needed.\n\nSigned-off-by: A <a@b>\n")
    git(repo, "checkout", "-q", "main")
    commit(repo, {"blob.bin": b"\0\1"}, "Add a blob")
    git(repo, "merge", "-q", "--no-ff", "-m", "Merge side", "side")
    before = fingerprint(repo)
    found = newest(world)
    assert {c.subject for c in found} == {"Add a blob", "Add side", "Fix n3"} and found[-1].sha == one
    by = {c.subject: c for c in found}
    assert (by["Fix n3"].sha, by["Add side"].sha, by["Add side"].parent) == (one, two, one)
    assert [(f.path, f.added, f.removed) for f in by["Fix n3"].files] == [
        ("app.py", 1, 1),
        ("tests/test_app.py", 1, 0),
    ]
    assert by["Fix n3"].fixes and by["Fix n3"].tested and by["Fix n3"].code_lines == 2
    assert by["Add side"].body.startswith("It is needed.") and not by["Add side"].fixes
    assert by["Add a blob"].lines == 0 and by["Add a blob"].code == ()
    assert len(newest(world, limit=1)) == 1
    assert fingerprint(repo) == before


def test_hostile_names_and_messages_are_read_as_they_are(world: World) -> None:
    strange = "a\tb\nc.py"
    commit(world.repo, {strange: b"x = 1\n"}, "Fix \x1b[31m\x01 it\n\n10\t3\tapp.py\n")
    (found,) = newest(world)
    assert [file.path for file in found.files] == [strange]
    assert "\x1b" not in found.subject and found.subject.startswith("Fix")
    assert "app.py" in found.body


def test_what_counts_as_code() -> None:
    assert all(map(is_code, ("src/app.py", "web/a.tsx", "cmd/x.go")))
    others = ("tests/test_app.py", "src/app_test.go", "docs/conf.py", "README.md", "examples/a.js")
    assert not any(map(is_code, others))


def test_a_fix_is_taken_back_and_later_work_beside_it_stays(world: World) -> None:
    fixed = changed(NUMBERS, n3="n3 = 33\n")
    commit(world.repo, {"app.py": fixed, "test_app.py": b"t\n", "README.md": b"# fixed\n"}, "Fix n3")
    commit(world.repo, {"app.py": changed(fixed.decode(), n30="n30 = 300\n")}, "Enlarge n30")
    before = fingerprint(world.repo)
    head = git(world.repo, "rev-parse", "HEAD")
    world.private.pin_base(head)
    tree = taken_back(world.private, newest(world)[1], head)
    entries = world.private.tree_entries(tree)
    assert world.private.read_blob(entries["app.py"].sha) == changed(NUMBERS, n30="n30 = 300\n")
    # Tests and documents stay as they are today: they are what proves the fault.
    assert [change.path for change in world.private.raw_diff(head, tree)] == ["app.py"]
    assert fingerprint(world.repo) == before


def test_a_fix_under_later_work_or_that_added_a_file_is_left_alone(world: World) -> None:
    def left_alone(number: int, why: str) -> None:
        with pytest.raises(Rejected, match=why):
            taken_back(world.private, newest(world)[number], git(world.repo, "rev-parse", "HEAD"))

    fixed = changed(NUMBERS, n3="n3 = 33\n")
    commit(world.repo, {"app.py": fixed}, "Fix n3")
    commit(world.repo, {"app.py": fixed.replace(b"n3 = 33", b"n3 = 34")}, "Again")
    left_alone(1, "same lines")
    commit(world.repo, {"app.py": NUMBERS.encode()}, "Take it back")
    left_alone(2, "same lines|already")
    commit(world.repo, {"new.py": b"x = 1\n"}, "Fix by a new file")
    left_alone(0, "added, moved or removed")


def test_a_package_that_moved_is_followed_where_the_place_is_plain(world: World) -> None:
    fixed = changed(NUMBERS, n3="n3 = 33\n")
    commit(world.repo, {"app.py": fixed}, "Fix n3")
    (world.repo / "src").mkdir()
    git(world.repo, "mv", "app.py", "src/app.py")
    head = commit(world.repo, {}, "Move")
    tree = taken_back(world.private, newest(world)[1], head)
    assert world.private.read_blob(world.private.tree_entries(tree)["src/app.py"].sha) == NUMBERS.encode()
    head = commit(world.repo, {"lib/app.py": b"other\n"}, "A second one")
    with pytest.raises(Rejected, match="moved"):
        taken_back(world.private, newest(world)[2], head)


def test_the_commit_of_a_tree_is_the_same_each_time_and_stays(world: World) -> None:
    head = git(world.repo, "rev-parse", "HEAD")
    tree = world.private.tree_of(head)
    made = commit_of(world.private, tree)
    assert made == commit_of(world.private, tree) != head
    assert world.private.tree_of(made) == tree
    world.private.keep("exam-1", tree, made)
    world.private.collect()
    assert world.private.tree_of(made) == tree and world.private.diff(made, tree) == []


def test_commits_that_later_ones_name_as_wrong_are_known(world: World) -> None:
    one = commit(world.repo, {"a.py": b"1\n"}, "Add a")
    two = commit(world.repo, {"b.py": b"1\n"}, "Add b")
    three = commit(world.repo, {"c.py": b"1\n"}, "Add c")
    commit(world.repo, {"d.py": b"1\n"}, f"Repair a\n\nFixes: {one[:12]} (it was wrong)")
    commit(world.repo, {"b.py": None}, f'Revert "Add b"\n\nThis reverts commit {two}.')
    commit(world.repo, {"e.py": b"1\n"}, "Mention deadbeef")
    assert named_faulty(newest(world)) == {one, two} and three not in named_faulty(newest(world))


KEY = "ghp_" + "aZ3bY4cX5dW6eV7fU8gT9hS0iR1jQ2kP3lO4"


def test_changes_of_withheld_files_and_of_secrets_are_never_items(world: World) -> None:
    head = git(world.repo, "rev-parse", "HEAD")

    def why(files: dict[str, bytes], words: str = "Add it") -> str:
        proposal = world.propose(dict(files))
        return why_withheld(world.private, world.project, head, proposal.tree, words)

    assert why({"app.py": b"x = 1\n"}) == ""
    assert "no model is shown" in why({"app.py": b"x = 1\n", ".env": b"A=1\n"})
    assert "secret" in why({"app.py": f'token = "{KEY}"\n'.encode()})
    assert "message" in why({"app.py": b"x = 1\n"}, f"Use {KEY}")
