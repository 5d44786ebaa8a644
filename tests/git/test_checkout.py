"""Landing on the branch the developer stands on: files, index and reference together, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from navigator.git.private import FileChange
from navigator.git.runner import Git
from navigator.landing import checkout
from navigator.landing import land as landing
from navigator.landing.land import (
    LandingPlan,
    LandingRefused,
    RefMoved,
    execute_landing,
    inspect_landing,
    prepare_landing,
)
from navigator.landing.undo import prepare_undo
from tests.git.world import FILES, World, commit, fingerprint, git, undo_landing

CHANGES: dict[str, bytes | FileChange | None] = {
    "src/util.py": b"LIMIT = 11\n",
    "new/deep/x.py": b"x = 1\n",
    "docs/guide.txt": None,
    "run.sh": FileChange(b"#!/bin/sh\n", "100755"),
}


def plan_for(
    world: World, changes: dict[str, bytes | FileChange | None] | None = None, number: int = 1
) -> LandingPlan:
    proposal = world.propose(CHANGES if changes is None else changes, number)
    return prepare_landing(
        world.project, world.facts, world.private, proposal, "B1", "Change a thing", mode="current"
    )


def _is_new(world: World) -> bool:
    return (
        (world.repo / "src/util.py").read_bytes() == b"LIMIT = 11\n"
        and (world.repo / "new/deep/x.py").read_bytes() == b"x = 1\n"
        and not (world.repo / "docs").exists()
        and os.access(world.repo / "run.sh", os.X_OK)
    )


def _is_old(world: World) -> bool:
    return (
        all((world.repo / name).read_bytes() == content for name, content in FILES.items())
        and not (world.repo / "new").exists()
    )


def test_clean_checkout_takes_it_and_gives_it_back(world: World) -> None:
    (world.repo / "scratch.txt").write_bytes(b"mine\n")
    (world.repo / "README.md").write_bytes(b"# edited, not touched by the proposal\n")
    before = fingerprint(world.repo)
    plan = plan_for(world)
    assert fingerprint(world.repo) == before
    assert inspect_landing(plan) == "not_done"
    execute_landing(plan)
    assert _is_new(world) and inspect_landing(plan) == "done"
    assert git(world.repo, "rev-parse", "main", "HEAD").split() == [plan.commit] * 2
    assert sorted(git(world.repo, "status", "--porcelain").split()) == ["??", "M", "README.md", "scratch.txt"]
    assert not (world.repo / ".git" / "index.lock").exists()
    git(world.repo, "fsck", "--strict")
    assert "navigator: P1" in git(world.repo, "reflog", "-1")
    back = undo_landing(plan, world.facts, world.private)
    assert (back.kind, back.ref) == ("moved_back", "refs/heads/main")
    assert git(world.repo, "rev-parse", "HEAD") == plan.old
    assert sorted(git(world.repo, "status", "--porcelain").split()) == ["??", "M", "README.md", "scratch.txt"]
    assert (world.repo / "scratch.txt").read_bytes() == b"mine\n"


def test_transplanted_onto_a_moved_branch(world: World) -> None:
    base = world.facts.head_commit
    proposal = world.propose({"src/util.py": b"LIMIT = 11\n"}, 1, base)
    tip = commit(world.repo, {"more.txt": b"m\n"})
    plan = prepare_landing(world.project, world.facts, world.private, proposal, "B1", "x", mode="current")
    execute_landing(plan)
    assert plan.transplanted and plan.parent == tip
    assert git(world.repo, "status", "--porcelain") == ""


def _edit(world: World) -> None:
    (world.repo / "src/util.py").write_bytes(b"LIMIT = 10 \n")


def _stage(world: World) -> None:
    _edit(world)
    git(world.repo, "add", "-A")
    (world.repo / "src/util.py").write_bytes(FILES["src/util.py"])


def _untracked(world: World) -> None:
    (world.repo / "new" / "deep").mkdir(parents=True)
    (world.repo / "new" / "deep" / "x.py").write_bytes(b"mine\n")


def _symlinked_folder(world: World) -> None:
    outside = world.repo.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    (world.repo / "new").symlink_to(outside)


def _filtered(world: World) -> None:
    (world.repo / ".git" / "info").mkdir(exist_ok=True)
    (world.repo / ".git" / "info" / "attributes").write_text("*.py filter=lfs\n")


SPOILT: dict[str, Callable[[World], object]] = {
    "edited": _edit,
    "staged": _stage,
    "untracked": _untracked,
    "a folder is a link": _symlinked_folder,
    "of another mode": lambda world: (world.repo / "src/util.py").chmod(0o755),
    "locked": lambda world: (world.repo / ".git" / "index.lock").touch(),
    "assumed": lambda world: git(world.repo, "update-index", "--assume-unchanged", "src/util.py"),
    "detached": lambda world: git(world.repo, "checkout", "-q", "--detach"),
    "sparse": lambda world: git(world.repo, "sparse-checkout", "set", "--cone", "docs"),
}
SET: dict[str, Callable[[World], object]] = {
    "filtered": _filtered,
    "autocrlf": lambda world: git(world.repo, "config", "core.autocrlf", "true"),
    "merging": lambda world: (world.repo / ".git" / "MERGE_HEAD").write_text(world.facts.head_commit + "\n"),
}
"""What git is set to do is read with the plan."""


@pytest.mark.parametrize("how", [*SPOILT, *SET])
def test_whatever_is_in_the_way_is_refused_and_nothing_changes(world: World, how: str) -> None:
    """When the landing is decided, and when it is carried out."""
    plan = plan_for(world)
    (SPOILT | SET)[how](world)
    before = fingerprint(world.repo)
    with pytest.raises(LandingRefused) as refusal:
        plan_for(world, number=2)
    assert refusal.value.hint
    assert fingerprint(world.repo) == before
    if how in SPOILT:
        with pytest.raises(LandingRefused):
            execute_landing(plan)
        assert _files(before) == _files(fingerprint(world.repo))
        assert git(world.repo, "rev-parse", "main") == plan.old
        assert inspect_landing(plan) == "not_done"


def _files(seen: dict[str, str]) -> dict[str, str]:
    return {name: what for name, what in seen.items() if not name.startswith(".git")}


def test_a_race_for_the_branch_puts_the_files_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for(world)
    other = git(world.repo, "commit-tree", "-p", "HEAD", "-m", "other", "HEAD^{tree}")
    original = checkout._write_path
    calls = iter(range(100))

    def racing(*args: object) -> None:
        original(*args)  # type: ignore[arg-type]
        if next(calls) == 0:
            git(world.repo, "update-ref", "refs/heads/main", other)

    monkeypatch.setattr(checkout, "_write_path", racing)
    with pytest.raises(RefMoved):
        execute_landing(plan)
    assert _is_old(world) and not (world.repo / "run.sh").exists()
    assert git(world.repo, "status", "--porcelain") == ""
    assert inspect_landing(plan) == "diverged"


def killed(plan: LandingPlan, owner: object, name: str, after: int) -> None:
    """Execute a plan in a process that dies when it calls a function once more than `after` times."""
    pid = os.fork()
    if pid:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
        return
    try:
        original, calls = getattr(owner, name), iter(range(after))

        def dying(*args: object, **more: object) -> object:
            return original(*args, **more) if next(calls, None) is not None else os._exit(9)

        setattr(owner, name, dying)
        execute_landing(plan)
    finally:
        os._exit(1)


@pytest.mark.parametrize(
    ("owner", "name", "after", "progress"),
    [
        (landing, "_copy_objects", 0, "not_done"),
        (os, "link", 0, "not_done"),
        (os, "link", 1, "partial"),
        (os, "unlink", 0, "partial"),
        (os, "unlink", 5, "partial"),
        (checkout, "_write_path", 1, "without its lock"),
        (checkout, "_write_path", 3, "partial"),
        (landing, "move_ref", 0, "partial"),
        (checkout, "_write_index", 0, "partial"),
        (checkout, "_write_index", 0, "without its lock"),
    ],
)
def test_killed_at_every_step_and_finished_later(
    world: World, owner: object, name: str, after: int, progress: str
) -> None:
    plan = plan_for(world)
    killed(plan, owner, name, after)
    lock = world.repo / ".git" / "index.lock"
    assert lock.exists() == (progress != "not_done")
    if progress == "without its lock":
        # As git's own advice has the developer do. Execution goes on all the same.
        lock.unlink()
    else:
        assert inspect_landing(plan) == progress
    execute_landing(plan)
    assert _is_new(world) and inspect_landing(plan) == "done"
    assert git(world.repo, "status", "--porcelain") == ""
    assert list(lock.parent.glob("index*")) == [lock.with_name("index")]
    git(world.repo, "fsck", "--strict")


def test_a_git_that_outlived_its_navigator_and_moves_the_branch_is_no_race(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_for(world)
    read = landing.read_ref

    def then_moved(git_: Git, ref: str) -> str:
        tip = read(git_, ref)
        git(world.repo, "update-ref", ref, plan.commit)
        return tip

    monkeypatch.setattr(landing, "read_ref", then_moved)
    execute_landing(plan)
    assert _is_new(world) and inspect_landing(plan) == "done"
    assert git(world.repo, "status", "--porcelain") == ""


def test_cut_off_and_the_branch_moved_meanwhile_goes_back(world: World) -> None:
    plan = plan_for(world)
    killed(plan, landing, "move_ref", 0)
    other = git(world.repo, "commit-tree", "-p", "HEAD", "-m", "other", "HEAD^{tree}")
    git(world.repo, "update-ref", "refs/heads/main", other)
    assert inspect_landing(plan) == "partial"
    with pytest.raises(RefMoved):
        execute_landing(plan)
    assert _is_old(world) and inspect_landing(plan) == "diverged"
    assert git(world.repo, "status", "--porcelain") == ""


def test_an_undo_that_was_cut_off_is_finished(world: World) -> None:
    plan = plan_for(world)
    execute_landing(plan)
    back = prepare_undo(plan, world.facts, world.private)
    assert back.mode == "current"
    killed(back, checkout, "_write_path", 2)
    assert inspect_landing(back) == "partial"
    execute_landing(back)
    assert _is_old(world) and inspect_landing(back) == "done"
    assert git(world.repo, "status", "--porcelain") == ""


def test_undo_with_work_in_the_way_is_a_revert_branch(world: World) -> None:
    plan = plan_for(world)
    execute_landing(plan)
    (world.repo / "src/util.py").write_bytes(b"mine\n")
    back = undo_landing(plan, world.facts, world.private)
    assert back.kind == "revert_branch"
    assert (world.repo / "src/util.py").read_bytes() == b"mine\n"
    assert git(world.repo, "rev-parse", "HEAD") == plan.commit


def test_a_full_disk_puts_everything_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for(world)
    calls = iter(range(100))
    real = os.fsync

    def full(fd: int) -> None:
        # The first write is the lock's.
        if next(calls) == 2:
            raise OSError(28, "No space left on device")
        real(fd)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LandingRefused, match="No space left"):
        execute_landing(plan)
    assert _is_old(world) and git(world.repo, "status", "--porcelain") == ""
    assert not list(world.repo.rglob("*navigator-new"))


def test_names_as_long_as_the_file_system_allows(world: World) -> None:
    names = ["a" * 252 + ".py", "ü" * 126 + ".py", "語" * 84 + ".py"]
    assert {len(name.encode()) for name in names} == {255}
    for number, content in enumerate((b"x = 1\n", b"x = 2\n"), 1):
        execute_landing(plan_for(world, dict.fromkeys(names, content), number))
        assert [(world.repo / name).read_bytes() for name in names] == [content] * 3
