"""A lock is taken away only where the journal's plan, the file and the processes that live all agree that it was left."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from navigator.git import private_layout as ref_locks
from navigator.git.private_layout import clear_private_locks
from navigator.landing.plan import LandingPlan, clear_plan_locks

OURS = "a" * 40


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ref_locks, "_SETTLED", 0.1)
    monkeypatch.setattr(ref_locks, "_POLL", 0.01)


@pytest.fixture
def plan(tmp_path: Path) -> LandingPlan:
    (tmp_path / "refs/heads/navigator").mkdir(parents=True)
    here = dict.fromkeys(("path", "git_dir", "common_dir", "private"), str(tmp_path))
    commits = {"commit": OURS, "parent": "b" * 40, "tree": "c" * 40}
    names = {"mode": "branch", "proposal": "P1", "ref": "refs/heads/navigator/b"}
    none = {"work_tree": "", "old": "", "transplanted": False, "paths": ()}
    return LandingPlan(**here, **commits, **names, **none, committer=("A", "a@example.invalid"))


def lock_of(plan: LandingPlan, content: str = "", name: str = "refs/heads/navigator/b.lock") -> Path:
    path = Path(plan.common_dir) / name
    path.write_text(content)
    return path


@pytest.mark.parametrize("content", [f"{OURS}\n", OURS, ""])
def test_what_the_plan_left_goes(plan: LandingPlan, content: str) -> None:
    path = lock_of(plan, content)
    head = lock_of(plan, name="HEAD.lock")
    assert clear_plan_locks(plan, since=time.time()) == [path, head]
    assert not path.exists()


@pytest.mark.parametrize("content", ["d" * 40 + "\n", OURS[:20], ""])
def test_what_somebody_else_wrote_or_is_older_than_the_plan_stays(plan: LandingPlan, content: str) -> None:
    path = lock_of(plan, content)
    assert clear_plan_locks(plan, since=time.time() + 60) == []
    assert path.read_text() == content


def test_a_lock_that_a_living_process_has_open_stays(plan: LandingPlan) -> None:
    path = lock_of(plan)
    with path.open("ab"):
        assert clear_plan_locks(plan) == []
    assert path.exists()
    assert clear_plan_locks(plan) == [path]


def test_other_locks_are_none_of_the_plans_and_packed_references_only_of_a_deletion(
    plan: LandingPlan,
) -> None:
    others = [lock_of(plan, name=name) for name in ("index.lock", "packed-refs.lock", "refs/heads/main.lock")]
    assert clear_plan_locks(plan) == []
    assert all(path.exists() for path in others)
    assert clear_plan_locks(replace(plan, old=OURS, commit="")) == [others[1]]


def test_only_navigator_works_in_a_private_repository(plan: LandingPlan) -> None:
    left = {lock_of(plan, "anything", name) for name in ("shallow.lock", "refs/heads/x.lock")}
    assert set(clear_private_locks(Path(plan.common_dir))) == left
