"""Landed commits that were reverted later, looked for in real repositories."""

from __future__ import annotations

from pathlib import Path

from navigator.git.facts import read_facts
from navigator.git.reverts import LandedAs, Seen, look_for_reverts
from tests.git.world import commit, git

SINCE = "2001-01-01T00:00:00Z"


def look(repo: Path, *landed: str, most: int = 5_000, known_as: str = "") -> dict[str, Seen]:
    wanted = [LandedAs(name, known_as) for name in landed]
    seen, whole = look_for_reverts(
        read_facts(repo).git(), git(repo, "rev-parse", "main"), wanted, since=SINCE, most=most
    )
    assert whole or most < 5_000
    return seen


def test_a_revert_is_known_by_the_name_in_its_message(repo: Path) -> None:
    landed = commit(repo, {"src/app.py": b"def one():\n    return 7\n"})
    other = commit(repo, {"src/util.py": b"LIMIT = 11\n"})
    commit(repo, {"src/new.py": b"pass\n"})
    git(repo, "revert", "--no-edit", landed)
    revert = git(repo, "rev-parse", "HEAD")
    assert look(repo, landed, other) == {landed: Seen(landed, revert), other: Seen(other)}


def test_a_revert_with_a_short_name_counts_and_a_quoted_one_does_not(repo: Path) -> None:
    landed = commit(repo, {"src/util.py": b"LIMIT = 11\n"})
    quoted = commit(repo, {"docs/guide.txt": b"third\n"}, f"Explain\n\n> This reverts commit {landed}.\n")
    assert look(repo, landed) == {landed: Seen(landed)}
    said = f"Back\n\nThis reverts commit {landed[:9]}, in part."
    short = commit(repo, {"docs/guide.txt": b"fourth\n"}, said)
    assert look(repo, landed, quoted)[landed] == Seen(landed, short)


def test_a_reverted_merge_takes_back_what_it_had_brought(repo: Path) -> None:
    git(repo, "switch", "-q", "-c", "navigator/b1")
    first = commit(repo, {"src/new.py": b"one = 1\n"})
    second = commit(repo, {"src/more.py": b"two = 2\n"})
    git(repo, "switch", "-q", "main")
    kept = commit(repo, {"README.md": b"# other\n"})
    git(repo, "merge", "-q", "--no-ff", "-m", "Take it", "navigator/b1")
    git(repo, "revert", "--no-edit", "-m", "1", "HEAD")
    revert = git(repo, "rev-parse", "HEAD")
    both = {each: Seen(each, revert) for each in (first, second)}
    assert look(repo, first, second, kept) == {**both, kept: Seen(kept)}


def test_a_change_is_found_again_after_a_rebase(repo: Path) -> None:
    git(repo, "switch", "-q", "-c", "navigator/b1")
    landed = commit(repo, {"src/new.py": b"one = 1\n"})
    git(repo, "switch", "-q", "main")
    commit(repo, {"README.md": b"# other\n"})
    assert look(repo, landed) == {}
    git(repo, "cherry-pick", landed)
    twin = git(repo, "rev-parse", "HEAD")
    assert look(repo, landed) == {landed: Seen(twin)}
    git(repo, "revert", "--no-edit", "HEAD")
    revert = git(repo, "rev-parse", "HEAD")
    assert look(repo, landed) == {landed: Seen(twin, revert)}
    git(repo, "branch", "-q", "-D", "navigator/b1")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    assert look(repo, landed) == {}
    assert look(repo, landed, known_as=twin) == {landed: Seen(twin, revert)}


def test_names_of_files_are_taken_as_they_are(repo: Path) -> None:
    strange = "\x01" + "c" * 40 + " a\tb\n é.txt"
    git(repo, "switch", "-q", "-c", "navigator/b1")
    landed = commit(repo, {strange: b"1\n", "--all": b"x\n", ":(top)": b"y\n"})
    git(repo, "switch", "-q", "main")
    commit(repo, {"README.md": b"# other\n"})
    git(repo, "cherry-pick", landed)
    assert look(repo, landed) == {landed: Seen(git(repo, "rev-parse", "HEAD"))}


def test_a_history_that_is_too_long_is_said(repo: Path) -> None:
    landed = commit(repo, {"src/util.py": b"LIMIT = 11\n"})
    git(repo, "revert", "--no-edit", landed)
    for number in range(3):
        commit(repo, {"README.md": f"{number}\n".encode()})
    facts = read_facts(repo)
    seen, whole = look_for_reverts(facts.git(), facts.head_commit, [LandedAs(landed)], since=SINCE, most=3)
    assert (seen, whole) == ({landed: Seen(landed)}, False)
    assert look(repo, landed)[landed].reverted_by
