"""`navigator merge`: what landed on Navigator's branches reaches the user's branch, or all stays as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import at
from tests.journey.landing_bench import AFTER, LandingBench
from tests.journey.support import git


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LandingBench:
    made = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=2)
    assert [made.approve(one)["landing"] for one in made.waiting] == ["landed", "landed"]
    return made


def merged(bench: LandingBench, *, code: int = 0) -> list[dict[str, Any]]:
    return list(at(bench).json("merge", "code", "--yes", code=code)["merges"])


def test_a_branch_is_moved_forward_and_then_nothing_waits(bench: LandingBench) -> None:
    before = git(bench.repository, "rev-parse", "HEAD")
    assert "nothing was done" in at(bench).run("merge", code=2).stderr
    assert git(bench.repository, "rev-parse", "HEAD") == before
    (row,) = merged(bench)
    assert row["commit"] == git(bench.repository, "rev-parse", "HEAD")
    assert row["commit"] == git(bench.repository, "rev-parse", row["branch"])
    assert (bench.repository / "d0/f.txt").read_bytes() == AFTER
    assert git(bench.repository, "status", "--porcelain") == ""
    assert merged(bench) == []
    assert "Nothing waits to be merged." in at(bench).run("merge").stdout


def test_where_the_branch_moved_on_there_is_a_merge_commit(bench: LandingBench) -> None:
    (bench.repository / "README.md").write_text("# More\n")
    git(bench.repository, "commit", "-qam", "More")
    (row,) = merged(bench)
    parents = git(bench.repository, "rev-list", "--parents", "-1", "HEAD").split()
    assert parents[0] == row["commit"] and len(parents) == 3
    assert git(bench.repository, "log", "-1", "--format=%s").startswith("Merge navigator/")


def test_what_stops_it_leaves_everything_as_it_was(bench: LandingBench) -> None:
    (bench.repository / "README.md").write_text("# Mine\n")
    (row,) = merged(bench, code=1)
    assert "changes that are not committed" in row["reason"]
    assert (bench.repository / "README.md").read_text() == "# Mine\n"
    (bench.repository / "d0/f.txt").write_text("one\nother\nthree\n")
    git(bench.repository, "commit", "-qam", "Other")
    before = git(bench.repository, "rev-parse", "HEAD")
    (row,) = merged(bench, code=1)  # a conflict: the command is said
    assert row["commit"] == "" and f"git -C {bench.repository} merge {row['branch']}" in row["reason"]
    assert git(bench.repository, "rev-parse", "HEAD") == before
    assert git(bench.repository, "status", "--porcelain") == ""
    assert not (bench.repository / ".git/MERGE_HEAD").exists()


def test_a_branch_that_somebody_else_named_so_is_not_touched(bench: LandingBench) -> None:
    git(bench.repository, "branch", "navigator/mine")
    git(bench.repository, "checkout", "-q", "navigator/mine")
    (bench.repository / "README.md").write_text("# Mine\n")
    git(bench.repository, "commit", "-qam", "Mine")
    git(bench.repository, "checkout", "-q", "-")
    assert "navigator/mine" not in json.dumps(merged(bench))


def test_what_lands_after_the_merge_goes_on_from_there_on_the_branch_of_the_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=2)
    first, second = bench.waiting
    bench.approve(first)
    merged(bench)
    (bench.repository / "README.md").write_text("# More\n")
    git(bench.repository, "commit", "-qam", "More")
    assert bench.approve(second)["landing"] == "landed"
    assert git(bench.repository, "branch", "--list", "--format=%(refname:short)", "navigator/*") == (
        "navigator/2026-01-01"
    )
    assert git(bench.repository, "log", "-2", "--format=%s", "navigator/2026-01-01").endswith("More")
    assert git(bench.repository, "rev-parse", "navigator/2026-01-01^") == git(
        bench.repository, "rev-parse", "HEAD"
    )
    bench.undo(second)
    assert bench.landed(second) == 0
