"""`navigator forget`: what Navigator made goes, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.git.world import fingerprint
from tests.journey.landing_bench import LandingBench
from tests.journey.support import differences, git


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LandingBench:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return LandingBench(tmp_path, monkeypatch, landing="branch", proposals=2)


def forgotten(bench: LandingBench, *words: str) -> list[dict[str, Any]]:
    return list(bench.desk.json("forget", "--yes", *words)["forgotten"])


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


def test_a_branch_goes_once_it_is_merged(bench: LandingBench) -> None:
    bench.approve(bench.waiting[0])
    git(bench.repository, "branch", "navigator/mine")
    day, mine = (row for row in forgotten(bench, "--keep", "state") if row["kind"] == "branches")
    assert day["place"].endswith("navigator/2026-01-01") and "not merged" in day["reason"]
    assert mine["place"].endswith("navigator/mine") and "not one that Navigator landed" in mine["reason"]
    bench.desk.config.write_text('[swap]\nstrategy = "rehearsal"\n')
    bench.desk.run("merge", "--yes")
    day, mine = (row for row in forgotten(bench) if row["kind"] == "branches")
    assert day["removed"] and not mine["removed"]
    assert (
        git(bench.repository, "branch", "--list", "--format=%(refname:short)", "navigator/*")
        == "navigator/mine"
    )


def test_what_is_not_merged_goes_where_that_is_asked_for(bench: LandingBench) -> None:
    bench.approve(bench.waiting[0])
    git(bench.repository, "branch", "navigator/mine")
    day, mine = (row for row in forgotten(bench, "--unmerged") if row["kind"] == "branches")
    assert day["removed"] and not mine["removed"]


def test_what_is_not_navigators_stays(bench: LandingBench) -> None:
    mine = bench.desk.root / "notes.txt"
    mine.write_text("mine")
    rows = forgotten(bench)
    assert [row["place"] for row in rows if not row["removed"]] == [str(mine)]
    assert [path.name for path in bench.desk.root.iterdir()] == ["notes.txt"]


def test_the_cached_flags_of_sglang_go_and_a_repository_that_is_gone_is_named(
    bench: LandingBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ours, other = (tmp_path / "cache/navigator" / name for name in ("sglang-0.5.23-ab.json", "other.json"))
    ours.parent.mkdir(parents=True)
    ours.write_text("{}")
    other.write_text("{}")
    bench.repository.rename(tmp_path / "moved")
    rows = {row["kind"]: row for row in forgotten(bench, "--keep", "state")}
    assert rows["cache"]["removed"] and not ours.exists() and other.exists()
    assert "does not exist" in rows["hooks"]["reason"] and not rows["hooks"]["removed"]


def test_what_is_to_be_kept_stays(bench: LandingBench) -> None:
    rows = forgotten(bench, "--keep", "state", "--keep", "settings")
    assert rows == [] and bench.desk.config.exists() and bench.desk.paths.database.exists()


def test_without_a_terminal_and_without_yes_nothing_happens(bench: LandingBench) -> None:
    done = bench.desk.run("forget", codes=(2,))
    assert b"nothing was done" in done.stderr and b"navigator.db" in done.stdout
    assert bench.desk.paths.database.exists()


def test_where_nothing_was_made_there_is_nothing_to_remove(bench: LandingBench) -> None:
    forgotten(bench)
    assert not bench.desk.root.exists(), list(bench.desk.root.iterdir())
    assert json.loads(bench.desk.run("forget", "--json").stdout) == {"forgotten": []}
