"""What became of landed commits, from real landings to the statistics."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from navigator.actions.registry import perform
from navigator.engine import reconcile
from navigator.engine.reconcile import RevertWatch
from navigator.journey.recovery import Storage
from tests.git.world import fingerprint
from tests.journey.landing_bench import LandingBench
from tests.journey.support import differences, git, make_repository


def fates(bench: LandingBench) -> dict[str, str]:
    """The fate by proposal, after a look that left the repository as it was."""
    before = fingerprint(bench.repository) if bench.repository.exists() else {}
    bench.act("reverts.look")
    if before:
        assert differences(before, fingerprint(bench.repository)) == []
    return stored(bench)


def landed_page(bench: LandingBench) -> Any:
    return json.loads(bench.desk.read("stats", "outcomes", "--json"))["landed"]


def stored(bench: LandingBench) -> dict[str, str]:
    with bench.desk.reading() as store:
        rows = store.export_rows("fates")
        return {f"P{row['proposal_id']}": row["fate"] for row in rows}


def test_commits_on_the_current_branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="current", proposals=4)
    kept, reverted, undone, waiting = bench.waiting
    landed = {identifier: bench.approve(identifier)["commit"] for identifier in (kept, reverted, undone)}
    bench.undo(undone)
    git(bench.repository, "revert", "--no-edit", landed[reverted])
    assert fates(bench) == {kept: "kept", reverted: "reverted"}
    assert waiting not in landed
    found = landed_page(bench)
    reverted = found["rows"][0]["reverted"]
    assert (reverted["k"], reverted["n"]) == (2, 3)
    # The one that was reverted is not looked for again; the other one is, from its last look on.
    assert bench.act("reverts.look")["told"][0]["text"].startswith("1 landed commit checked")
    git(bench.repository, "revert", "--no-edit", landed[kept])
    assert "3 of 3" in bench.desk.read("stats", "outcomes", "--look")
    assert stored(bench)[kept] == "reverted"
    assert bench.act("reverts.look")["told"] == []


def test_commits_on_another_branch_count_once_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=2)
    one, other = bench.waiting
    branch = bench.approve(one)["ref"].removeprefix("refs/heads/")
    bench.approve(other)
    assert fates(bench) == {one: "unknown", other: "unknown"}
    git(bench.repository, "merge", "--no-ff", "--quiet", "-m", "Take both", branch)
    assert fates(bench) == {one: "kept", other: "kept"}
    git(bench.repository, "revert", "--no-edit", "-m", "1", "HEAD")
    assert fates(bench) == {one: "reverted", other: "reverted"}


def test_another_repository_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="current", proposals=1)
    bench.approve(bench.waiting[0])
    shutil.move(bench.repository, tmp_path / "moved")
    assert fates(bench) == {bench.waiting[0]: "unknown"}
    make_repository(bench.repository, {"other.txt": b"another history\n"})
    assert fates(bench) == {bench.waiting[0]: "unknown"}
    found = landed_page(bench)
    assert (found["rows"], found["unknown"]) == ([], 1)


async def test_an_idle_conductor_looks_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await asyncio.to_thread(LandingBench, tmp_path, monkeypatch, landing="current", proposals=1)
    with bench.world() as world:
        await perform(world, "approve", {"proposals": [{"id": bench.waiting[0]}]})
        monkeypatch.setattr(reconcile, "_IDLE_PAUSE", 0.01)
        resting = False
        looks: list[bool] = []

        def at_rest() -> bool:
            looks.append(resting)
            return resting

        running = asyncio.create_task(RevertWatch(world, Storage(world, lambda reason: None), at_rest).run())
        while len(looks) < 3:
            await asyncio.sleep(0.01)
        assert stored(bench) == {}
        resting = True
        while not stored(bench):
            await asyncio.sleep(0.01)
        assert stored(bench) == {bench.waiting[0]: "kept"}
        seen, looked = len(looks), world.reader.meta(reconcile.REVERTS_LAST_CHECKED, str)
        while len(looks) < seen + 3:
            await asyncio.sleep(0.01)
        assert world.reader.meta(reconcile.REVERTS_LAST_CHECKED, str) == looked
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
