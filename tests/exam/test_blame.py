"""Which commit a fix leads to: on real repositories, through renames, moves and mechanical commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.exam.backtest import neighbour
from navigator.exam.blame import Blame, Blamed, brought_by, mechanical, repairs
from navigator.exam.history import Commit, Counted, read_history
from tests.git.world import World, commit, fingerprint, git, make_repo

BODY = "".join(
    f"def part_{n}(x):\n    value = x * {n} + {n * 7}\n    return value - {n}\n\n\n" for n in range(60)
)
TOTAL = """

def total(items):
    \"\"\"The sum.\"\"\"
    result = 0
    for item in items:
        result = result + item.price
    return result
"""


WHOLE = BODY + TOTAL


@pytest.fixture
def world(tmp_path: Path) -> World:
    repo = make_repo(tmp_path / "repo", {"app.py": BODY.encode(), "README.md": b"# it\n"})
    return World(repo, tmp_path / "state")


def blamed(world: World) -> Blamed:
    """What the newest fix leads to; the repository stays as it is."""
    before = fingerprint(world.repo)
    head = git(world.repo, "rev-parse", "HEAD")
    commits = read_history(world.facts, head, 100)
    private = world.private
    found = Blame(private, commits, brought_by(private, head)).of(repairs(commits)[0])
    assert fingerprint(world.repo) == before
    return found


def change(world: World, subject: str, text: str = WHOLE, **lines: str) -> str:
    """Commit the file, with `item_price` and the like in place of what stands there."""
    for name, line in lines.items():
        assert NAMED[name] in text
        text = text.replace(NAMED[name], line)
    return commit(world.repo, {"app.py": text.encode()}, subject)


NAMED = {"price": "item.price", "zero": "result = 0", "doc": '"""The sum."""', "end": "    return result\n"}


def test_through_a_rename_a_move_and_a_reformat_to_where_the_line_was_written(world: World) -> None:
    bug = change(world, "Add total()")
    moved = commit(world.repo, {"app.py": None, "core.py": WHOLE.encode()}, "Call it core")
    added = "result = result + item.price"
    spread = WHOLE.replace(" * ", "*").replace(added, "result  =  result+item.price")
    commit(world.repo, {"core.py": spread.encode()}, "Reformat with black")
    right = spread.replace("result  =  result+item.price", "result += item.price * item.count")
    commit(world.repo, {"core.py": right.encode()}, "Fix wrong total of several")
    found = blamed(world)
    line = WHOLE.splitlines().index(f"        {added}") + 1
    assert (found.commit, found.share, found.places) == (bug, 1.0, (("app.py", line),))
    assert moved not in found.suspects


def test_what_is_pinned_in_the_private_repository_does_not_end_the_search(world: World) -> None:
    bug = change(world, "Add total()")
    later = commit(world.repo, {"README.md": b"# more\n"}, "Say more")
    world.private.pin_bases((later,))
    change(world, "Fix the sum of nothing, a bug", zero="result = 0.0")
    assert blamed(world).commit == bug


@pytest.mark.parametrize(
    "becomes",
    [
        {"end": "    return result\n    # never here\n"},
        {"doc": '"""The sum of all."""'},
        {"zero": "result = 0\n    if not items:\n        return 0"},
    ],
)
def test_a_fix_that_changes_no_line_of_code_leads_nowhere(world: World, becomes: dict[str, str]) -> None:
    change(world, "Add total()")
    change(world, "Fix a crash", **becomes)
    found = blamed(world)
    assert found.commit is None and "only adds lines" in found.why


def test_a_fix_of_its_own_branch_is_no_bug_that_was_shipped(world: World) -> None:
    git(world.repo, "checkout", "-q", "-b", "side")
    bug = change(world, "Add total()")
    change(world, "Fix wrong price", price="item.cost")
    git(world.repo, "checkout", "-q", "main")
    commit(world.repo, {"README.md": b"# x\n"}, "Say x")
    git(world.repo, "merge", "-q", "--no-ff", "-m", "Merge side", "side")
    found = blamed(world)
    assert found.commit is None and "its own branch" in found.why and found.suspects == {bug}


def test_lines_of_several_commits_are_left_out_unless_one_wrote_most(world: World) -> None:
    change(world, "Add total()")
    second = WHOLE.replace("value = x * 3 + 21", "value = x * 3 + 22")
    change(world, "Change part 3", second)
    fixed = second.replace("value = x * 3 + 22", "value = x * 3 + 23").replace(
        "result + item.price", "result + item.cost"
    )
    change(world, "Fix two bugs", fixed)
    found = blamed(world)
    assert (found.share, len(found.suspects), found.commit) == (0.5, 2, None)
    third = fixed.replace("value = x * 5 + 35", "value = x * 5 + 36")
    change(world, "Change part 5", third)
    for was, becomes in ("+ 36\n", "+ 37\n"), ("+ 23\n", "+ 24\n"), ("x * 9 + 63", "x * 9 + 64"):
        third = third.replace(was, becomes)
    change(world, "Fix three bugs", third)
    assert blamed(world).why == "its lines are of several commits"


def one(
    sha: str, subject: str, lines: int = 10, *, author: str = "a@x", when: int = 0, files: int = 1
) -> Commit:
    counted = tuple(Counted(f"f{n}.py", lines, 0) for n in range(files))
    return Commit(sha, "p", subject, "", counted, author, when)


@pytest.mark.parametrize(
    ("subject", "fix"),
    [
        ("Fix crash on empty input", True),
        ("fix(parser): wrong offset", True),
        ("Bug: rounding", True),
        ("Fix typo", False),
        ("Fix flaky test", False),
        ("docs: fix example", False),
        ("feat: fixed-size arrays", False),
        ("Add a prefix", False),
        ("Merge fix of x", False),
    ],
)
def test_a_fix_is_told_by_its_subject(subject: str, fix: bool) -> None:
    assert bool(repairs([one("s", subject)])) is fix


def test_old_and_large_fixes_are_left_out() -> None:
    assert repairs([one("s", "Fix it", 201)]) == []
    assert mechanical([one("m", "Run black", 200), one("n", "Run black", 3)]) == ["m"]


def test_the_neighbour_is_by_the_same_author_of_like_size_and_had_time_to_be_found_out() -> None:
    day = 86_400
    bug, fix = one("bug", "Add", 20, when=300 * day), one("fix", "Fix", when=400 * day)
    commits = [
        one("new", "Add", 20, when=990 * day),
        one("large", "Add", 90, when=301 * day),
        one("guilty", "Add", 20, when=301 * day),
        one("other", "Add", 20, when=302 * day, author="b@x"),
        one("far", "Add", 30, when=800 * day),
        one("near", "Add", 11, when=500 * day),
        one("head", "Add", 20, when=1000 * day),
    ]
    found = neighbour(bug, fix, commits, {"guilty", "bug", "fix"})
    assert found is not None and found.sha == "near"
    alone = neighbour(bug, fix, [c for c in commits if c.sha not in ("near", "far")], {"guilty"})
    assert alone is not None and alone.sha == "other"


def test_the_part_of_a_line_that_the_fix_changed_is_asked_about_not_the_line(world: World) -> None:
    bug = change(world, "Add total()")
    touched = change(world, "Say what the price is in", price="item.price  # euros")
    change(world, "Fix wrong total", price="item.cost  # euros")
    found = blamed(world)
    assert found.commit == bug and touched not in found.suspects


@pytest.mark.parametrize("right", [True, False])
def test_the_author_of_the_fix_may_name_the_commit(world: World, right: bool) -> None:
    bug = change(world, "Add total()")
    other = commit(world.repo, {"README.md": b"# more\n"}, "Say more")
    said = f"Fix wrong total\n\nFixes: {(bug if right else other)[:12]}\n"
    change(world, said, price="item.cost")
    found = blamed(world)
    assert (found.commit, found.why) == ((bug, "") if right else (None, "its message names another commit"))


def test_what_came_back_with_a_revert_and_what_a_fix_adds_beside_a_line_lead_nowhere(world: World) -> None:
    change(world, 'Revert "Remove total()"')
    change(world, "Fix wrong total", price="item.cost")
    assert "revert" in blamed(world).why
    more = "".join(f"\n        step_{n}(item)" for n in range(20))
    change(world, "Fix missing steps", price=f"item.sum{more}")
    assert "nearly" in blamed(world).why


def test_in_a_shallow_clone_the_search_ends_where_its_history_does(world: World, tmp_path: Path) -> None:
    change(world, "Add total()")
    commit(world.repo, {"README.md": b"# more\n"}, "Say more")
    change(world, "Fix wrong total", price="item.cost")
    git(tmp_path, "clone", "-q", "--depth", "2", world.repo.as_uri(), "shallow")
    found = blamed(World(tmp_path / "shallow", tmp_path / "other"))
    assert found.commit is None and "older" in found.why
