"""`navigator forget`: what Navigator made goes, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import at
from tests.git.world import fingerprint
from tests.journey.landing_bench import LandingBench
from tests.journey.support import differences, git


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LandingBench:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return LandingBench(tmp_path, monkeypatch, landing="branch", proposals=2)


def forgotten(bench: LandingBench, *words: str) -> list[dict[str, Any]]:
    return list(at(bench).json("forget", "--yes", *words)["forgotten"])


def test_everything_goes_and_the_repository_is_as_before(bench: LandingBench) -> None:
    before = fingerprint(bench.repository)
    bench.act("hook", project="code")
    rows = forgotten(bench)
    assert {row["kind"] for row in rows} == {"hooks", "settings", "state"}
    assert all(row["removed"] for row in rows)
    assert not bench.desk.root.exists() and not bench.desk.config.exists()
    # Only the times of these folders are others: a hook was there.
    assert set(differences(before, fingerprint(bench.repository))) <= {".git", ".git/hooks"}
    assert not (bench.repository / ".git/hooks/post-commit").exists()
    assert at(bench).json("forget") == {"forgotten": []}


def test_a_branch_goes_once_it_is_merged(bench: LandingBench) -> None:
    bench.approve(bench.waiting[0])
    git(bench.repository, "branch", "navigator/mine")
    day, mine = (row for row in forgotten(bench, "--keep", "state") if row["kind"] == "branches")
    assert day["place"].endswith("navigator/2026-01-01") and "not merged" in day["reason"]
    assert mine["place"].endswith("navigator/mine") and "not one that Navigator landed" in mine["reason"]
    bench.desk.config.write_text('[swap]\nstrategy = "rehearsal"\n')
    at(bench).run("merge", "--yes")
    day, mine = (row for row in forgotten(bench) if row["kind"] == "branches")
    assert day["removed"] and not mine["removed"]
    left = git(bench.repository, "branch", "--list", "--format=%(refname:short)", "navigator/*")
    assert left == "navigator/mine"


def test_a_repository_that_is_gone_is_named(bench: LandingBench, tmp_path: Path) -> None:
    bench.repository.rename(tmp_path / "moved")
    rows = {row["kind"]: row for row in forgotten(bench, "--keep", "state")}
    assert "does not exist" in rows["hooks"]["reason"] and not rows["hooks"]["removed"]


def test_what_is_not_to_go_stays(bench: LandingBench) -> None:
    """Not without --yes, not what is to be kept, not what is not Navigator's."""
    done = at(bench).run("forget", code=2)
    assert "nothing was done" in done.stderr and "navigator.db" in done.stdout
    assert forgotten(bench, "--keep", "state", "--keep", "settings") == []
    assert bench.desk.config.exists() and bench.desk.paths.database.exists()
    mine = bench.desk.root / "notes.txt"
    mine.write_text("mine")
    rows = forgotten(bench)
    assert [row["place"] for row in rows if not row["removed"]] == [str(mine)]
    assert [path.name for path in bench.desk.root.iterdir()] == ["notes.txt"]
